"""Throughput against users, by the metric of the workload."""

from stithy.report.context import Context
from stithy.report.drawing.chart import Axis, Panel, by_users, domain_of
from stithy.report.drawing.compose import Drawing, bars_told, with_spans
from stithy.report.drawing.points import points_table, window_rows
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn, Figure
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
    drawing = Drawing()
    panel = Panel(lines, points, domain_of(with_spans(points, log=False), log=False))
    return [
        Figure(
            name="throughput-by-users",
            title=title.text,
            ratio=title.ratio,
            caption=f"Committed {metric.noun} against "
            f"{context.axis.title.lower()}.{bars_told(points)}",
            description=f"{title.text}. Line chart of {metric.noun} against "
            f"{context.axis.title.lower()}, one line for each candidate: "
            f"{', '.join(context.evidence.candidates)}.",
            footer=context.footer,
            spec=drawing.spec(by_users(context, drawing, Axis(metric.title), panel)),
            table=points_table(
                context, "throughput-by-users", metric.title, points,
                Show("value", metric.title, "rate"),
            ),
        )
    ]  # fmt: skip
