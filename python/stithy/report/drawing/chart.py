"""Charts in the common form: levels on a log2 axis, windows as points, a line through the levels.

Built with Altair as plain Vega-Lite; colours, markers and dashes come from the palette alone. Names
of candidates appear only as data, never inside an expression, so no name can become code.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from stithy.point import format_value
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.compose import (
    PICK,
    POINTS_MOST,
    Drawing,
    Rows,
    Spec,
    add_spans,
    estimate_spans,
    find_extremes,
    make_unit,
    merge_layers,
    place_x,
)
from stithy.report.drawing.palette import LEGEND_LIMIT

WIDTH = 770
"""Width of a figure's plot where it stands alone; pixels of the page at full width."""

HEIGHT = 300
Domain = tuple[float, float]

MIN_EXTENT = 32
"""Own: pixels kept for the labels of a vertical axis, so that charts below each other align."""

LABEL_MOST = 20
"""Characters of a level's label; a longer name has a line for each part of its path."""

NUMBERS = ",.9~f"
PERCENT = ",~f %"
SIGNED_PERCENT = "+,~f %"
"""Formats of ticks: as d3 has them, and of a share as per cent, as it is written in a text."""


@dataclass(frozen=True)
class Axis:
    """The vertical axis: title with the unit, whether it is logarithmic, format of its ticks."""

    title: str
    log: bool = False
    format: str = NUMBERS


@dataclass(frozen=True)
class LimitLine:
    """A value that is drawn across a chart, with what it is written on it."""

    value: float
    text: str
    colour: str = palette.MARK[0]


@dataclass(frozen=True)
class Panel:
    """One small chart of a figure.

    `lines`: rows with `level`, `candidate`, `value`. `points`: these and `block`, `valid`, `note`.
    `domain`: of the vertical axis, shared by the panels that are to be compared; None: that of the
    points. `limits`: values that are drawn as lines, within the domain. `joined`: a line goes
    through the levels.
    """

    lines: Rows
    points: Rows
    domain: Domain | None = None
    title: str = ""
    width: int = WIDTH
    height: int = HEIGHT
    first: bool = True
    last: bool = True
    limits: tuple[LimitLine, ...] = ()
    joined: bool = True


def find_domain(rows: Iterable[dict[str, Any]], log: bool) -> Domain:
    """A domain that holds all values: from zero to a round number, or logarithmic with a margin."""
    values = [row["value"] for row in rows if row["value"] is not None]
    if log:
        positive = [value for value in values if value > 0] or [1.0]
        return min(positive) / 1.25, max(positive) * 1.25
    return 0.0, _round_up(max(values, default=1.0))


def _round_up(value: float) -> float:
    """The next number whose tick marks are round."""
    if value <= 0:
        return 1.0
    step = 10.0 ** math.floor(math.log10(value))
    for factor in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10):
        if value <= factor * step:
            return factor * step
    return 10.0 * step


def list_log_ticks(domain: Domain) -> list[float]:
    """1, 2, 5 of each decade; only decades where that is too many, more where it is too few."""
    inside = list_ticks(domain, (1, 2, 5))
    if len(inside) > 7:
        return list_ticks(domain, (1,))
    for steps in (range(1, 10), _HALVES, _TENTHS):
        if len(inside) < 3:
            inside = list_ticks(domain, steps)
    return inside


_HALVES = tuple(each / 2 for each in range(2, 20))
_TENTHS = tuple(each / 10 for each in range(10, 100))


def list_ticks(domain: Domain, steps: Sequence[float]) -> list[float]:
    """These multiples of each power of ten, within the domain."""
    low, high = domain
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


_PARTS = {1.0: 5, 1.2: 6, 1.5: 6, 2.0: 4, 2.5: 5, 3.0: 6, 4.0: 4, 5.0: 5, 6.0: 6, 8.0: 4}
"""Own: into how many parts ticks divide an axis from zero to so many times a power of ten."""


def list_even_ticks(domain: Domain) -> list[float] | None:
    """From zero to the end of the axis, of which `_round_up` gives the end; None of any other."""
    low, high = domain
    if low != 0.0 or high <= 0.0:
        return None
    parts = _PARTS.get(float(f"{high:.6e}".split("e")[0]))
    return None if parts is None else [float(f"{high * n / parts:.9g}") for n in range(parts + 1)]


def fix_ticks(ticks: Sequence[float]) -> dict[str, Any]:
    """These ticks and no others; Vega leaves some out where they are more than it would draw."""
    return {"values": list(ticks), "tickCount": len(ticks)}


def label_ticks(format: str) -> dict[str, Any]:
    """How the ticks of an axis are labelled."""
    number, is_share, _ = format.partition(" %")
    if not is_share:
        return {"format": format}
    # A no-break space is U+00A0 in Vega's expressions as well; no name is ever in one.
    plain = number.lstrip("+")  # nothing has no sign
    reported = f"format(100 * datum.value, datum.value ? '{number}' : '{plain}')"
    return {"labelExpr": f"{reported} + '\\u00a0%'"}


def make_level_axis(context: Context, *, title: str | None, field: str = "level") -> alt.X:
    """The horizontal axis: log2, a tick at each level."""
    levels = list(context.positions.values())
    low, high = min(levels), max(levels)
    return alt.X(
        f"{field}:Q",
        scale=alt.Scale(type="log", base=2, domain=[low / 1.25, high * 1.25], nice=False),
        axis=alt.Axis(values=levels, grid=False, labelOverlap="greedy", **_label_levels(context)),
        title=title,
    )


def _label_levels(context: Context) -> dict[str, Any]:
    if context.axis.counts:
        return {"format": "d"}
    # As literals of JSON no value can become code.
    expression = "''"
    for point, at in context.positions.items():
        shown = format_value(point.values[context.axis.name])
        lines = shown.replace("/", "/\n").split("\n") if len(shown) > LABEL_MOST else shown
        text = json.dumps(lines)
        expression = f"abs(datum.value / {at!r} - 1) < 1e-6 ? {text} : {expression}"
    return {"labelExpr": expression}


def make_level_tip(context: Context) -> alt.Tooltip:
    """The level in a tooltip."""
    kind = "Q" if context.axis.counts else "N"
    field = context.axis.name.replace(".", "\\.")
    return alt.Tooltip(f"{field}:{kind}", title=context.axis.plural)


def make_x_axis(
    field: str, title: str | None, domain: Domain, *, log: bool = False, **options: Any
) -> alt.X:
    """A horizontal axis of numbers that ends where its domain does; `options` are Altair's."""
    return alt.X(
        f"{field}:Q", title=title, scale=_make_scale(domain, log), axis=alt.Axis(**options)
    )


def make_y_axis(
    field: str, title: str | None, domain: Domain, *, log: bool = False, **options: Any
) -> alt.Y:
    """A vertical one."""
    return alt.Y(
        f"{field}:Q", title=title, scale=_make_scale(domain, log), axis=alt.Axis(**options)
    )


def _make_scale(domain: Domain, log: bool) -> alt.Scale:
    kind: dict[str, Any] = {"type": "log"} if log else {}
    return alt.Scale(domain=list(domain), nice=False, **kind)


def make_strip_axis(until: float, *, is_bottom: bool) -> alt.X:
    """The seconds of a window, which a stack of strips names once, below the last one."""
    title, domain = "Second" if is_bottom else None, (0, until)
    return make_x_axis(
        "second", title, domain, grid=False, tickCount=6, format="d", labels=is_bottom
    )


def make_value_axis(axis: Axis, domain: Domain, *, titled: bool = True) -> alt.Y:
    """The vertical axis of a value: from zero, or logarithmic with ticks at 1, 2 and 5."""
    options: dict[str, Any] = {**label_ticks(axis.format), "tickCount": 6, "minExtent": MIN_EXTENT}
    ticks = list_log_ticks(domain) if axis.log else list_even_ticks(domain)
    if ticks is not None:
        options |= fix_ticks(ticks)
    return alt.Y(
        "value:Q",
        scale=alt.Scale(type="log" if axis.log else "linear", domain=list(domain), nice=False),
        title=axis.title if titled else None,
        axis=alt.Axis(**options),
    )


def make_candidate_scale(context: Context, attribute: str) -> alt.Scale:
    """Domain and range of the candidates for `colour`, `marker` or `dash`."""
    names = list(context.evidence.candidates)
    looks = [getattr(context.styles[name], attribute) for name in names]
    return alt.Scale(
        domain=names, range=[list(look) if isinstance(look, tuple) else look for look in looks]
    )


def make_candidate_channels(context: Context, shown: Sequence[str] = ()) -> dict[str, Any]:
    """Colour and marker of the candidates, with one legend for both; or for `shown`."""
    return _make_channels(context, _make_mark_legend(context, shown), "color", "shape")


def make_line_channels(context: Context) -> dict[str, Any]:
    """Colour and dash of the candidates where only lines are drawn, with one legend for both."""
    legend = _make_legend(context, symbolType="stroke", symbolSize=450, symbolStrokeWidth=2)
    return _make_channels(context, legend, "color", "strokeDash")


def make_own_channels(context: Context) -> dict[str, Any]:
    """Colour and marker of the candidates where their names stand beside what is drawn."""
    return _make_channels(context, None, "color", "shape")


def draw_joined(
    context: Context, drawing: Drawing, rows: Rows, channels: dict[str, Any], *, width: float = 2
) -> Spec:
    """A line through what each candidate has two of, with the legend of its marks."""
    count = Counter(row["candidate"] for row in rows)
    rows = [row for row in rows if count[row["candidate"]] > 1]
    look = _make_channels(context, _make_mark_legend(context), "color", "strokeDash")
    return drawing.mark(
        "line", rows, {**channels, **look, "opacity": show_picked()}, strokeWidth=width
    )


def draw_joined_points(
    context: Context, drawing: Drawing, rows: Rows, channels: dict[str, Any],
    tips: list[alt.Tooltip], **look: Any,
) -> list[Spec]:  # fmt: skip
    """That line with a mark for each row, which looks so."""
    line = draw_joined(context, drawing, rows, channels)
    at = {name: channels[name] for name in ("x", "y")} | make_candidate_channels(context)
    at |= {"opacity": show_picked(), "tooltip": tips}
    return [line, drawing.follow(drawing.mark("point", rows, at, filled=True, **look))]


_LOOKS: dict[str, tuple[Any, str]] = {
    "color": (alt.Color, "colour"), "shape": (alt.Shape, "marker"),
    "strokeDash": (alt.StrokeDash, "dash"),
}  # fmt: skip


def _make_channels(context: Context, legend: alt.Legend | None, *names: str) -> dict[str, Any]:
    known = {name: _LOOKS[name] for name in names}
    return {
        name: channel("candidate:N", scale=make_candidate_scale(context, look), legend=legend)
        for name, (channel, look) in known.items()
    }


def _make_mark_legend(context: Context, shown: Sequence[str] = ()) -> alt.Legend:
    options = {"values": list(shown)} if shown else {}
    return _make_legend(context, symbolSize=110, symbolStrokeWidth=0, **options)


def _make_legend(context: Context, **options: Any) -> alt.Legend:
    """The candidates' names above the figure, in as many rows as its width asks for."""
    names = context.names_drawn.values()
    longest = max(len(name) for name in names) * LETTER_WIDTH
    widest = min(longest, LEGEND_LIMIT) + SYMBOL_WIDTH
    if widest * len(names) > WIDTH:
        options["columns"] = max(1, WIDTH // widest)
    return alt.Legend(title=None, orient="top", direction="horizontal", **options)


LETTER_WIDTH = 7
SYMBOL_WIDTH = 45
"""Own: of an entry of the legend, pixels: a letter of its size, and the mark with its gaps."""


def draw_by_level(context: Context, drawing: Drawing, axis: Axis, panel: Panel) -> Spec:
    """Lines through the levels, bars of intervals, a point for each window, hollow if invalid."""
    channels = {**make_candidate_channels(context), "opacity": show_picked()}
    title = context.axis.title if panel.last else None
    x = make_level_axis(context, title=title, field="x")
    domain = panel.domain or find_domain(add_spans(panel.points, axis.log), axis.log)
    y = make_value_axis(axis, domain, titled=panel.first)
    lines = place_apart(context, panel.lines)
    line = draw_joined(context, drawing, lines, {"x": x, "y": y}, width=2 if panel.joined else 0)
    points = place_apart(context, _drop_points(drawing, panel.points))
    marks = [
        drawing.mark("point", rows, {"x": x, "y": y, "tooltip": tips, **channels}, **look)
        for rows, look, tips in _list_marks(context, axis, lines, points)
    ]
    spanned = place_apart(context, estimate_spans(panel.points, axis.log))
    colour = {"color": channels["color"], "opacity": channels["opacity"]}
    bars = draw_intervals(drawing, spanned, {"x": x, **colour}, strokeWidth=1.5, clip=True)
    limits = draw_limits(drawing, y, panel.limits)
    return merge_layers(
        [*limits, line, *bars, drawing.follow(marks[0]), *marks[1:]],
        width=panel.width, height=panel.height, title=panel.title,
    )  # fmt: skip


APART = 0.04
"""Own: between two candidates, in octaves; all together at most a quarter of one."""


def place_apart(context: Context, rows: Rows) -> Rows:
    """The rows with `x`, where each candidate stands beside its level; one candidate's together.

    So they are drawn in the legend's order, and neighbours in the drawing look alike.
    """
    names = context.evidence.candidates
    step = min(APART, 0.25 / len(names))
    shift = {name: step * (index - (len(names) - 1) / 2) for index, name in enumerate(names)}
    ordered = sorted(rows, key=lambda row: names.index(row["candidate"]))
    return [{**row, "x": row["level"] * 2 ** shift[row["candidate"]]} for row in ordered]


def draw_intervals(
    drawing: Drawing, rows: Rows, channels: dict[str, Any], *, across: bool = False, **look: Any
) -> list[Spec]:
    """A bar from `low` to `high` for each row that has them: upright, or `across` the chart."""
    known = [row for row in rows if row["low"] is not None]
    upright = {"y": alt.Y("low:Q"), "y2": alt.Y2("high:Q")}
    ends = {"x": alt.X("low:Q"), "x2": alt.X2("high:Q")} if across else upright
    return [drawing.mark("rule", known, {**channels, **ends}, **look)] if known else []


def draw_limits(drawing: Drawing, y: alt.Y, limits: Sequence[LimitLine]) -> list[Spec]:
    """A broken line across a chart for each, named at its left end."""
    layers = []
    for limit in limits:
        at = alt.Chart(drawing.add([{"value": limit.value, "limit": limit.text}]))
        rule = at.mark_rule(color=limit.colour, strokeWidth=1.5, strokeDash=[6, 4])
        text = at.mark_text(color=limit.colour, align="left", baseline="bottom", dx=4, dy=-2)
        layers += [
            make_unit(rule.encode(y=y)),
            make_unit(text.encode(y=y, x=place_x(0), text=alt.Text("limit:N"))),
        ]
    return layers


def show_picked() -> alt.Opacity:
    """Pale unless its candidate is picked in the legend."""
    return alt.Opacity(condition={"param": PICK, "value": 1}, value=0.12)


_DRAWN = ("x", "candidate", "block", "value", "note")
_FULL: dict[str, Any] = {"filled": True, "size": 65}
_SMALL: dict[str, Any] = {"filled": True, "size": 16}
_HOLLOW: dict[str, Any] = {
    "filled": False, "fill": palette.PAPER[0], "size": 75, "strokeWidth": 1.8,
}  # fmt: skip


def has_levels(points: Rows) -> bool:
    """Whether a level is more than its one window, so that both are drawn."""
    return len({(row["level"], row["candidate"]) for row in points}) < len(points)


def _list_marks(
    context: Context, axis: Axis, lines: Rows, points: Rows
) -> Iterator[tuple[Rows, dict[str, Any], list[alt.Tooltip]]]:
    """The levels, if they are more than a window; on them windows, hollow if invalid.

    So the mouse finds every window.
    """
    # A percentile may be known of all windows together, and of none alone.
    several = has_levels(points) or len(lines) > len(points)
    if several and lines:
        yield lines, _FULL, _make_tips(context, axis)
    for wanted, look in ((True, _SMALL if several else _FULL), (False, _HOLLOW)):
        rows = [
            {key: row[key] for key in (context.axis.name, *_DRAWN)}
            for row in points
            if row["valid"] is wanted
        ]
        if rows or wanted:  # the legend takes its marks from the first, which are filled
            yield rows, look, _make_tips(context, axis, *_OF_WINDOWS)


def _drop_points(drawing: Drawing, points: Rows) -> Rows:
    if len(points) <= POINTS_MOST:
        return points
    drawing.thinned = True
    both = ([row for row in points if row["valid"] is wanted] for wanted in (True, False))
    return [dict(row) for rows in both for row in find_extremes(rows)]


_OF_WINDOWS = (alt.Tooltip("block:Q", title="block"), alt.Tooltip("note:N", title="window"))


def _make_tips(context: Context, axis: Axis, *more: alt.Tooltip) -> list[alt.Tooltip]:
    number = ".1%" if axis.format == PERCENT else ",.4~g"
    return [
        alt.Tooltip("candidate:N", title="candidate"), make_level_tip(context),
        alt.Tooltip("value:Q", title=axis.title, format=number), *more,
    ]  # fmt: skip
