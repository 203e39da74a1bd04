"""Throughput against users, by the metric of the workload."""

from collections.abc import Iterator

from stithy.report.context import Context
from stithy.report.drawing.chart import Axis
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import window_rows
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, FigureKind
from stithy.report.tables import Show

NAME = "throughput-by-users"


def _plot_throughput(context: Context) -> Iterator[ByLevel | Absent]:
    metric = context.evidence.throughput
    lines, points = window_rows(context, metric.known.column)
    if not points:
        yield Absent(NAME, metric.noun, "no window has numbers")
        return
    yield ByLevel(
        name=NAME,
        title=compare_title(context, lines, points, metric.noun, metric=metric),
        caption=f"Committed {metric.noun} against {context.axis.title.lower()}.",
        noun=metric.noun,
        data=metric.title,
        axis=Axis(metric.title),
        rows=[[Series(lines, points)]],
        value=Show("value", metric.title, "rate"),
    )


PLUGINS = (FigureKind(NAME, 10, "throughput", _plot_throughput, ("load",)),)
