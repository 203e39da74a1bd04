"""What the shape of requests costs: IOPS, bandwidth and latency against what a study varies of it.

A sweep is a key of block I/O with several values in `vary`: block size, queue depth, threads, share
of reads. Each pattern is a figure of its own, since their values differ by orders of magnitude.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import altair as alt
import polars as pl

from stithy.metrics import Quantity
from stithy.point import Point, Value, format_value, measure_magnitude
from stithy.report.blocks import Section
from stithy.report.context import Context
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import Axis, domain_of, joined_points, value_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, beside, layer
from stithy.report.drawing.points import groups_but
from stithy.report.drawing.titles import named, without_value
from stithy.report.figure import Drawn, Figure
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import KINDS, PageTable, Show, table_of
from stithy.report.words.wording import count, listing

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
        """What is swept."""
        return KEYS[self.key]

    @property
    def values(self) -> list[Value]:
        """In rising order."""
        return sorted({each.value for each in self.places}, key=_amount)


def _amount(value: Value) -> float:
    return measure_magnitude(value) or 0.0


class SweepsSection(SectionKind):
    """What the shape of requests costs."""

    name = NAME
    needs_tables = ("io_seconds",)

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """A row for each value of each candidate."""
        context = page.context
        shows = (
            Show("sweep", "Sweep of"),
            *context.factor_shows,
            Show("candidate", "Candidate"),
            *_numbers(),
        )
        rows = [
            {"sweep": sweep.noun, **context.factor_values(each.point), "candidate": each.candidate,
             **each.found}
            for sweep in _group_sweeps(context)
            for each in sweep.places
        ]  # fmt: skip
        yield table_of(self.name, TITLE, shows, rows, **REAL)

    def draw_figures(self, page: Page) -> Iterator[Drawn]:
        """A figure for each sweep."""
        for sweep in islice(_group_sweeps(page.context), FIGURES_MOST):
            yield _figure(page.context, sweep)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where a study sweeps."""
        return page.section(self.name, 24, TITLE, NOTE, page.context.footer + ".")


REAL = dict.fromkeys(SHOWN, pl.Float64)


def _numbers() -> Iterator[Show]:
    for name in SHOWN:
        known = Quantity(f"fio.{name}").known
        yield Show(name, known.label, "count" if name == "iops" else KINDS[known.unit])


def _group_sweeps(context: Context) -> Iterator[_Sweep]:
    for key in KEYS:
        for rest, points in groups_but(key, context.evidence.points).items():
            rising = sorted(points, key=lambda each: _amount(each.values[key]))
            places = tuple(_places(context, key, rising))
            missing = len(rising) * len(context.evidence.candidates) - len(places)
            sweep = _Sweep(key, rest, places, missing)
            if len(sweep.values) >= VALUES_LEAST and None not in map(
                measure_magnitude, sweep.values
            ):
                yield sweep


def _places(context: Context, key: str, points: list[Point]) -> Iterator[_SweepPlace]:
    evidence = context.evidence
    for name in evidence.candidates:
        for point in points:
            found = {
                each: evidence.level_of(name, point, Quantity(f"fio.{each}")) for each in SHOWN
            }
            if found["iops"] is not None:
                yield _SweepPlace(name, point, point.values[key], found)


def _figure(context: Context, sweep: _Sweep) -> Figure:
    name = f"{NAME}-{sweep.noun.replace(' ', '-')}-{sweep.rest.slug}".rstrip("-")
    where = f"{sweep.rest.brief}: " if sweep.rest.factors else ""
    title = f"{where}{_describe_finding(sweep)}"
    names = list(dict.fromkeys(each.candidate for each in sweep.places))
    drawing, rows = Drawing(), _make_rows(sweep)
    panels = [each for each in SHOWN if any(row[each] is not None for row in rows)]
    shows = (Show("value", sweep.noun), Show("candidate", "candidate"), *_numbers())
    numbers = [{"value": format_value(each.value), "candidate": each.candidate, **each.found}
               for each in sweep.places]  # fmt: skip
    return drawing.figure(
        context, name, title,
        beside([_panel(context, drawing, sweep, rows, each) for each in panels]),
        table_of(name, title, shows, numbers, **REAL),
        caption=f"Requests per second, bandwidth and the 99th percentile of latency against "
        f"{sweep.noun}. A line joins the values of a candidate; the axis of latency is "
        "logarithmic.",
        description=f"Charts against {sweep.noun}, a line for each candidate: "
        f"{listing(names)}.",
    )  # fmt: skip


def _describe_finding(sweep: _Sweep) -> str:
    """Where each candidate did the most requests; a description, and no comparison."""
    names = dict.fromkeys(each.candidate for each in sweep.places)
    best = [max((p for p in sweep.places if p.candidate == name), key=_iops) for name in names]
    each = named(
        best, _iops,
        lambda place: (
            f"{count(_iops(place))}/s on {place.candidate} (at {format_value(place.value)})"
        ),
    )  # fmt: skip
    return f"by {sweep.noun}, the most requests were {each}{without_value(sweep.missing)}"


def _iops(place: _SweepPlace) -> float:
    return place.found["iops"] or 0.0


def _make_rows(sweep: _Sweep) -> Rows:
    return [
        {
            "candidate": each.candidate, "setting": format_value(each.value),
            "at": _amount(each.value),
            **{name: None if (value := each.found[name]) is None else value * scale
               for name, (_, scale) in SHOWN.items()},
        }
        for each in sweep.places
    ]  # fmt: skip


def _panel(context: Context, drawing: Drawing, sweep: _Sweep, rows: Rows, name: str) -> Spec:
    axis, _ = SHOWN[name]
    own = [
        {**{key: row[key] for key in ("candidate", "setting", "at")}, "value": row[name]}
        for row in rows
        if row[name] is not None
    ]
    y = value_axis(axis, domain_of(own, axis.log))
    tips = [
        alt.Tooltip("candidate:N"), alt.Tooltip("setting:N", title=sweep.noun),
        alt.Tooltip("value:Q", title=axis.title, format=",.4~g"),
    ]  # fmt: skip
    at = {"x": _make_axis(sweep), "y": y, "order": alt.Order("at:Q")}
    layers = joined_points(context, drawing, own, at, tips, size=60)
    return layer(layers, width=PANEL_WIDTH, height=PANEL_HEIGHT)


def _make_axis(sweep: _Sweep) -> alt.X:
    """A tick at each value, labelled as the study has it: shares as they are, else logarithmic."""
    at = {value: _amount(value) for value in sweep.values}
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


PLUGINS = (SweepsSection(),)
