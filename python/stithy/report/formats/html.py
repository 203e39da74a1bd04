"""The report as one page for a browser, without a network."""

from stithy.report.page import Page, render

NAME = "html"


def make(page: Page, drawings: dict[str, str]) -> bytes:
    """The page."""
    return render(page, drawings).encode()
