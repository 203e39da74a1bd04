"""Response time against users: median, 95th and 99th percentile, over all and by transaction."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.capacity import count_users_within
from stithy.metrics import ALL, BEYOND_LEAST, P95, Quantity
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import MS_PER_S, explain_target, make_target_line
from stithy.report.drawing.chart import (
    HEIGHT,
    NUMBERS,
    WIDTH,
    Axis,
    draw_intervals,
    draw_joined,
    draw_limits,
    find_domain,
    make_candidate_channels,
    make_level_tip,
    make_value_axis,
    make_x_axis,
    show_picked,
)
from stithy.report.drawing.compose import (
    BARS,
    POINTS_MOST,
    Drawing,
    Rows,
    Spec,
    estimate_spans,
    find_extremes,
    merge_layers,
)
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import make_window_row, read_window_rows, scale_rows
from stithy.report.drawing.titles import compare_title, name_by, name_each
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import begin_sentence, format_count
from stithy.units import format_measured_duration
from stithy.workloads.workload import Workload

PERCENTILES = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
AXIS = Axis("Response time (ms)", log=True)
VALUE = Show("value", "response time", "duration")


def _read_series(context: Context, kind: str = "") -> list[Series]:
    return [
        Series(
            *read_window_rows(context, f"response_{key}_s", kind or ALL),
            f"{kind}, {words}" if kind else words, (kind, key) if kind else (key,),
            make_target_line(context, kind or ALL, key),
        )
        for key, words in PERCENTILES.items()
    ]  # fmt: skip


def _explain_pooled(charts: Sequence[Series]) -> str:
    text = " A mark without windows is of all of them together: each alone has too few values."
    return text if any(chart.pooled for chart in charts) else ""


def _plot_together(context: Context) -> Iterator[ByLevel | Absent]:
    name, series = "response-by-users", _read_series(context)
    pooled = any(chart.pooled for chart in series)
    if not pooled and not any(chart.points for chart in series):
        yield Absent(name, "response times", "no window has enough transactions")
        return
    p95 = series[1]
    noun = "95th percentile of response time"
    yield ByLevel(
        name=name,
        title=compare_title(
            context, p95.lines, p95.points, noun, shown=format_measured_duration, metric=P95
        ),
        caption="Response time of all transactions, from the intended start to the answer, with "
        "retries and waits, on a logarithmic axis. A percentile is drawn only if enough values lie "
        f"beyond it.{_explain_pooled(series)}"
        f"{explain_target(context, (ALL,), tuple(PERCENTILES))}",
        noun="response time",
        data="Response time by percentile",
        axis=AXIS,
        rows=[series],
        value=VALUE,
        groups=("percentile",),
        scale=MS_PER_S,
        height=270,
    )


def _plot_by_transaction(context: Context) -> Iterator[ByLevel | Absent]:
    name = "response-by-transaction"
    kinds = list(dict.fromkeys(kind for window in context.drawn for kind in window.transactions))
    kinds = [kind for kind in kinds if kind != ALL]
    rows = [_read_series(context, kind) for kind in kinds]
    drawn = [row for row in rows if any(series.points for series in row)]
    if not drawn:
        because = "no window has enough transactions of a type"
        yield Absent(name, "response times of each type", because)
        return
    yield ByLevel(
        name=name,
        title=_name_slowest(context, kinds),
        caption="Median, 95th and 99th percentile of the response time of each transaction type. "
        "A percentile is drawn only if enough values lie beyond it. The charts of a row share a "
        f"logarithmic axis.{_explain_pooled([chart for row in drawn for chart in row])}"
        f"{explain_target(context, tuple(kinds), tuple(PERCENTILES))}",
        noun="response time",
        data="Response time by transaction type",
        axis=AXIS,
        rows=drawn,
        value=VALUE,
        groups=("transaction", "percentile"),
        scale=MS_PER_S,
        height=130,
    )


def _name_slowest(context: Context, kinds: list[str]) -> str:
    """Name the type that took longest at the highest level, by a percentile that all types have.

    Where it is not the slowest on every candidate, the title says on which one it was. Where types
    have too few values even for a median, it says that it compares the others.
    """
    evidence = context.evidence
    for point in reversed(evidence.levels):
        answered = [
            (kind, name)
            for kind in kinds
            for name in evidence.candidates
            if any(window.completed(kind) for window in evidence.valid_at(name, point))
        ]
        by_percentile = {
            key: {
                (kind, name): value
                for kind, name in answered
                if (value := evidence.printable_level(name, point, f"response_{key}_s", kind))
                is not None
            }
            for key in ("p95", "p50")
        }
        whole = (key for key, of in by_percentile.items() if len(of) == len(answered))
        key = next(whole, "p50")
        here = by_percentile[key]
        if not here:
            continue
        slowest, on = max(here, key=lambda of: here[of])
        of_it = {name: s for (kind, name), s in here.items() if kind == slowest}
        others = any(s > of_it.get(name, 0.0) for (_, name), s in here.items())
        who = f"{slowest} on {on}" if others else slowest
        few = "" if len(here) == len(answered) else " of the types with enough transactions"
        at, times = begin_sentence(context.at(point)), name_by(of_it, format_measured_duration)
        return f"{at}, {who} takes longest{few}: its {PERCENTILES[key]} is {times}"
    return f"Response times of the {len(kinds)} transaction types"


CURVE = "response-throughput"

ON_EACH_OTHER = 0.03
"""Own: of the horizontal axis; two numbers that are nearer cannot be read."""

LEVEL = "all valid windows"
"""In place of what is noted of a window, in the row of a level."""

CANDIDATES_LABELLED = 3
"""Own: of more candidates only the ends of a line have their level written beside them."""


@dataclass(frozen=True)
class _LevelOutcome:
    """Where a candidate stands at a level: throughput per minute and response time, seconds.

    Too few values for the percentile are None: such a level has no mark.
    """

    candidate: str
    point: Point
    done: float
    response_s: float | None


def _plot_curve(context: Context) -> list[Drawn]:
    shows = "response time against throughput"
    quantity = _choose_quantity(context)
    levels = list(_list_outcomes(context, quantity))
    places = [place for place in levels if place.response_s]
    if (because := _explain_absence(context, quantity, places)) is not None:
        return [Absent(CURVE, shows, because)]
    throughput, drawing = context.evidence.throughput, Drawing()
    points = [
        make_window_row(context, window, done=done, value=response_s)
        for window in context.drawn
        if (done := window.value(throughput.known.column))
        and (response_s := window.printable(quantity.known.column, quantity.of or ALL))
    ]
    limit = explain_target(context, (quantity.of or ALL,), (quantity.metric,))
    return [
        drawing.figure(
            context, CURVE, _write_curve_title(context, quantity, levels),
            _draw_curve(context, drawing, quantity, places, points),
            _make_curve_table(context, quantity, places, points),
            caption=f"{begin_sentence(quantity.noun)} against {throughput.noun}. Each large mark "
            "is a level, with its number of users. A line joins the levels of a candidate in "
            "ascending order. Marks further down and to the right are better. If a line bends "
            "back, more users got less work done. Small marks are windows; hollow ones are "
            "invalid. The vertical axis is logarithmic."
            f"{limit}{BARS if _list_spans(points, 'value') else ''}",
            description="Line chart of response time against throughput, one line for "
            f"each candidate through its levels: {', '.join(context.evidence.candidates)}.",
        )
    ]  # fmt: skip


def _explain_absence(
    context: Context, quantity: Quantity, places: list[_LevelOutcome]
) -> str | None:
    if context.is_open:
        return "in an open loop the study sets the throughput"
    if not places:
        evidence = context.evidence
        cells = product(evidence.candidates, evidence.levels)
        if any(evidence.level_of(*cell, quantity) is not None for cell in cells):
            few = f"fewer than {BEYOND_LEAST} values lie beyond the {quantity.label}"
            return f"{few} at every level"
        return "no valid window has both a response time and a throughput"
    if len(places) == len({place.candidate for place in places}):
        return "no candidate has valid windows at two levels"
    return None


def _choose_quantity(context: Context) -> Quantity:
    """What the limit is of, else the 95th percentile of the workload's headline transaction."""
    if context.limit is not None:
        return context.limit.quantity
    asked = context.manifest.given_workload if context.manifest else None
    name = asked.name if asked else None
    known = plugins(Workload).get(name) if name else None
    return Quantity("p95", known.headline if known else ALL)


def _list_outcomes(context: Context, quantity: Quantity) -> Iterator[_LevelOutcome]:
    """By candidate, from its lowest level up; levels without valid windows are left out."""
    evidence, of = context.evidence, (quantity.known.column, quantity.of or ALL)
    for name in evidence.candidates:
        for point in evidence.levels:
            done = evidence.level_of(name, point, evidence.throughput)
            response_s = evidence.printable_level(name, point, *of)
            if done:
                yield _LevelOutcome(name, point, done, response_s)


def _write_curve_title(context: Context, quantity: Quantity, places: list[_LevelOutcome]) -> str:
    """What was reached within the limit; without one, the most and what it cost."""
    limit, noun = context.limit, context.evidence.throughput.noun
    if limit is not None and (best := list(_find_within_target(context, places))):
        each = name_each(
            best,
            _get_done,
            lambda at: f"{format_count(at.done)} on {at.candidate} ({context.level(at.point)})",
        )
        return f"{begin_sentence(noun)} with {limit.text}: {each}"
    names = dict.fromkeys(place.candidate for place in places)
    each = name_each(
        [max((at for at in places if at.candidate == name), key=_get_done) for name in names],
        _get_done,
        lambda at: (
            f"{format_count(at.done)} on {at.candidate} {context.at(at.point)} "
            f"({_format_response(quantity, at)})"
        ),
    )
    return f"Highest {noun}: {each}"


def _format_response(quantity: Quantity, place: _LevelOutcome) -> str:
    if place.response_s is None:
        return f"too few values for {quantity.label}"
    return f"{quantity.label} {format_measured_duration(place.response_s)}"


def _get_done(place: _LevelOutcome) -> float:
    return place.done


def _find_within_target(context: Context, places: list[_LevelOutcome]) -> Iterator[_LevelOutcome]:
    """The level up to which each candidate obeys the limit, where there is one."""
    limit = context.limit
    assert limit is not None  # asked by the caller
    for name in context.evidence.candidates:
        level = count_users_within(context.evidence, name, limit).level
        here = (place for place in places if place.candidate == name)
        yield from (each for each in here if each.point.level == level)


def _list_spans(points: Rows, key: str) -> Rows:
    return estimate_spans([{**point, "value": point[key]} for point in points], log=key == "value")


def _draw_curve(
    context: Context,
    drawing: Drawing,
    quantity: Quantity,
    places: list[_LevelOutcome],
    points: Rows,
) -> Spec:
    kind = quantity.of or ALL
    shown = scale_rows(points, MS_PER_S)
    levels = [
        {
            **context.place(place.point), "candidate": place.candidate, "done": place.done,
            "value": (place.response_s or 0.0) * MS_PER_S,
        }
        for place in places
    ]  # fmt: skip
    limits = make_target_line(context, kind, quantity.metric)
    ends = [{"value": span[end]} for span in _list_spans(shown, "value") for end in ("low", "high")]
    drawn = [*shown, *levels, *ends, *({"value": limit.value} for limit in limits)]
    y = make_value_axis(Axis(f"{quantity.label} (ms)", log=True), find_domain(drawn, log=True))
    done = find_domain([{"value": row["done"]} for row in (*shown, *levels)], log=False)
    throughput = context.evidence.throughput.title
    x = make_x_axis("done", throughput, done, format=NUMBERS, tickCount=6)
    line = draw_joined(context, drawing, levels, {"x": x, "y": y, "order": alt.Order("level:Q")})
    channels = {"x": x, "y": y, **make_candidate_channels(context), "opacity": show_picked()}
    full = {**channels, "tooltip": _make_tips(context)}
    layers = [
        *draw_limits(drawing, y, limits), line, *_draw_bars(drawing, shown, levels, channels),
        *_draw_windows(context, drawing, shown, channels),
        drawing.follow(drawing.mark("point", levels, full, filled=True, size=95)),
        _draw_levels(context, drawing, levels, x, y),
    ]  # fmt: skip
    return merge_layers(layers, width=WIDTH, height=HEIGHT + 20)


def _draw_bars(
    drawing: Drawing, shown: Rows, levels: Rows, channels: dict[str, Any]
) -> Iterator[Spec]:
    """A cross of both intervals at each level."""
    places = {(row["level"], row["candidate"]): row for row in levels}
    for key, other, along in (("value", "done", "x"), ("done", "value", "y")):
        rows = [
            {**span, other: places[span["level"], span["candidate"]][other]}
            for span in _list_spans(shown, key)
            if (span["level"], span["candidate"]) in places
        ]
        at = {name: channels[name] for name in (along, "color", "opacity")}
        is_across = along == "y"
        yield from draw_intervals(drawing, rows, at, across=is_across, strokeWidth=1.5, clip=True)


def _draw_windows(
    context: Context, drawing: Drawing, shown: Rows, channels: dict[str, Any]
) -> Iterator[Spec]:
    """The windows as small marks; of too many the ends of each level."""
    if len(shown) > POINTS_MOST:
        drawing.thinned = True
    tips = [*_make_tips(context), alt.Tooltip("block:Q"), alt.Tooltip("note:N", title="window")]
    hollow = {"filled": False, "fill": palette.PAPER[0], "size": 60, "strokeWidth": 1.5}
    for is_valid, look in ((True, {"filled": True, "size": 24}), (False, hollow)):
        rows: Rows = [row for row in shown if row["valid"] is is_valid]
        rows = [dict(row) for row in find_extremes(rows)] if len(shown) > POINTS_MOST else rows
        if rows:
            plain = [{key: row[key] for key in row if key != "valid"} for row in rows]
            yield drawing.mark("point", plain, {**channels, "tooltip": tips}, **look)


def _make_tips(context: Context) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("candidate:N"), make_level_tip(context),
        alt.Tooltip("done:Q", title=context.evidence.throughput.label, format=",.0f"),
        alt.Tooltip("value:Q", title="response time (ms)", format=",.4~g"),
    ]  # fmt: skip


def _draw_levels(context: Context, drawing: Drawing, levels: Rows, x: alt.X, y: alt.Y) -> Spec:
    """The level beside its mark, once where marks lie on each other.

    Of many candidates those of each line's ends.
    """
    rows = levels
    if len(context.evidence.candidates) > CANDIDATES_LABELLED:
        ends = {
            name: {min(mine), max(mine)}
            for name in context.evidence.candidates
            if (mine := [row["level"] for row in levels if row["candidate"] == name])
        }
        rows = [row for row in levels if row["level"] in ends[row["candidate"]]]
    field = context.axis.name.replace(".", "\\.")
    text = alt.Text(f"{field}:Q", format="d") if context.axis.counts else alt.Text(f"{field}:N")
    look = {"dx": 9, "dy": 9, "align": "left", "baseline": "middle"}
    at = {"x": x, "y": y, "text": text, "opacity": show_picked()}
    return drawing.mark("text", _drop_close(rows), at, **look)


def _drop_close(rows: Rows) -> Rows:
    """The first of those that would be written on each other."""
    most = max(row["done"] for row in rows)
    kept: Rows = []
    for row in rows:
        if not any(
            abs(row["done"] - each["done"]) < ON_EACH_OTHER * most
            and abs(math.log(row["value"] / each["value"])) < 2 * ON_EACH_OTHER
            for each in kept
        ):
            kept.append(row)
    return kept


def _make_curve_table(
    context: Context, quantity: Quantity, places: list[_LevelOutcome], points: Rows
) -> PageTable:
    """Each level as it is reported, then every window of it."""
    levels: Rows = [
        {
            **context.place(place.point), "candidate": place.candidate, "block": None,
            "done": place.done, "value": place.response_s, "valid": True, "note": LEVEL,
        }
        for place in places
    ]  # fmt: skip
    return PageTable(
        CURVE,
        "Response time against throughput",
        (
            context.axis_show, Show("candidate", "candidate"),
            Show("block", "block", "count"),
            Show("done", context.evidence.throughput.label, "rate"),
            Show("value", quantity.label, "duration"), Show("note", "window"),
        ),
        pl.DataFrame([*levels, *points], infer_schema_length=None).drop("level"),
    )  # fmt: skip


PLUGINS = (
    FigureKind("response-by-users", 20, "response", _plot_together, ("load",)),
    FigureKind("response-by-transaction", 21, "response", _plot_by_transaction, ("load",)),
    FigureKind(CURVE, 22, "response", _plot_curve, ("load",)),
)
