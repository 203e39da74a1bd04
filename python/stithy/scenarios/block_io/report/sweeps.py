"""What the shape of requests costs: IOPS, bandwidth, latency; what each of several volumes did.

A sweep is a key of block I/O with several values in `vary`: block size, queue depth, threads, share
of reads. Each pattern is a figure of its own, since their values differ by orders of magnitude.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import altair as alt
import polars as pl

from stithy.metrics import ALL, BEYOND_LEAST, Quantity
from stithy.point import Point, Value, format_value, measure_magnitude
from stithy.report.blocks import Figure, SectionKind, set_paragraph
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import Axis, draw_joined_points, find_domain, make_value_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_beside
from stithy.report.drawing.points import group_points
from stithy.report.drawing.titles import count_missing, name_each
from stithy.report.page import Page
from stithy.report.tables import KINDS, PageTable, Show, make_table
from stithy.report.words.wording import format_count
from stithy.results.tables import Row
from stithy.units import format_list

NAME = "sweeps"
TITLE = "Sweeps"
NOTE = (
    "Each pattern and setting of what else varies is a sweep. IOPS and bandwidth are means of "
    "valid windows, and percentiles are of their merged histograms; one of too few values is left "
    "out."
)
BYTES_PER_MIB = 2**20
KEYS = {
    f"scenario.block-io.{key}": noun
    for key, noun in (
        ("block_size", "block size"), ("queue_depth", "queue depth"), ("threads", "threads"),
        ("read_share", "share of reads"), ("workers", "workers"), ("volumes", "volumes"),
    )
}  # fmt: skip
"""What a sweep is of, and what it is called."""

SHOWN = {
    "iops": (Axis("Requests per second"), 1.0),
    "bytes_per_s": (Axis("Bandwidth (MiB/s)"), 1 / BYTES_PER_MIB),
    "p99": (Axis("p99 of latency (ms)", log=True), MS_PER_S),
}  # fmt: skip
"""A panel for each metric of fio, and by what its values are multiplied."""

VALUES_LEAST = 2
PANEL_WIDTH, PANEL_HEIGHT = 200, 230
FIGURES_MOST = 12
"""Own: more are in the table only."""


@dataclass(frozen=True)
class _SweepPlace:
    """A candidate at a value of the sweep; a percentile of too few values is None."""

    candidate: str
    point: Point
    value: Value
    found: dict[str, float | None]


@dataclass(frozen=True)
class _Sweep:
    """The places of a key, where all else is as in `rest`; so many others have no value."""

    key: str
    rest: Point
    places: tuple[_SweepPlace, ...]
    missing: int

    @property
    def noun(self) -> str:
        return KEYS[self.key]

    @property
    def values(self) -> list[Value]:
        return sorted({place.value for place in self.places}, key=_read_amount)


def _read_amount(value: Value) -> float:
    return measure_magnitude(value) or 0.0


def _make_sweeps_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = (
        Show("sweep", "Sweep of"),
        *context.factor_shows,
        Show("candidate", "Candidate"),
        *_list_numbers(),
    )
    rows = [
        {"sweep": sweep.noun, **context.list_factor_values(place.point),
         "candidate": place.candidate,
         **place.found}
        for sweep in _group_sweeps(context)
        for place in sweep.places
    ]  # fmt: skip
    yield make_table(NAME, TITLE, shows, rows, **REAL)


REAL = dict.fromkeys(SHOWN, pl.Float64)


def _list_numbers() -> Iterator[Show]:
    for name in SHOWN:
        known = Quantity(f"fio.{name}").known
        yield Show(name, known.label, "count" if name == "iops" else KINDS[known.unit])


def _group_sweeps(context: Context) -> Iterator[_Sweep]:
    for key in KEYS:
        for rest, points in group_points(key, context.evidence.points).items():
            rising = sorted(points, key=lambda each: _read_amount(each.values[key]))
            places = tuple(_list_places(context, key, rising))
            missing = len(rising) * len(context.evidence.candidates) - len(places)
            sweep = _Sweep(key, rest, places, missing)
            if len(sweep.values) >= VALUES_LEAST and None not in map(
                measure_magnitude, sweep.values
            ):
                yield sweep


def _list_places(context: Context, key: str, points: list[Point]) -> Iterator[_SweepPlace]:
    evidence = context.evidence
    for name in evidence.candidates:
        for point in points:
            found = {
                each: evidence.level_of(name, point, Quantity(f"fio.{each}")) for each in SHOWN
            }
            if found["iops"] is not None:
                yield _SweepPlace(name, point, point.values[key], found)


def _draw_figure(context: Context, sweep: _Sweep) -> Figure:
    name = f"{NAME}-{sweep.noun.replace(' ', '-')}-{sweep.rest.slug}".rstrip("-")
    where = f"{sweep.rest.brief}: " if sweep.rest.factors else ""
    title = f"{where}{_describe_finding(sweep)}"
    names = list(dict.fromkeys(each.candidate for each in sweep.places))
    drawing, rows = Drawing(), _make_rows(sweep)
    panels = [each for each in SHOWN if any(row[each] is not None for row in rows)]
    shows = (Show("value", sweep.noun), Show("candidate", "candidate"), *_list_numbers())
    numbers = [{"value": format_value(place.value), "candidate": place.candidate, **place.found}
               for place in sweep.places]  # fmt: skip
    return drawing.figure(
        context, name, title,
        place_beside([_draw_panel(context, drawing, sweep, rows, panel) for panel in panels]),
        make_table(name, title, shows, numbers, **REAL),
        caption=f"Requests per second, bandwidth and the 99th percentile of latency against "
        f"{sweep.noun}. A line joins the values of a candidate; the axis of latency is "
        "logarithmic.",
        description=f"Charts against {sweep.noun}, a line for each candidate: "
        f"{format_list(names)}.",
    )  # fmt: skip


def _describe_finding(sweep: _Sweep) -> str:
    """Where each candidate did the most requests; a description, and no comparison."""
    names = dict.fromkeys(each.candidate for each in sweep.places)
    best = [max((p for p in sweep.places if p.candidate == name), key=_get_iops) for name in names]
    each = name_each(
        best, _get_iops,
        lambda at: (
            f"{format_count(_get_iops(at))}/s on {at.candidate} (at {format_value(at.value)})"
        ),
    )  # fmt: skip
    return f"by {sweep.noun}, the most requests were {each}{count_missing(sweep.missing)}"


def _get_iops(place: _SweepPlace) -> float:
    return place.found["iops"] or 0.0


def _make_rows(sweep: _Sweep) -> Rows:
    return [
        {
            "candidate": place.candidate, "setting": format_value(place.value),
            "at": _read_amount(place.value),
            **{name: None if (value := place.found[name]) is None else value * scale
               for name, (_, scale) in SHOWN.items()},
        }
        for place in sweep.places
    ]  # fmt: skip


def _draw_panel(context: Context, drawing: Drawing, sweep: _Sweep, rows: Rows, name: str) -> Spec:
    axis, _ = SHOWN[name]
    own = [
        {**{key: row[key] for key in ("candidate", "setting", "at")}, "value": row[name]}
        for row in rows
        if row[name] is not None
    ]
    y = make_value_axis(axis, find_domain(own, axis.log))
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("setting:N", title=sweep.noun),
        alt.Tooltip("value:Q", title=axis.title, format=",.4~g"),
    ]  # fmt: skip
    at = {"x": _make_axis(sweep), "y": y, "order": alt.Order("at:Q")}
    layers = draw_joined_points(context, drawing, own, at, tips, size=60)
    return merge_layers(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _make_axis(sweep: _Sweep) -> alt.X:
    """A tick at each value, labelled as the study has it: shares as they are, else logarithmic."""
    at = {value: _read_amount(value) for value in sweep.values}
    low, high = min(at.values()), max(at.values())
    log = low > 0 and sweep.noun != "share of reads"
    scale: dict[str, Any] = (
        {"type": "log", "base": 2, "domain": [low / 1.25, high * 1.25]}
        if log
        else {"type": "linear", "domain": [low, high], "padding": 8}
    )
    # As literals of JSON no value can become code.
    expression = "''"
    for value, place in at.items():
        near = f"abs(datum.value - {place!r}) <= {abs(place) * 1e-6!r}"
        expression = f"{near} ? {json.dumps(format_value(value))} : {expression}"
    return alt.X(
        "at:Q", title=sweep.noun.capitalize(), scale=alt.Scale(**scale, nice=False),
        axis=alt.Axis(
            values=list(at.values()), grid=False, labelOverlap="greedy", labelExpr=expression
        ),
    )  # fmt: skip


VOLUMES_TITLE = "Each volume by itself"
VOLUMES_NOTE = (
    "One window of each candidate at each point, the first valid one; reads and writes together. "
    "The volumes worked at once. Operations apart, and all windows, are in the table `io_volumes` "
    "of each window."
)
ROWS_MOST = 200
"""Own: more are in the results only."""

P99_BEYOND = 0.01


def _make_volumes_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"), Show("volume", "Volume"),
        Show("iops", "IOPS", "count"), Show("bytes_per_s", "Bandwidth", "bandwidth"),
        Show("mean_s", "Mean", "duration"), Show("p99_s", "p99", "duration"),
    )  # fmt: skip
    rows = [
        {**context.list_factor_values(point), "candidate": name, **_hide_rare(row)}
        for point, name, row in _list_volumes(context)
    ]
    yield make_table("volumes", VOLUMES_TITLE, shows, rows[:ROWS_MOST], iops=pl.Float64)


def _list_volumes(context: Context) -> Iterator[tuple[Point, str, Row]]:
    evidence = context.evidence
    for point in evidence.points:
        for name in evidence.candidates:
            for window in evidence.valid_at(name, point)[:1]:
                rows = context.run.detail("io_volumes", window.id).to_dicts()
                yield from ((point, name, row) for row in rows if row["operation"] == ALL)


def _hide_rare(row: Row) -> Row:
    is_known = row["requests"] * P99_BEYOND >= BEYOND_LEAST
    return {
        **{key: row[key] for key in ("volume", "iops", "bytes_per_s", "mean_s")},
        "p99_s": row["p99_s"] if is_known else None,
    }


def _describe_spread(context: Context) -> Iterator[str]:
    """How far the volumes of a candidate lie apart, where the question is asked, else at last."""
    evidence = context.evidence
    asked = evidence.primary.point or evidence.points[-1]
    found: dict[str, list[float]] = {}
    for point, name, row in _list_volumes(context):
        if point == asked:
            found.setdefault(name, []).append(row["iops"])
    each = [
        f"{format_count(min(iops))} to {format_count(max(iops))} on {name}"
        for name, iops in found.items()
    ]
    yield (
        f"IOPS of a volume at {asked.brief}: {format_list(each)}." if each else f"{VOLUMES_TITLE}."
    )


PLUGINS = (
    SectionKind(
        NAME, 24, TITLE, lambda page: page.set_usual(NAME, NOTE, page.context.footer + "."),
        make_tables=_make_sweeps_tables,
        draw_figures=lambda page: [
            _draw_figure(page.context, sweep)
            for sweep in islice(_group_sweeps(page.context), FIGURES_MOST)
        ],
        needs_tables=("io_seconds",),
    ),
    SectionKind(
        "volumes", 25, VOLUMES_TITLE, lambda page: page.set_usual(
            "volumes", VOLUMES_NOTE, page.context.footer + ".",
            above=chain.from_iterable(map(set_paragraph, _describe_spread(page.context))),
        ), make_tables=_make_volumes_tables,
        needs_tables=("io_seconds",),
    ),
)  # fmt: skip
