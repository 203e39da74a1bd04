"""Throughput against users, by the metric of the workload."""

from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, Panel, by_users
from stithy.report.drawing.compose import Drawing, bars_told
from stithy.report.drawing.points import points_table, window_rows
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn
from stithy.report.tables import Show

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
    drawing, value = Drawing(), Show("value", metric.title, "rate")
    return [
        drawing.figure(
            context, "throughput-by-users", title,
            by_users(context, drawing, Axis(metric.title), Panel(lines, points)),
            points_table(context, "throughput-by-users", metric.title, points, value),
            caption=f"Committed {metric.noun} against "
            f"{context.axis.title.lower()}.{bars_told(points)}",
            description=f"Line chart of {metric.noun} against {context.axis.title.lower()}, "
            f"one line for each candidate: {', '.join(context.evidence.candidates)}.",
        )
    ]  # fmt: skip
