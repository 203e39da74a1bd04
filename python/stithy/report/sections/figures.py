"""The figures of the appendix, by their subjects."""

from collections.abc import Iterator

from stithy.report.blocks import APPENDIX, Block, Section, figures, grid, paragraph
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.sections import compared
from stithy.report.sections.validity import windows
from stithy.report.sections.validity.work import TYPES_NOTE, types_table
from stithy.report.tables import PageTable

SUBJECTS = {
    "set-up": "How it was set up",
    "throughput": "Throughput",
    "response": "Response time",
    "limits": "What limited the throughput",
    "machine": "The machine",
    "storage": "The storage devices",
    "database": "Inside the database",
    "seconds": "Second by second",
}
"""A section each, in this order."""


class FiguresSection(SectionKind):
    """The figures of the appendix, by their subjects."""

    name = "figures"

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """Response times by transaction type, and what the figures say."""
        yield types_table(page.context)
        yield windows.titles(each for _, each in page.drawn)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """One for each subject that has figures."""
        for number, (key, heading) in enumerate(SUBJECTS.items(), start=20):
            if page.drawn_in(key):
                yield Section(key, APPENDIX + number, heading, tuple(_blocks(page, key)))


def _blocks(page: Page, key: str) -> Iterator[Block]:
    if key == "throughput":
        yield from paragraph(compared.guide_words(page.context), style="note")
    yield from figures(page.drawn_in(key))
    if key == "response" and not page.tables["types"].frame.is_empty():
        yield from grid(page.tables["types"])
        yield from paragraph(TYPES_NOTE, style="note")


PLUGINS = (FiguresSection(),)
