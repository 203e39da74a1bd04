"""The figures: those that bear the answer in the report itself, all others in its appendix."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, Block, Section, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.figure import SECTIONS, FigureGroup
from stithy.report.page import APART, DECISIVE, Page
from stithy.report.parts import compared, transactions
from stithy.report.tables import PageTable

NAME = "figures"

ORDER = APPENDIX + 20


def tables(context: Context) -> Iterator[PageTable]:
    """Response times by transaction type."""
    yield transactions.types_table(context)


def sections(page: Page) -> Iterator[Section]:
    """One for each group of figures that no other section shows."""
    if (group := page.group(DECISIVE)) is not None:
        yield Section(DECISIVE, 20, group.heading, tuple(figures(group)))
    for number, key in enumerate(SECTIONS):
        if key not in APART and (group := page.group(key)) is not None:
            # The report itself has a section on what was compared.
            name = "set-up" if key == "compared" else key
            yield Section(name, ORDER + number, group.heading, tuple(_blocks(page, group)))


def _blocks(page: Page, group: FigureGroup) -> Iterator[Block]:
    if group.key == "throughput":
        yield from paragraph(compared.guide_words(page.context), style="note")
    yield from figures(group)
    if group.key == "response" and not page.tables["types"].frame.is_empty():
        yield from grid(page.tables["types"])
        yield from paragraph(transactions.TYPES_NOTE, style="note")
