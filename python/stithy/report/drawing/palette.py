"""The colours of figures, in light and dark, and how candidates, bottlenecks and text look."""

from dataclasses import dataclass
from typing import Any

from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN
from stithy.analysis.bottlenecks.rules import RULES
from stithy.validity import INVALID

# The hues of Okabe and Ito, "Color Universal Design" (2008), in lightnesses of their own: each
# stands out from the paper by 3 to 1, and any two differ for every kind of eye and on a grey
# printer. Found by search under these conditions, which the tests of this module hold them to.
CANDIDATE_COLOURS = (
    ("#144097", "#427ff7"),
    ("#b85c00", "#f0903c"),
    ("#1aa291", "#b2ffdb"),
    ("#551442", "#bb2b76"),
    ("#8776ce", "#aa91cd"),
    ("#6f4a06", "#9b721c"),
    ("#006f85", "#8ddefd"),
    ("#000001", "#b7b7b7"),
)
# Vega's names, and their outlines around (0, 0) for the signs beside a candidate's name.
MARKERS = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
    "square": "M-3.6 -3.6h7.2v7.2h-7.2Z",
    "triangle-up": "M0 -4.6L4.8 3.6H-4.8Z",
    "diamond": "M0 -5.4L4.2 0L0 5.4L-4.2 0Z",
    "cross": "M-4.8 -1.7h3.1v-3.1h3.4v3.1h3.1v3.4h-3.1v3.1h-3.4v-3.1h-3.1Z",
    "triangle-down": "M0 4.6L4.8 -3.6H-4.8Z",
    "triangle-left": "M-4.6 0L3.6 -4.8V4.8Z",
    "triangle-right": "M4.6 0L-3.6 -4.8V4.8Z",
}
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 1), (1, 3), (10, 4), (10, 3, 2, 2, 2, 3))

INK = ("#1b1f24", "#e6e9ed")
MUTED = ("#5b6470", "#a3adb8")
GRID = ("#e3e6ea", "#2c323a")
AXIS = ("#a9b0b9", "#5c6672")
PAPER = ("#fdfdfe", "#15181c")
MARK = ("#8a6d1f", "#d8b65a")

# Stacked shares: pale where the machine does nothing, and there alone.
STATE_COLOURS = {
    "user": ("#33658a", "#5b9bc9"),
    "system": ("#5897be", "#a9d4ea"),
    "other": ("#8f83ae", "#b8addb"),
    "iowait": ("#c8553d", "#e88368"),
    "idle": ("#e8eaee", "#2a2f36"),
}
# Of types of waits, in the order in which the engine lists them; the first is no wait.
WAIT_COLOURS = (
    ("#8a929c", "#6b7480"),
    ("#c8553c", "#e88368"),
    ("#33658b", "#5b9bc9"),
    ("#7a4f9a", "#b08ad0"),
    ("#588b6e", "#7fc49c"),
    ("#a9829b", "#d3a9c4"),
    ("#b07c14", "#efc46c"),
    ("#4b5563", "#aab2c5"),
    ("#4f90b8", "#a9d4ea"),
)
# Filled cells that carry a letter: pale in the light and deep in the dark, so that INK stands out.
LIMIT_COLOURS = {
    "demand": ("#f3e3a2", "#5c5013"),
    "pool": ("#e3d3b4", "#584a2e"),
    "server-cpu": ("#f5b98a", "#7a3d12"),
    "host-cpu": ("#e2a07c", "#8a3208"),
    "storage-cpu": ("#d8c0a0", "#5f3d16"),
    "device-latency": ("#9cc9ee", "#1f4f7a"),
    "device-rate": ("#74aede", "#123d66"),
    "log": ("#93d6c4", "#1c5a4b"),
    "checkpoints": ("#bfe0ac", "#365a24"),
    "locks": ("#cdb8e6", "#4d3a70"),
    "driver": ("#f2a9b2", "#7a2431"),
    "emulation": ("#e6bad4", "#6b2f55"),
    "several": ("#d9dde4", "#454c56"),
    "unknown": ("#f4f5f8", "#23282f"),
}
OTHER_LIMIT = ("#c9cbb4", "#4a4c3a")
OTHER_WAIT = ("#5d5470", "#9d92b8")

# Viridis (Smith and van der Walt, matplotlib 1.5), from few to many: away from the paper in both.
HEAT_COLOURS = (
    ("#addc30", "#472d7b"),
    ("#5ec962", "#3b528b"),
    ("#28ae80", "#2c728e"),
    ("#21918c", "#21918d"),
    ("#2c728e", "#28ae80"),
    ("#3b528b", "#5ec962"),
    ("#440154", "#fde725"),
)


@dataclass(frozen=True)
class Style:
    """How one candidate is drawn throughout: colour by literal, marker, dash."""

    colour: str
    marker: str
    dash: tuple[int, ...]

    @property
    def outline(self) -> str:
        """The marker as the path of an SVG."""
        return MARKERS[self.marker]


def choose_styles(candidates: tuple[str, ...]) -> dict[str, Style]:
    """The style of each candidate by its place in the study.

    Where colours repeat, each comes with another marker and another dash: a point has no dash.
    """
    markers = tuple(MARKERS)
    found = {}
    for index, name in enumerate(candidates):
        turn, place = divmod(index, len(CANDIDATE_COLOURS))
        look = (place + turn) % len(markers)
        found[name] = Style(CANDIDATE_COLOURS[place][0], markers[look], DASHES[look])
    return found


def list_roles() -> tuple[tuple[str, str], ...]:
    """Every (light, dark) pair that a figure may use."""
    return (
        *CANDIDATE_COLOURS, *STATE_COLOURS.values(), *WAIT_COLOURS, OTHER_WAIT,
        *LIMIT_COLOURS.values(), OTHER_LIMIT, *HEAT_COLOURS, INK, MUTED, GRID, AXIS, PAPER, MARK,
    )  # fmt: skip


def write_css_rules() -> str:
    """CSS that redraws the light literals of every figure in their dark colours."""
    return "\n".join(
        f'.drawing [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in list_roles()
        for attribute in ("fill", "stroke")
    )


FONT = "Inter, sans-serif"
"""Shipped in assets/fonts, so that texts are as wide on every machine as when they were placed."""

LEGEND_LIMIT = 260
"""Pixels of a name in a legend; a longer one is cut off there."""


def make_theme() -> dict[str, Any]:
    """The configuration, the same for static and interactive drawing."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelFontSize": 12, "titleFontSize": 12}
    ink, muted = INK[0], MUTED[0]
    return {
        "background": "transparent",
        "font": FONT,
        "aria": False,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            **text, "labelColor": muted, "titleColor": ink, "titleFontWeight": "normal",
            "gridColor": GRID[0], "domainColor": AXIS[0],
            "tickColor": AXIS[0], "titlePadding": 8, "labelPadding": 4,
        },
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            **text, "labelColor": ink, "titleColor": ink, "labelFontSize": 13, "padding": 0,
            "labelLimit": LEGEND_LIMIT,
        },
        "header": {
            **text, "labelColor": ink, "titleColor": ink, "labelFontSize": 13,
            "labelFontWeight": 600,
        },
        "title": {
            "font": FONT, "color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start",
            "frame": "group",
        },
        "text": {"font": FONT, "color": muted, "fontSize": 11},
        "rule": {"color": MARK[0]},
        "facet": {"spacing": 20},
        "concat": {"spacing": 20},
    }  # fmt: skip


@dataclass(frozen=True)
class BottleneckStyle:
    """Letter and words of a limit, and the light literal of its colour."""

    letter: str
    words: str
    colour: str

    @property
    def label(self) -> str:
        """In a legend: `L  the commit log`."""
        return f"{self.letter}  {self.words}"


def list_bottleneck_styles(*, is_open: bool = False) -> dict[str, BottleneckStyle]:
    """All limits by name, in the order of a legend: rules, then what is none of them."""
    found = {
        name: BottleneckStyle(rule.letter, rule.words, LIMIT_COLOURS.get(name, OTHER_LIMIT)[0])
        for name, rule in RULES.items()
    }
    if is_open:
        users = found["demand"]
        found["demand"] = BottleneckStyle(users.letter, "the requested rate", users.colour)
    return found | {
        SEVERAL: BottleneckStyle("M", "several, none alone", LIMIT_COLOURS[SEVERAL][0]),
        UNKNOWN: BottleneckStyle("?", "not determined", LIMIT_COLOURS[UNKNOWN][0]),
        INVALID: BottleneckStyle("–", f"{INVALID} window", PAPER[0]),
    }
