"""Throughput against users, by the metric of the workload."""

import polars as pl

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


def draw(context: Context) -> list[Drawn]:
    """The one figure, or why it is not there."""
    metric = context.evidence.throughput
    lines, points = window_rows(context, metric.known.column)
    if not points:
        return [Absent("throughput-by-users", metric.noun, "no window has numbers")]
    title = compare_title(context, lines, points, metric.noun, metric=metric)
    drawing = Drawing()
    panel = Panel(lines, points, domain_of(with_spans(points, log=False), log=False))
    return [
        Figure(
            name="throughput-by-users",
            title=title.text,
            ratio=title.ratio,
            caption=f"Committed {metric.noun} against "
            f"{context.level_name.lower()}.{bars_told(points)}",
            description=f"{title.text}. Line chart of {metric.noun} against "
            f"{context.level_name.lower()}, one line for each candidate: "
            f"{', '.join(context.evidence.candidates)}.",
            footer=context.footer,
            spec=drawing.spec(by_users(context, drawing, Axis(metric.title), panel)),
            table=_table(context, metric.title, points),
        )
    ]


def _table(context: Context, title: str, points: Rows) -> PageTable:
    return PageTable(
        "throughput-by-users",
        title,
        (
            context.axis_show, Show("candidate", "candidate"),
            Show("block", "block", "count"), Show("value", title, "rate"), Show("note", "window"),
        ),
        pl.DataFrame(points).drop("level"),
    )  # fmt: skip
