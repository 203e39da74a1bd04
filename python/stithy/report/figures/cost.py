"""What candidates cost against what they do, where the study says what they cost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import (
    NUMBERS,
    WIDTH,
    Axis,
    candidate_channels,
    domain_of,
    intervals,
    value_axis,
    x_axis,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, bars_told, layer, spans
from stithy.report.drawing.titles import named
from stithy.report.figure import Absent, Drawn, FigureKind
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing, rate
from stithy.units import Money

ROOM = 1.05
"""Own: so that no mark stands on the edge."""


@dataclass(frozen=True)
class _CandidateCost:
    """What a candidate costs, and what it did at the level that is reported."""

    candidate: str
    cost: Money
    done: float

    @property
    def each(self) -> float:
        """Cost of each transaction per minute."""
        return self.cost.amount / self.done


def _plot(context: Context) -> list[Drawn]:
    """One figure of candidates whose cost the study gives; nothing where it gives none."""
    costs = _costs(context)
    if not costs:
        return []
    places, point = _places(context, costs), context.answer_level
    if len(places) < 2 or point is None:
        because = "fewer than two candidates have both a cost and a valid window"
        return [Absent("cost", "throughput against cost", because)]
    metric = context.evidence.throughput
    points = _points(context, point, places)
    drawing = Drawing()
    return [
        drawing.figure(
            context, "cost", f"Cost per {metric.label} {context.at(point)}: {_told(places)}",
            _chart(context, drawing, places, points), _table(metric, places, points),
            caption=f"{metric.title} {context.at(point)} against the cost of each "
            "candidate as the study gives it. Both axes begin at zero. "
            f"{_best(places).candidate} has the lowest cost per {metric.label}"
            f"{_among(context, places)}. Points on the "
            f"broken line have the same cost per {metric.label}; points below it have a higher "
            f"one.{bars_told(points)} "
            "Only the author of the study knows what the cost includes.",
            description="Chart of throughput against cost with a mark for each candidate "
            "and a line from zero through the one whose throughput costs least.",
        )
    ]  # fmt: skip


def _costs(context: Context) -> dict[str, Money]:
    known = context.manifest.candidates if context.manifest else ()
    return {each.name: each.cost for each in known if each.cost is not None}


def _places(context: Context, costs: dict[str, Money]) -> list[_CandidateCost]:
    evidence, point = context.evidence, context.answer_level
    found = []
    for name, cost in costs.items():
        done = evidence.level_of(name, point, evidence.throughput) if point is not None else None
        if done:
            found.append(_CandidateCost(name, cost, done))
    return found


def _best(places: Sequence[_CandidateCost]) -> _CandidateCost:
    return min(places, key=lambda place: place.each)


def _among(context: Context, places: Sequence[_CandidateCost]) -> str:
    """Among whom the best was chosen, where not all candidates can be compared."""
    names = {place.candidate for place in places}
    missing = [name for name in context.evidence.candidates if name not in names]
    if not missing:
        return ""
    return f" of those with a cost and a valid window (without: {listing(missing)})"


def _told(places: Sequence[_CandidateCost]) -> str:
    """The cost of each transaction per minute, the least first."""
    return named(
        sorted(places, key=lambda place: place.each),
        lambda place: place.each,
        lambda place: f"{rate(place.each)} {place.cost.currency} on {place.candidate}",
    )


def _points(context: Context, point: Point, places: Sequence[_CandidateCost]) -> Rows:
    """The windows of the level, at the cost of their candidate."""
    amounts = {place.candidate: place.cost.amount for place in places}
    column = context.evidence.throughput.known.column
    return [
        {
            "candidate": window.candidate, **context.place(point), "block": window.block,
            "cost": amounts[window.candidate], "value": done, "valid": window.valid,
        }
        for window in context.drawn
        if window.point == point and window.candidate in amounts
        and (done := window.value(column)) is not None
    ]  # fmt: skip


def _chart(
    context: Context, drawing: Drawing, places: Sequence[_CandidateCost], points: Rows
) -> Spec:
    metric = context.evidence.throughput
    marks = [
        {"candidate": place.candidate, "cost": place.cost.amount, "value": place.done,
         "each": place.each}
        for place in places
    ]  # fmt: skip
    bars = [
        {**span, "cost": place.cost.amount}
        for span in spans(points, log=False)
        for place in places
        if place.candidate == span["candidate"]
    ]
    ends = domain_of([{"value": place.cost.amount * ROOM} for place in places], log=False)
    tops = [
        *({"value": place.done * ROOM} for place in places),
        *({"value": bar["high"]} for bar in bars),
    ]
    y = value_axis(Axis(metric.title), domain_of(tops, log=False))
    title = f"Cost ({places[0].cost.currency})"
    x = x_axis("cost", title, ends, format=NUMBERS, tickCount=6)
    layers = [_equal(drawing, _best(places), ends[1], x, y)]
    channels = candidate_channels(context)
    layers += intervals(drawing, bars, {"x": x, "color": channels["color"]}, strokeWidth=2)
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("cost:Q", format=",~f"),
        alt.Tooltip("value:Q", title=metric.label, format=",.0f"),
        alt.Tooltip("each:Q", title=f"cost per {metric.label}", format=",.4~g"),
    ]  # fmt: skip
    at = {"x": x, "y": y, "tooltip": tips, **channels}
    layers.append(drawing.mark("point", marks, at, filled=True, size=130, opacity=1))
    return layer(layers, width=WIDTH, height=240)


def _equal(drawing: Drawing, best: _CandidateCost, most: float, x: alt.X, y: alt.Y) -> Spec:
    """The line from zero on which work costs as much as with the best."""
    line: list[dict[str, Any]] = [
        {"cost": 0.0, "value": 0.0}, {"cost": most, "value": most / best.each}
    ]  # fmt: skip
    look = {"color": palette.MARK[0], "strokeDash": [6, 4], "strokeWidth": 1.5, "clip": True}
    return drawing.mark("line", line, {"x": x, "y": y}, **look)


def _table(metric: Quantity, places: Sequence[_CandidateCost], points: Rows) -> PageTable:
    windows = Counter(point["candidate"] for point in points if point["valid"])
    rows = [
        {
            "candidate": place.candidate, "cost": place.cost.amount,
            "currency": place.cost.currency, "value": place.done, "each": place.each,
            "windows": windows[place.candidate],
        }
        for place in places
    ]  # fmt: skip
    shows = (
        Show("candidate", "candidate"), Show("cost", f"cost, {places[0].cost.currency}", "rate"),
        Show("value", metric.label, "count"), Show("each", f"cost per {metric.label}", "rate"),
        Show("windows", "valid windows", "count"),
    )  # fmt: skip
    return PageTable("cost", "Throughput against cost", shows, pl.DataFrame(rows))


PLUGINS = (FigureKind("cost", 14, "throughput", _plot, ("load",)),)
