"""Response times by percentile: the whole distribution and its tail, at up to four levels.

The horizontal axis is stretched towards the rare ones (1 / (1 - share), logarithmic), as
HdrHistogram draws it, so that what one user in a thousand waits is as wide as what every other one
does. Histograms of valid windows are merged, never averaged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.latencies import read_distribution
from stithy.analysis.measures import BEYOND_DRAWN, CurvePoint, draw_percentile_curve
from stithy.metrics import ALL, Quantity
from stithy.point import Point
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S, make_target_line
from stithy.report.drawing.chart import (
    WIDTH,
    Axis,
    draw_limits,
    find_domain,
    make_line_channels,
    make_value_axis,
    make_x_axis,
    show_picked,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_in_grid
from stithy.report.drawing.titles import name_by
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import begin_sentence
from stithy.units import format_list, format_measured_duration

NAME = "percentiles"

LEVELS_MOST = 4
AXIS = Axis("Response time (ms)", log=True)
RESPONSE, SERVICE = "response", "service"

DIFFERS_SHARE = 0.01
"""Own: service times are drawn where a percentile of them is off the response time's by more."""

TICKS = {2: "50 %", 10: "90 %", 100: "99 %", 1000: "99.9 %", 10_000: "99.99 %"}
TICKS |= {100_000: "99.999 %", 1_000_000: "99.9999 %"}

REACH_NARROW = 20_000.0
"""Own: three charts beside each other have room for the labels up to 99.99 %."""

TITLED = {"p99.9": 0.999, "p99": 0.99, "p90": 0.9, "p50": 0.5}
"""The percentiles that a title may tell, the rarest first; every curve that reaches has them."""

SPOKEN = {"p99.9": "99.9 % of", "p99": "99 % of", "p90": "90 % of", "p50": "half of the"}


@dataclass(frozen=True)
class _PercentileCurve:
    """One line: the times of a candidate at a level; `values` is how many there are."""

    point: Point
    candidate: str
    what: str
    values: int
    points: tuple[CurvePoint, ...]


def _plot(context: Context) -> list[Drawn]:
    levels = choose_levels(context)
    lines = [line for point in levels for line in _read_curves(context, point)]
    if not lines:
        because = "no valid window has a complete latency log with enough values"
        return [Absent(NAME, "response times by percentile", because)]
    drawn = [point for point in levels if any(line.point == point for line in lines)]
    drawing = Drawing()
    return [
        drawing.figure(
            context, NAME, _write_title(context, lines),
            _draw_charts(context, drawing, drawn, lines),
            _make_table(context, lines),
            caption=_write_caption(context, drawn, lines),
            description="Line charts of response time against the percentile, one chart "
            f"for {format_list([context.level(point) for point in drawn])} each, one line for each "
            "candidate. Both axes are logarithmic; the horizontal one is stretched towards 100 %.",
        )
    ]  # fmt: skip


def choose_levels(context: Context) -> list[Point]:
    """The lowest level, that of the question, the highest, and one between; ascending."""
    levels = [
        point
        for point in context.evidence.levels
        if any(context.evidence.valid_at(name, point) for name in context.evidence.candidates)
    ]
    if len(levels) <= LEVELS_MOST:
        return levels
    primary = context.answer_level
    chosen = {levels[0], levels[-1], *(point for point in levels if point == primary)}
    at = context.positions
    middle = (at[levels[0]] * at[levels[-1]]) ** 0.5
    others = sorted(set(levels) - chosen, key=lambda point: (abs(at[point] / middle - 1), point))
    return sorted({*chosen, *others[: LEVELS_MOST - len(chosen)]})


def _read_curves(context: Context, point: Point) -> list[_PercentileCurve]:
    found = []
    for name in context.evidence.candidates:
        windows = context.evidence.valid_at(name, point)
        for what in (RESPONSE, SERVICE) if _has_other_service_times(windows) else (RESPONSE,):
            histogram = read_distribution(context.run.directory, windows, what)
            points = draw_percentile_curve(histogram) if histogram is not None else ()
            if histogram is not None and points:
                found.append(_PercentileCurve(point, name, what, histogram.count, points))
    return found


def _has_other_service_times(windows: Sequence[Window]) -> bool:
    """Whether service times are others than response times, by the windows' own percentiles."""
    for window in windows:
        for key in ("p50_s", "p99_s"):
            times = window.transactions.get(ALL, {})
            response, service = (times.get(f"{what}_{key}") for what in (RESPONSE, SERVICE))
            if response and service and abs(response / service - 1) > DIFFERS_SHARE:
                return True
    return False


def _write_title(context: Context, lines: list[_PercentileCurve]) -> str:
    """What so many of the transactions took at most, at the level of the question."""
    primary = context.answer_level
    there = [line for line in lines if line.what == RESPONSE]
    point = next((line.point for line in there if line.point == primary), there[-1].point)
    here = [line for line in there if line.point == point]
    name, times_s = _choose_percentile(here)
    share = f"{SPOKEN[name]} transactions"
    at = begin_sentence(context.at(point))
    if len(here) > 1 and _is_alike(context, here, times_s, name, point):
        ends = format_list([here[0].candidate, here[1].candidate])
        return f"{at}, {ends} are not distinguishable in the {name} of response time"
    return f"{at}, {share} took at most {name_by(times_s, format_measured_duration, most=2)}"


def _choose_percentile(here: list[_PercentileCurve]) -> tuple[str, dict[str, float]]:
    """The rarest percentile that all lines reach, and its value by candidate, seconds."""
    for name, share in TITLED.items():
        beyond = {line.candidate: [point.value_s for point in line.points
                                   if point.share >= share - 1e-9] for line in here}  # fmt: skip
        if all(beyond.values()):
            return name, {candidate: values_s[0] for candidate, values_s in beyond.items()}
    return "p50", {line.candidate: line.points[-1].value_s for line in here}


def _is_alike(
    context: Context,
    here: list[_PercentileCurve],
    times_s: dict[str, float],
    name: str,
    point: Point,
) -> bool:
    if len(here) != 2:
        return False
    low, high = sorted(times_s, key=times_s.__getitem__)
    return context.evidence.effect(low, high, point, Quantity(name)).distinguishable is False


def _write_caption(context: Context, levels: list[Point], lines: list[_PercentileCurve]) -> str:
    counts = [line.values for line in lines if line.what == RESPONSE]
    values = f"{min(counts):,}" if len({*counts}) == 1 else f"{min(counts):,} to {max(counts):,}"
    parts = [
        "Response time of all transactions against the share of transactions that took at most as "
        "long. The horizontal axis is stretched towards 100 %. Each line merges the valid windows "
        f"of a candidate, {values} values. A line ends where fewer than {BEYOND_DRAWN} values lie "
        "beyond it."
    ]
    if any(line.what == SERVICE for line in lines):
        parts.append("Thin lines are service times: from sending to the answer, without waits.")
    left = len(context.evidence.levels) - len(levels)
    if left > 0:
        parts.append(
            f"The figure shows {len(levels)} of {len(context.evidence.levels)} levels: the lowest, "
            "the highest, that of the question, and others between them."
        )
    return " ".join(parts)


def _draw_charts(
    context: Context, drawing: Drawing, levels: list[Point], lines: list[_PercentileCurve]
) -> Spec:
    values = [{"value": p.value_s * MS_PER_S} for line in lines for p in line.points]
    limits = make_target_line(context, ALL)
    domain = find_domain([*values, *({"value": limit.value} for limit in limits)], log=True)
    reach = max(line.points[-1].reach for line in lines)
    # So many that no place stays empty, if all ticks have room for their labels.
    number = len(levels)
    columns = number if number < 3 or (number == 3 and reach < REACH_NARROW) else 2
    share = "Share of transactions"
    title = f"{share} that took at most as long" if columns < 3 else share
    charts = []
    ticks = [tick for tick in TICKS if tick <= reach]
    options = {"values": ticks, "labelExpr": LABELS, "grid": True, "labelOverlap": False}
    for index, point in enumerate(levels):
        first, last = index % columns == 0, index >= len(levels) - columns
        x, y = (
            make_x_axis("reach", title if last else None, (1, reach * 1.05), log=True, **options),
            make_value_axis(AXIS, domain, titled=first),
        )
        here = [line for line in lines if line.point == point]
        layers = [*draw_limits(drawing, y, limits), *_draw_layers(context, drawing, here, x, y)]
        width = WIDTH if columns == 1 else (WIDTH + 20) // columns - 45
        charts.append(merge_layers(layers, width=width, height=230, title=context.level(point)))
    return place_in_grid(charts, columns)


LABELS = "".join(f"datum.value == {tick} ? '{text}' : " for tick, text in TICKS.items()) + "''"
"""An expression that names the ticks; it holds constants alone."""


def _draw_layers(
    context: Context, drawing: Drawing, lines: list[_PercentileCurve], x: alt.X, y: alt.Y
) -> list[Spec]:
    channels = {"x": x, "y": y, "opacity": show_picked(), **make_line_channels(context)}
    tips = [
        alt.Tooltip("candidate:N"),
        alt.Tooltip("share:Q", title="share", format=".4%"),
        alt.Tooltip("value:Q", title=AXIS.title, format=",.4~g"),
    ]
    specs = []
    for what, width in ((RESPONSE, 2.0), (SERVICE, 0.8)):
        rows = _list_rows([line for line in lines if line.what == what])
        if rows:
            line = drawing.mark("line", rows, {**channels, "tooltip": tips}, strokeWidth=width)
            specs.append(line)
    return [drawing.follow(specs[0]), *specs[1:]]


def _list_rows(lines: list[_PercentileCurve]) -> Rows:
    return [
        {
            "candidate": line.candidate, "reach": point.reach, "share": point.share,
            "value": point.value_s * MS_PER_S,
        }
        for line in lines
        for point in line.points
    ]  # fmt: skip


def _make_table(context: Context, lines: list[_PercentileCurve]) -> PageTable:
    rows = [
        {
            **context.place(line.point), "candidate": line.candidate, "what": line.what,
            "share": point.share, "value": point.value_s, "beyond": point.beyond,
            "values": line.values,
        }
        for line in lines
        for point in line.points
    ]  # fmt: skip
    return PageTable(
        NAME,
        "Response times by percentile",
        (
            context.axis_show, Show("candidate", "candidate"),
            Show("what", "what"), Show("share", "share of transactions", "exact share"),
            Show("value", "took at most", "duration"), Show("beyond", "values beyond", "count"),
            Show("values", "of values", "count"),
        ),
        pl.DataFrame(rows).drop("level"),
    )  # fmt: skip


PLUGINS = (FigureKind(NAME, 24, "response", _plot, ("load",)),)
