"""What a rate costs: latency of block I/O against the rate that was achieved, of all candidates."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from stithy.analysis.validity.checks.block_io import LATE, SATURATED
from stithy.metrics import Quantity
from stithy.plan.scenarios.block_io.rates import MAXIMUM, RATE, amount
from stithy.point import Point
from stithy.report.blocks import Block, Section, figures, grid, paragraph
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import (
    NUMBERS,
    Axis,
    candidate_channels,
    domain_of,
    picked,
    value_axis,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, beside, layer, unit
from stithy.report.drawing.titles import named
from stithy.report.figure import Drawn, Figure
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import count, took

NAME = "rates"
NEEDS = ("io_seconds",)
TITLE = "Latency against rate"
NOTE = (
    "Requests arrive at random moments, whether or not earlier ones were answered. Rates in "
    "percent are shares of what the same candidate did as fast as it goes (`max`), so the same "
    "share is another rate on each candidate. A saturated rate was not achieved: its latencies "
    "grow with the length of the measurement."
)
PERCENTILES = ("p50", "p99")
PANEL_WIDTH, PANEL_HEIGHT = 300, 260
FIGURES_MOST = 12
"""Own: more are in the table only."""


@dataclass(frozen=True)
class _Place:
    """A candidate at a rate: what was asked and achieved, and latencies, in seconds.

    A percentile of too few values is None.
    """

    candidate: str
    point: Point
    asked: float | None
    achieved: float
    latency_s: dict[str, float | None]
    state: str

    @property
    def rate(self) -> str:
        """As the study has it."""
        return str(self.point.values[RATE])

    def row(self) -> dict[str, Any]:
        """As data of a figure."""
        return {
            "candidate": self.candidate, "rate": self.rate, "asked": self.asked,
            "achieved": self.achieved, **self.latency_s, "state": self.state,
        }  # fmt: skip


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each rate of each candidate."""
    context = page.context
    shows = (
        *(each for each in context.factor_shows if each.column != RATE),
        Show("candidate", "Candidate"), Show("rate", "Rate"), *_numbers(),
    )  # fmt: skip
    rows = [
        {key: value for key, value in context.factor_values(place.point).items() if key != RATE}
        | place.row()
        for _, places in _groups(context)
        for place in places
    ]
    words = (*(each for each in context.factors if each != RATE), "candidate", "rate", "state")
    types: dict[str, Any] = dict.fromkeys(words, pl.String)
    numbers = dict.fromkeys(("asked", "achieved", *PERCENTILES), pl.Float64)
    order = [show.column for show in shows]
    yield PageTable(NAME, TITLE, shows, pl.DataFrame(rows, schema=types | numbers).select(order))


def _numbers() -> tuple[Show, ...]:
    return (
        Show("asked", "Asked (1/s)", "count"), Show("achieved", "Achieved (1/s)", "count"),
        *(Show(name, name, "duration") for name in PERCENTILES), Show("state", "State"),
    )  # fmt: skip


def draw(page: Page) -> Iterator[Drawn]:
    """A figure for each pattern and setting of what else varies."""
    drawn = (_figure(page.context, rest, places) for rest, places in _groups(page.context))
    for _, figure in zip(range(FIGURES_MOST), drawn, strict=False):
        yield figure


def _groups(context: Context) -> Iterator[tuple[Point, list[_Place]]]:
    """By all factors but the rate, those that have several rates."""
    evidence = context.evidence
    groups: dict[Point, list[Point]] = {}
    for point in evidence.points:
        if RATE in point.values:
            rest = Point(tuple(each for each in point.factors if each[0] != RATE))
            groups.setdefault(rest, []).append(point)
    for rest, points in groups.items():
        rising = sorted(points, key=lambda each: amount(each.values[RATE]))
        places = [
            place
            for name in evidence.candidates
            for point in rising
            if (place := _place(context, name, point)) is not None
        ]
        if len({place.point for place in places}) > 1:
            yield rest, places


def _place(context: Context, candidate: str, point: Point) -> _Place | None:
    evidence = context.evidence
    found = {name: evidence.level_of(candidate, point, Quantity(f"fio.{name}"))
             for name in ("iops", *PERCENTILES)}  # fmt: skip
    achieved = found.pop("iops")
    if not achieved or found["p50"] is None:
        return None
    flags = {each.flag for window in evidence.valid_at(candidate, point) for each in window.reasons}
    state = "saturated" if SATURATED in flags else "requests late" if LATE in flags else ""
    if point.values[RATE] == MAXIMUM:
        state = "closed loop"
    asked = evidence.level_of(candidate, point, Quantity("fio.asked_iops"))
    return _Place(candidate, point, asked, achieved, found, state)


def _figure(context: Context, rest: Point, places: list[_Place]) -> Figure:
    title = f"{rest.brief}: {_finding(places)}"
    slug = rest.slug
    drawing = Drawing()
    return Figure(
        name=f"{NAME}-{slug}",
        title=title,
        caption="Median (left) and 99th percentile (right) of latency against the achieved rate; "
        "both vertical axes are logarithmic. A line joins the rates of a candidate in ascending "
        "order of what was asked. Hollow marks are saturated rates; diamonds are the "
        "closed loop as fast as it goes. Marks further down and to the right are better.",
        description=f"{title}. Two charts of latency against achieved requests per second, a line "
        f"for each candidate: {', '.join(context.evidence.candidates)}.",
        footer=context.footer,
        spec=drawing.spec(_chart(context, drawing, places)),
        table=PageTable(
            f"{NAME}-{slug}", title,
            (Show("candidate", "candidate"), Show("rate", "rate"), *_numbers()),
            pl.DataFrame([each.row() for each in places], infer_schema_length=None),
        ),
    )  # fmt: skip


def _finding(places: list[_Place]) -> str:
    """The highest rate of each candidate, and what it costs."""
    names = dict.fromkeys(each.candidate for each in places)
    paced = [each for each in places if each.state not in ("saturated", "closed loop")] or places
    best = [
        max((each for each in paced if each.candidate == name), key=_achieved)
        for name in names
        if any(each.candidate == name for each in paced)
    ]
    each = named(
        best,
        _achieved,
        _said,
    )
    return f"highest rate without saturation {each}"


def _said(place: _Place) -> str:
    name, latency_s = next((n, s) for n, s in reversed(place.latency_s.items()) if s is not None)
    return f"{count(place.achieved)}/s on {place.candidate} ({name} {took(latency_s)})"


def _achieved(place: _Place) -> float:
    return place.achieved


def _chart(context: Context, drawing: Drawing, places: list[_Place]) -> Spec:
    rows = [
        {**each.row(), **{name: s and s * MS_PER_S for name, s in each.latency_s.items()},
         "order": amount(each.point.values[RATE])}
        for each in places
    ]  # fmt: skip
    values = [{"value": row[name]} for row in rows for name in PERCENTILES]
    domain = domain_of(values, log=True)
    return beside([_panel(context, drawing, rows, name, domain) for name in PERCENTILES])


def _panel(
    context: Context, drawing: Drawing, rows: Rows, name: str, domain: tuple[float, float]
) -> Spec:
    own = [
        {**{key: row[key] for key in ("candidate", "rate", "achieved", "state", "order")},
         "value": row[name]}
        for row in rows
        if row[name] is not None
    ]  # fmt: skip
    y = value_axis(Axis(f"{name} of latency (ms)", log=True), domain)
    most = domain_of([{"value": row["achieved"]} for row in own], log=False)
    x = alt.X(
        "achieved:Q", title="Achieved requests per second",
        scale=alt.Scale(domain=list(most), nice=False), axis=alt.Axis(format=NUMBERS, tickCount=5),
    )  # fmt: skip
    channels = candidate_channels(context)
    dash = channels.pop("strokeDash")
    paced = [row for row in own if row["rate"] != MAXIMUM]
    line = alt.Chart(drawing.add(paced)).mark_line(strokeWidth=2)
    joined = line.encode(
        x=x, y=y, color=channels["color"], strokeDash=dash, order=alt.Order("order:Q"),
        opacity=picked(),
    )  # fmt: skip
    layers = [unit(joined), *_marks(drawing, own, x, y, channels)]
    return layer(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _marks(
    drawing: Drawing, rows: Rows, x: alt.X, y: alt.Y, channels: dict[str, Any]
) -> Iterator[Spec]:
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("rate:N"), alt.Tooltip("state:N"),
        alt.Tooltip("achieved:Q", title="achieved (1/s)", format=",.0f"),
        alt.Tooltip("value:Q", title="latency (ms)", format=",.4~g"),
    ]  # fmt: skip
    hollow = {"filled": False, "fill": palette.PAPER[0], "size": 70, "strokeWidth": 1.5}
    for is_saturated, look in ((False, {"filled": True, "size": 60}), (True, hollow)):
        mine = [row for row in rows if row["rate"] != MAXIMUM
                and (row["state"] == "saturated") is is_saturated]  # fmt: skip
        if mine:
            chart = alt.Chart(drawing.add(mine)).mark_point(**look)
            marks = unit(chart.encode(x=x, y=y, tooltip=tips, **channels, opacity=picked()))
            yield marks if is_saturated else drawing.followed(marks)
    if closed := [row for row in rows if row["rate"] == MAXIMUM]:
        chart = alt.Chart(drawing.add(closed)).mark_point(shape="diamond", size=110, filled=True)
        own = {"color": channels["color"], "opacity": picked()}
        yield unit(chart.encode(x=x, y=y, tooltip=tips, **own))


def sections(page: Page) -> Iterator[Section]:
    """Where a study has rates."""
    if not page.tables[NAME].frame.is_empty():
        yield Section(NAME, 24, TITLE, tuple(_blocks(page)))


def _blocks(page: Page) -> Iterator[Block]:
    yield from figures(page.drawn_in(NAME))
    yield from grid(page.tables[NAME])
    yield from paragraph(NOTE, page.context.footer + ".", style="note")
