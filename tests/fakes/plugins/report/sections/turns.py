"""A second kind of section: whose turn it was, in words, a list, a table and a figure."""

from collections.abc import Iterator

import altair as alt
import polars as pl

from stithy.report.blocks import (
    APPENDIX,
    Block,
    Drawn,
    Figure,
    SectionKind,
    set_bullets,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.drawing.compose import Drawing, make_unit
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show

NAME = "turns"

HEADING = "Whose turn it was"


def _make_tables(page: Page) -> Iterator[PageTable]:
    yield _table(page.context)


def _draw_figures(page: Page) -> Iterator[Drawn]:
    table, drawing = _table(page.context), Drawing()
    chart = alt.Chart(drawing.add(table.frame.to_dicts())).mark_point()
    chart = chart.encode(alt.X("turn:Q"), alt.Y("candidate:N"))
    if not table.frame.is_empty():
        yield Figure(
            NAME, "They took turns", "Each mark is a window.",
            "They took turns, a mark each.",
            page.context.footer, drawing.spec(make_unit(chart)), table,
        )  # fmt: skip


def _table(context: Context) -> PageTable:
    names = [each.row["candidate"] for each in context.evidence.windows]
    frame = pl.DataFrame({"turn": range(1, len(names) + 1), "candidate": names})
    columns = Show("turn", "Turn", "count"), Show("candidate", HEADING)
    return PageTable(NAME, "Every window, by its turn", columns, frame)


def _set_blocks(page: Page) -> Iterator[Block]:
    if page.tables[NAME].frame.is_empty():
        return
    yield from set_paragraph("The candidates took turns.")
    yield from set_bullets(page.context.evidence.candidates, "findings")
    yield from set_grid(page.tables[NAME])
    yield from set_figures(page.find_drawn(NAME))


PLUGINS = (
    SectionKind(
        NAME, APPENDIX + 400, HEADING, _set_blocks, make_tables=_make_tables,
        make_facts=lambda page: {"windows": page.tables[NAME].frame.height},
        draw_figures=_draw_figures,
    ),
)  # fmt: skip
