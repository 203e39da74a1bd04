"""A window with each fault over time, thin behind it the window without; its phases shaded."""

from stithy.analysis.evidence import Window
from stithy.report.blocks import FigureKind
from stithy.report.drawing import palette
from stithy.report.timelines import Timeline, TimelineWords, draw_each_point
from stithy.scenarios.failure.impact import find_phases
from stithy.scenarios.failure.judge import Suffered
from stithy.scenarios.failure.keys import NAME

KEY = "failure-seconds"
WORDS = TimelineWords(
    "fault", "with {name}",
    {"pause": (palette.AXIS[0], 0.75), "degraded": (palette.AXIS[0], 0.4),
     "rebuilding": (palette.GRID[0], 0.9)},
    "the pause, paler what is degraded, and palest the rebuilding",
)  # fmt: skip
EVENTS = {"fault": "the fault struck", "detected": "the storage knew of it",
          "repair": "the repair began", "healed": "it was repaired",
          "whole": "redundancy was restored"}  # fmt: skip
APART_S = 0.3
"""Own: the begin of a quicker repair would stand under its end."""


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


PLUGINS = (
    FigureKind(KEY, 17, NAME, needs_tables=("values",), plot=lambda context: draw_each_point(
        context, KEY, Suffered.list_in(context.evidence), WORDS, _make_line,
    )),
)  # fmt: skip
