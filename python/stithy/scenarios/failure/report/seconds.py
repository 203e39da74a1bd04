"""A window with each fault over time, thin behind it the window without; its phases shaded."""

from collections.abc import Iterator, Mapping

from stithy.analysis.evidence import Window
from stithy.point import Point
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.timelines import Timeline, TimelineWords, draw_timelines, find_pair
from stithy.scenarios.failure.impact import find_phases
from stithy.scenarios.failure.judge import list_suffered
from stithy.scenarios.failure.keys import FAULT, NAME
from stithy.units import format_list, format_measured_duration

KEY = "failure-seconds"
WORDS = TimelineWords(
    "fault",
    {"pause": (palette.AXIS[0], 0.75), "degraded": (palette.AXIS[0], 0.4),
     "rebuilding": (palette.GRID[0], 0.9)},
    "the pause, paler what is degraded, and palest the rebuilding",
)  # fmt: skip
EVENTS = {"fault": "the fault struck", "detected": "the storage knew of it",
          "repair": "the repair began", "healed": "it was repaired",
          "whole": "redundancy was restored"}  # fmt: skip
APART_S = 0.3
"""Own: the begin of a quicker repair would stand under its end."""


def _plot(context: Context) -> Iterator[Drawn]:
    suffered = list_suffered(context.evidence)
    for point in dict.fromkeys(each.point for each in suffered):
        stem = f"{KEY}-{point.slug}"
        lines = {
            of.candidate: _make_line(*pair)
            for of in suffered
            if of.point == point
            and (pair := find_pair(of.evidence, of.candidate, of.point, of.alone))
        }
        if lines:
            title = _write_title({name: line.window for name, line in lines.items()}, point)
            yield draw_timelines(context, stem, title, point, lines, WORDS)
        else:
            yield Absent(stem, f"throughput over time with {point}", "no block has both windows")


def _make_line(window: Window, alone: Window) -> Timeline:
    spans = {span["name"]: span for span in window.spans}
    found = {
        "fault": spans.get("fault", {}).get("from_s"),
        "detected": spans.get("undetected", {}).get("to_s"),
        "repair": spans.get("repair", {}).get("from_s"),
        "healed": spans.get("repair", {}).get("to_s"),
        "whole": spans.get("rebuild", {}).get("to_s"),
    }
    healing_s, healed_s = found["repair"], found["healed"]
    if healing_s is not None and healed_s is not None and healed_s - healing_s < APART_S:
        found["repair"] = None
    events = {EVENTS[name]: at_s for name, at_s in found.items()}
    return Timeline(window, alone, find_phases(window), events)


def _write_title(windows: Mapping[str, Window], point: Point) -> str:
    pauses = [
        f"{format_measured_duration(pause_s)} on {name}"
        for name, window in windows.items()
        if (pause_s := window.row.get("gap_s")) is not None
    ]
    fault = point.values[FAULT]
    if not pauses:
        return f"Throughput over time with {fault}"
    return f"With {fault} users paused {format_list(pauses)}"


PLUGINS = (FigureKind(KEY, 17, NAME, _plot, ("values",)),)
