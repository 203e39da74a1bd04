"""A second kind of section: whose turn it was, in words, a list, a table and a figure."""

from collections.abc import Iterator

import altair as alt
import polars as pl

from stithy.report.blocks import APPENDIX, Block, Section, bullets, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.drawing.compose import Drawing, unit
from stithy.report.figure import Drawn, Figure
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import PageTable, Show

NAME = "turns"

HEADING = "Whose turn it was"


class TurnsSection(SectionKind):
    """A second kind of section: whose turn it was, in words, a list, a table and a figure."""

    name = NAME

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """The windows in the order in which they were measured."""
        yield _table(page.context)

    def draw_figures(self, page: Page) -> Iterator[Drawn]:
        """A mark for each window; nothing without one."""
        table, drawing = _table(page.context), Drawing()
        chart = alt.Chart(drawing.add(table.frame.to_dicts())).mark_point()
        chart = chart.encode(alt.X("turn:Q"), alt.Y("candidate:N"))
        if not table.frame.is_empty():
            yield Figure(
                self.name, "They took turns", "Each mark is a window.",
                "They took turns, a mark each.",
                page.context.footer, drawing.spec(unit(chart)), table,
            )  # fmt: skip

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where there are windows."""
        if not page.tables[self.name].frame.is_empty():
            facts = {"windows": page.tables[self.name].frame.height}
            yield Section(self.name, APPENDIX + 400, HEADING, tuple(_blocks(page)), facts=facts)


PLUGINS = (TurnsSection(),)


def _table(context: Context) -> PageTable:
    names = [each.row["candidate"] for each in context.evidence.windows]
    frame = pl.DataFrame({"turn": range(1, len(names) + 1), "candidate": names})
    columns = Show("turn", "Turn", "count"), Show("candidate", HEADING)
    return PageTable(NAME, "Every window, by its turn", columns, frame)


def _blocks(page: Page) -> Iterator[Block]:
    yield from paragraph("The candidates took turns.")
    yield from bullets(page.context.evidence.candidates, "findings")
    yield from grid(page.tables[NAME])
    yield from figures(page.drawn_in(NAME))
