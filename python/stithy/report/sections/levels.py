"""The beginning of the appendix, and the numbers of all levels."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, Block, Grid, Section, paragraph
from stithy.report.figure import Figure
from stithy.report.page import Page
from stithy.report.parts import page_tables, searches
from stithy.report.tables import PageTable

NAME = "levels"

INTRODUCTION = "All figures and tables, the proofs that the work was done, and the method."


def tables(page: Page) -> Iterator[PageTable]:
    """The summary by levels."""
    if "load" in page.context.tables:
        yield page_tables.summary(page.context)


def sections(page: Page) -> Iterator[Section]:
    """The appendix always, the levels where users have them."""
    yield Section("appendix", APPENDIX, "Appendix", tuple(paragraph(INTRODUCTION)))
    if "summary" not in page.tables:
        return
    note = paragraph(page_tables.words(page.context), *_notes(page), style="note")
    blocks: tuple[Block, ...] = (Grid(page.tables["summary"], "summary"), *note)
    yield Section("levels", APPENDIX + 10, "All levels", blocks)


def _notes(page: Page) -> Iterator[str]:
    context = page.context
    if len(context.evidence.candidates) > 1:
        interval = (
            ". They are geometric means over the blocks; one block has no interval."
            if context.repeated
            else ". With one window per candidate they have no interval."
        )
        yield f"Ratios are to {context.evidence.candidates[0]}{interval}"
    dashes = ["that no valid window has the value", "that there are too few values for p95"]
    if searches.asked(context):
        dashes.append("that the search did not need this level")
    yield f"A dash means {', '.join(dashes[:-1])}, or {dashes[-1]}."
    if not any(isinstance(each, Figure) for each in page.drawn_in("answer")):
        yield f"{context.footer}."
    yield context.reach or ""
