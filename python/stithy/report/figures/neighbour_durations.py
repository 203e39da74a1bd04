"""How long the cycles of a neighbour and their parts took, by candidate: each, and the mean."""

from collections.abc import Iterator

from stithy.analysis.evidence import Window
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn
from stithy.report.parts.durations import Duration, figure, of_windows
from stithy.report.parts.neighbour import drawn_point
from stithy.scenarios.noisy_neighbour.spans import cycles, part_of, parts

NAME = "neighbour_durations"
ORDER = 17
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "neighbour-durations"
CYCLE = "cycle"


def draw(context: Context) -> list[Drawn]:
    """Bars for each candidate, a chart for whole cycles and one for each of their parts."""
    point = drawn_point(context)
    if point is None or not of_windows(context, point, lambda window: cycles(window.spans)):
        return []
    found = of_windows(context, point, _of_window)
    if not found:
        because = "no cycle succeeded in a valid window"
        return [Absent(KEY, "duration of the neighbour's cycles", because)]
    operations = tuple(dict.fromkeys(each.operation for each in found))
    return [
        figure(
            context, KEY, found, operations,
            caption="Duration of each cycle of the neighbour that succeeded, and of its parts "
            "(marks), and the mean of the windows' means (bars), of all valid windows "
            f"{point.at(context.level_unit)}.",
            description="Bar charts of the duration of cycles and of their parts, with a "
            "bar for each candidate and a mark for each cycle.",
        )
    ]  # fmt: skip


def _of_window(window: Window) -> Iterator[Duration]:
    for span in (*cycles(window.spans), *parts(window.spans)):
        if span["outcome"] == "done" and span["to_s"] is not None:
            name = str(span["name"])
            number = name.partition(":")[0].rpartition(" ")[2]
            yield Duration(part_of(name) or CYCLE, window.candidate, window.block, number,
                           span["to_s"] - span["from_s"])  # fmt: skip
