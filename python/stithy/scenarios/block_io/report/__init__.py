"""What block I/O shows in the report: rates, sweeps, reads beside writes, volumes, seconds."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import altair as alt
import polars as pl

from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Figure, SectionKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import (
    NUMBERS,
    Axis,
    draw_joined,
    find_domain,
    make_candidate_channels,
    make_value_axis,
    make_x_axis,
    show_picked,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_beside
from stithy.report.drawing.points import group_points
from stithy.report.drawing.titles import count_missing, name_each
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import format_count
from stithy.scenarios.block_io.judge import LATE, SATURATED
from stithy.scenarios.block_io.report import reads_writes, seconds, sweeps
from stithy.scenarios.block_io.values import MAXIMUM, RATE, convert_to_amount
from stithy.units import format_list, format_measured_duration

NAME = "rates"
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
class _RatePlace:
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
        return str(self.point.values[RATE])

    def row(self) -> dict[str, Any]:
        return {
            "candidate": self.candidate, "rate": self.rate, "asked": self.asked,
            "achieved": self.achieved, **self.latency_s, "state": self.state,
        }  # fmt: skip


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = (
        *(show for show in context.factor_shows if show.column != RATE),
        Show("candidate", "Candidate"), Show("rate", "Rate"), *_list_numbers(),
    )  # fmt: skip
    rows = [
        {
            key: value
            for key, value in context.list_factor_values(place.point).items()
            if key != RATE
        }
        | place.row()
        for _, places, _ in _group_points(context)
        for place in places
    ]
    yield make_table(NAME, TITLE, shows, rows, **REAL)


REAL = dict.fromkeys(("asked", "achieved"), pl.Float64)


def _list_numbers() -> tuple[Show, ...]:
    return (
        Show("asked", "Asked (1/s)", "count"), Show("achieved", "Achieved (1/s)", "count"),
        *(Show(name, name, "duration") for name in PERCENTILES), Show("state", "State"),
    )  # fmt: skip


def _group_points(context: Context) -> Iterator[tuple[Point, list[_RatePlace], int]]:
    """By all factors but the rate, those that have several rates, and how many have no value."""
    evidence = context.evidence
    for rest, points in group_points(RATE, evidence.points).items():
        rising = sorted(points, key=lambda each: convert_to_amount(each.values[RATE]))
        places = [
            place
            for name in evidence.candidates
            for point in rising
            if (place := _place(context, name, point)) is not None
        ]
        if len({place.point for place in places}) > 1:
            yield rest, places, len(rising) * len(evidence.candidates) - len(places)


def _place(context: Context, candidate: str, point: Point) -> _RatePlace | None:
    evidence = context.evidence
    found = {name: evidence.level_of(candidate, point, Quantity(f"fio.{name}"))
             for name in ("iops", *PERCENTILES)}  # fmt: skip
    achieved = found.pop("iops")
    if not achieved or found["p50"] is None:
        return None
    flags = {
        reason.flag for window in evidence.valid_at(candidate, point) for reason in window.reasons
    }
    state = "saturated" if SATURATED in flags else "requests late" if LATE in flags else ""
    if point.values[RATE] == MAXIMUM:
        state = "closed loop"
    asked = evidence.level_of(candidate, point, Quantity("fio.asked_iops"))
    return _RatePlace(candidate, point, asked, achieved, found, state)


def _draw_group(context: Context, rest: Point, places: list[_RatePlace], missing: int) -> Figure:
    name = f"{NAME}-{rest.slug}"
    title = f"{rest.brief}: {_describe_finding(places)}{count_missing(missing)}"
    drawing = Drawing()
    shows = (Show("candidate", "candidate"), Show("rate", "rate"), *_list_numbers())
    return drawing.figure(
        context, name, title, _draw_chart(context, drawing, places),
        make_table(name, title, shows, (place.row() for place in places), **REAL),
        caption="Median (left) and 99th percentile (right) of latency against the achieved rate; "
        "both vertical axes are logarithmic. A line joins the rates of a candidate in ascending "
        "order of what was asked. Hollow marks are saturated rates; diamonds are the "
        "closed loop as fast as it goes. Marks further down and to the right are better.",
        description="Two charts of latency against achieved requests per second, a line "
        f"for each candidate: {', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _describe_finding(places: list[_RatePlace]) -> str:
    """The highest rate of each candidate that was kept, and what it costs; else what `max` did."""
    kept = _find_best([each for each in places if each.state not in ("saturated", "closed loop")])
    lacking = [place.candidate for place in places if place.state == "saturated"]
    lacking = [name for name in dict.fromkeys(lacking) if name not in kept]
    if kept:
        none = f", none on {format_list(lacking)}" if lacking else ""
        return (
            "highest rate without saturation "
            f"{name_each([*kept.values()], _get_achieved, _describe_place)}{none}"
        )
    closed = _find_best([each for each in places if each.state == "closed loop"])
    most = (
        f"; as fast as it goes {name_each([*closed.values()], _get_achieved, _describe_place)}"
        if closed
        else ""
    )
    return f"every rate was saturated{most}"


def _find_best(places: list[_RatePlace]) -> dict[str, _RatePlace]:
    names = dict.fromkeys(place.candidate for place in places)
    return {
        name: max((each for each in places if each.candidate == name), key=_get_achieved)
        for name in names
    }


def _describe_place(place: _RatePlace) -> str:
    name, latency_s = next((n, s) for n, s in reversed(place.latency_s.items()) if s is not None)
    return (
        f"{format_count(place.achieved)}/s on {place.candidate} ({name} "
        f"{format_measured_duration(latency_s)})"
    )


def _get_achieved(place: _RatePlace) -> float:
    return place.achieved


def _draw_chart(context: Context, drawing: Drawing, places: list[_RatePlace]) -> Spec:
    rows = [
        {**place.row(), **{name: s and s * MS_PER_S for name, s in place.latency_s.items()},
         "order": convert_to_amount(place.point.values[RATE])}
        for place in places
    ]  # fmt: skip
    values = [{"value": row[name]} for row in rows for name in PERCENTILES]
    domain = find_domain(values, log=True)
    return place_beside([_draw_panel(context, drawing, rows, name, domain) for name in PERCENTILES])


def _draw_panel(
    context: Context, drawing: Drawing, rows: Rows, name: str, domain: tuple[float, float]
) -> Spec:
    own = [
        {**{key: row[key] for key in ("candidate", "rate", "achieved", "state", "order")},
         "value": row[name]}
        for row in rows
        if row[name] is not None
    ]  # fmt: skip
    y = make_value_axis(Axis(f"{name} of latency (ms)", log=True), domain)
    most = find_domain([{"value": row["achieved"]} for row in own], log=False)
    x = make_x_axis("achieved", "Achieved requests per second", most, format=NUMBERS, tickCount=5)
    paced = [row for row in own if row["rate"] != MAXIMUM]
    line = draw_joined(context, drawing, paced, {"x": x, "y": y, "order": alt.Order("order:Q")})
    channels = {"x": x, "y": y, **make_candidate_channels(context), "opacity": show_picked()}
    layers = [line, *_draw_marks(drawing, own, channels)]
    return merge_layers(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _draw_marks(drawing: Drawing, rows: Rows, channels: dict[str, Any]) -> Iterator[Spec]:
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
            marks = drawing.mark("point", mine, {**channels, "tooltip": tips}, **look)
            yield marks if is_saturated else drawing.follow(marks)
    if closed := [row for row in rows if row["rate"] == MAXIMUM]:
        own = {name: channels[name] for name in ("x", "y", "color", "opacity")}
        look = {"shape": "diamond", "size": 110, "filled": True}
        yield drawing.mark("point", closed, {**own, "tooltip": tips}, **look)


PLUGINS = (
    SectionKind(
        NAME, 24, TITLE, lambda page: page.set_usual(NAME, NOTE, page.context.footer + "."),
        make_tables=_make_tables, needs_tables=("io_seconds",),
        draw_figures=lambda page: [
            _draw_group(page.context, *group)
            for group in islice(_group_points(page.context), FIGURES_MOST)
        ],
    ),
    *seconds.PLUGINS, *reads_writes.PLUGINS, *sweeps.PLUGINS,
)  # fmt: skip
