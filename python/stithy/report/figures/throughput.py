"""Throughput against users: new orders per minute."""

import polars as pl

from stithy.metrics import NOPM
from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, Panel, by_users, domain_of, window_rows
from stithy.report.drawing.compose import Drawing, Rows, bars_told, with_spans
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show

NAME = "throughput"
ORDER = 10
SECTION = "throughput"
NEEDS = ("load",)

AXIS = "New orders per minute (NOPM)"


def draw(context: Context) -> list[Drawn]:
    """The one figure, or why it is not there."""
    lines, points = window_rows(context, "nopm")
    if not points:
        return [Absent("nopm-by-users", NOPM.noun, "no window has numbers")]
    title = compare_title(context, lines, points, NOPM.noun, metric=NOPM)
    drawing = Drawing()
    panel = Panel(lines, points, domain_of(with_spans(points, log=False), log=False))
    return [
        Figure(
            name="nopm-by-users",
            title=title.text,
            ratio=title.ratio,
            caption="Committed new orders per minute against "
            f"{context.level_name.lower()}.{bars_told(points)}",
            description=f"{title.text}. Line chart of new orders per minute against "
            f"{context.level_name.lower()}, one line for each candidate: "
            f"{', '.join(context.evidence.candidates)}.",
            footer=context.footer,
            spec=drawing.spec(by_users(context, drawing, Axis(AXIS), panel)),
            table=_table(context, points),
        )
    ]


def _table(context: Context, points: Rows) -> PageTable:
    return PageTable(
        "nopm-by-users",
        AXIS,
        (
            context.axis_show, Show("candidate", "candidate"),
            Show("block", "block", "count"), Show("value", AXIS, "rate"), Show("note", "window"),
        ),
        pl.DataFrame(points).drop("level"),
    )  # fmt: skip
