"""Environment and identity: every fact of the machine, the database and the run."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, ROWS_OPEN_MAX, Block, Grid, Heading, Section, paragraph
from stithy.report.page import Page

NAME = "environment"


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    blocks = tuple(_blocks(page))
    yield Section("environment", APPENDIX + 320, "Environment and identity", blocks, "Environment")


def _blocks(page: Page) -> Iterator[Block]:
    for table in page.facts:
        yield Heading(table.caption)
        rows = table.frame.height
        if rows > ROWS_OPEN_MAX:
            yield Grid(table, fold=f"All {rows} facts")
        else:
            yield Grid(table, "" if table.name == "facts-drives" else "facts")
    if not page.facts:
        yield from paragraph("The manifest could not be read, so the environment is not known.")
