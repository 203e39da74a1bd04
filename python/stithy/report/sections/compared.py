"""What was compared: the facts of the study that a reader needs to judge the answer."""

from collections.abc import Iterator

from stithy.report.blocks import Block, Grid, Section, paragraph
from stithy.report.page import Page
from stithy.report.parts import compared
from stithy.report.tables import PageTable

NAME = "compared"


def tables(page: Page) -> Iterator[PageTable]:
    """One row per fact."""
    yield compared.compared_table(page.context)


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    yield Section("compared", 10, "What was compared", tuple(_blocks(page)))


def _blocks(page: Page) -> Iterator[Block]:
    table = page.tables["compared"]
    if not table.frame.is_empty():
        yield Grid(table, "facts")
    elif page.context.manifest is None:
        yield from paragraph("The manifest could not be read, so the set-up is not known.")
