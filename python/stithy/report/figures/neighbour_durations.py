"""How long the cycles of a neighbour and their parts took, by candidate: each, and the mean."""

from collections.abc import Iterator

from stithy.analysis.evidence import Window
from stithy.plan.scenarios.noisy_neighbour.spans import cycles, part_of, parts
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.compose import Drawing
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.parts.durations import Duration, charts, finding, table
from stithy.report.parts.neighbour import drawn_point

NAME = "neighbour_durations"
ORDER = 17
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-durations"
CYCLE = "cycle"


def draw(context: Context) -> list[Drawn]:
    """Bars for each candidate, a chart for whole cycles and one for each of their parts."""
    point = drawn_point(context)
    spans = () if point is None else tuple(_windows(context, point))
    if point is None or not any(cycles(window.spans) for window in spans):
        return []
    found = [each for window in spans for each in _of_window(window)]
    if not found:
        because = "no cycle succeeded in a valid window"
        return [Absent(KEY, "duration of the neighbour's cycles", because)]
    operations = tuple(dict.fromkeys(each.operation for each in found))
    title, drawing = finding(context, found, operations), Drawing()
    return [
        Figure(
            name=KEY,
            title=title,
            caption="Duration of each cycle of the neighbour that succeeded, and of its parts "
            f"(marks), and their mean (bars), of all valid windows {point.at(context.level_unit)}.",
            description=f"{title}. Bar charts of the duration of cycles and of their parts, with a "
            "bar for each candidate and a mark for each cycle.",
            footer=context.footer,
            spec=drawing.spec(charts(context, drawing, found, operations)),
            table=table(KEY, title, found),
        )
    ]


def _windows(context: Context, point: Point) -> Iterator[Window]:
    for name in context.evidence.candidates:
        yield from context.evidence.valid_at(name, point)


def _of_window(window: Window) -> Iterator[Duration]:
    for span in (*cycles(window.spans), *parts(window.spans)):
        if span["outcome"] == "done" and span["to_s"] is not None:
            name = str(span["name"])
            number = name.partition(":")[0].rpartition(" ")[2]
            yield Duration(window.candidate, window.block, part_of(name) or CYCLE, number,
                           span["to_s"] - span["from_s"])  # fmt: skip
