"""Environment and identity: every fact of the machine, the database and the run."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, ROWS_OPEN_MAX, Block, Grid, Heading, Section, paragraph
from stithy.report.page import Page
from stithy.report.parts import compared
from stithy.report.tables import PageTable

NAME = "environment"


def tables(page: Page) -> Iterator[PageTable]:
    """One row a fact; none without a manifest."""
    if page.context.manifest is not None:
        yield from compared.facts_tables(page.context.manifest)


def sections(page: Page) -> Iterator[Section]:
    """Always there."""
    blocks = tuple(_blocks(page))
    yield Section("environment", APPENDIX + 320, "Environment and identity", blocks, "Environment")


def _blocks(page: Page) -> Iterator[Block]:
    found = [each for name, each in page.tables.items() if name.startswith("facts-")]
    for table in found:
        yield Heading(table.caption)
        rows = table.frame.height
        if rows > ROWS_OPEN_MAX:
            yield Grid(table, fold=f"All {rows} facts")
        else:
            yield Grid(table, "" if table.name == "facts-drives" else "facts")
    if not found:
        yield from paragraph("The manifest could not be read, so the environment is not known.")
