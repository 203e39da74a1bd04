"""The report for print and for reading aloud: tagged PDF, set from what the page says."""

from stithy.report.page import Page, render
from stithy.report.reading import blocks
from stithy.report.typeset import pdf

NAME = "pdf"


def make(page: Page, drawings: dict[str, str]) -> bytes:
    """The PDF, dated by the start of the run."""
    said = blocks(render(page, dict.fromkeys(drawings, "")))
    manifest = page.context.manifest
    return pdf(said, drawings, manifest.started_at_s if manifest else None)
