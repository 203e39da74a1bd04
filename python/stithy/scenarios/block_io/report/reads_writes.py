"""How writes hurt reads: a percentile of reads at each rate, beside each bandwidth of writes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import altair as alt
import polars as pl

from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Drawn, Figure, SectionKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers
from stithy.report.drawing.compose import place_in_grid as panels
from stithy.report.drawing.points import drop_factor, group_points
from stithy.report.drawing.titles import name_each
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.scenarios.block_io.judge import SATURATED
from stithy.units import format_measured_duration, parse_rate, parse_size

NAME = "reads-beside-writes"
TITLE = "How writes hurt reads"
READS, WRITES = "scenario.block-io.read_rate", "scenario.block-io.write_bandwidth"
BOTH = frozenset({READS, WRITES})
IOPS = Quantity("fio.iops", "read")
WRITTEN = Quantity("fio.bytes_per_s", "write")
PERCENTILES = ("p99", "p95", "p50")
"""The first is shown that every measured cell has enough reads for."""

NOTE = (
    "Reads come at random moments, whether or not earlier ones were answered; writes are "
    "sequential. Where fewer requests were achieved than asked, the storage was saturated: that "
    "latency grows with the length of the measurement."
)
CELL_WIDTH, CELL_HEIGHT, COLUMNS = 74, 30, 2
FIGURES_MOST = 12
"""Own: more are in the table only."""


@dataclass(frozen=True)
class _RateCell:
    """A candidate at one rate of reads and one bandwidth of writes; None: no valid window."""

    candidate: str
    point: Point
    latencies_s: dict[str, float | None]
    reads_per_s: float | None
    written_bytes_per_s: float | None
    saturated: bool

    def text(self, percentile: str) -> str:
        known = self.latencies_s[percentile]
        return (
            "–"
            if known is None
            else f"{format_measured_duration(known)}{' *' if self.saturated else ''}"
        )

    @property
    def reads(self) -> str:
        return str(self.point.values[READS])

    @property
    def writes(self) -> str:
        return str(self.point.values[WRITES])


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shows = tuple(show for show in context.factor_shows if show.column not in BOTH)
    cells = [cell for of in _group_points(context).values() for cell in of]
    yield _list_cells(context, cells, shows)


def _draw_figures(page: Page) -> Iterator[Drawn]:
    groups = _group_points(page.context)
    for rest, cells in islice(groups.items(), FIGURES_MOST):
        name = f"{NAME}-{rest.slug}" if len(groups) > 1 else NAME
        where = f"{rest.brief}: " if len(groups) > 1 else ""
        if (percentile := _choose_percentile(cells)) is not None:
            yield _draw_figure(page.context, name, where, cells, percentile)


def _list_cells(
    context: Context, cells: Sequence[_RateCell], factors: tuple[Show, ...] = ()
) -> PageTable:
    """`factors`: the columns of what else varies between these cells."""
    rows = [
        {
            **{of.column: context.list_factor_values(cell.point)[of.column] for of in factors},
            "candidate": cell.candidate, "reads": cell.reads, "writes": cell.writes,
            **cell.latencies_s, "reads_per_s": cell.reads_per_s,
            "written": cell.written_bytes_per_s,
            "state": "saturated" if cell.saturated else "",
        }
        for cell in cells
    ]  # fmt: skip
    shows = (
        *factors, Show("candidate", "Candidate"), Show("reads", "Reads asked"),
        Show("writes", "Writes asked (per s)"),
        *(Show(each, f"{each} of reads", "duration") for each in PERCENTILES),
        Show("reads_per_s", "Reads (1/s)", "count"), Show("written", "Written (B/s)", "count"),
        Show("state", "State"),
    )  # fmt: skip
    real = dict.fromkeys(("reads_per_s", "written"), pl.Float64)
    return make_table(NAME, TITLE, shows, rows, **real)


def _group_points(context: Context) -> dict[Point, list[_RateCell]]:
    """Of all candidates, where both vary, by what else there is of a point.

    Each by candidate, by reads, then by writes, both rising.
    """
    evidence, found = context.evidence, dict[Point, list[Point]]()
    for some in group_points(READS, evidence.points).values():
        for rest, points in group_points(WRITES, some).items():
            found.setdefault(drop_factor(rest, READS), []).extend(points)
    return {
        rest: [
            _make_cell(context, name, point)
            for name in evidence.candidates
            for point in sorted(
                points, key=lambda at: (_read_amount(at, READS), _read_amount(at, WRITES))
            )
        ]
        for rest, points in found.items()
    }


def _read_amount(point: Point, factor: str) -> float:
    value = point.values[factor]
    parse = parse_rate if factor == READS else parse_size
    return float(parse(value)) if isinstance(value, str) else float(value)


def _choose_percentile(cells: Sequence[_RateCell]) -> str | None:
    measured = [cell for cell in cells if cell.reads_per_s]
    for name in PERCENTILES:
        if measured and all(each.latencies_s[name] is not None for each in measured):
            return name
    return None


def _make_cell(context: Context, name: str, point: Point) -> _RateCell:
    evidence = context.evidence
    reasons = [reason for window in evidence.valid_at(name, point) for reason in window.reasons]
    latencies = {
        each: evidence.level_of(name, point, Quantity(f"fio.{each}", "read"))
        for each in PERCENTILES
    }
    return _RateCell(
        name, point, latencies, evidence.level_of(name, point, IOPS),
        evidence.level_of(name, point, WRITTEN), any(each.flag == SATURATED for each in reasons),
    )  # fmt: skip


def _draw_figure(
    context: Context, name: str, where: str, cells: Sequence[_RateCell], percentile: str
) -> Figure:
    drawing, title = Drawing(), f"{where}{_describe_finding(cells, percentile)}"
    return drawing.figure(
        context, name, title, _draw_chart(context, drawing, cells, percentile),
        _list_cells(context, cells),
        caption=f"{percentile} of read latency at each rate of reads (rows) beside each "
        "bandwidth of writes (columns), a panel for each candidate with the same colours. "
        "* the storage was saturated. – no valid window.",
        description="Heat maps of write bandwidth against read rate, one for each "
        f"candidate: {', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _describe_finding(cells: Sequence[_RateCell], percentile: str) -> str:
    grown: dict[str, tuple[float, float]] = {}
    fewest, most = cells[0], cells[-1]
    for name in dict.fromkeys(cell.candidate for cell in cells):
        known = {
            (each.reads, each.writes): each.latencies_s[percentile]
            for each in cells
            if each.candidate == name and not each.saturated
        }
        alone = known.get((fewest.reads, fewest.writes))
        beside = known.get((fewest.reads, most.writes))
        if alone and beside:
            grown[name] = (alone, beside)
    if not grown:
        return f"{percentile} of reads beside writes"
    each = name_each(
        [*grown],
        lambda name: grown[name][1] / grown[name][0],
        lambda name: (
            f"from {format_measured_duration(grown[name][0])} to "
            f"{format_measured_duration(grown[name][1])} on {name}"
        ),
    )
    return (
        f"From {fewest.writes} to {most.writes} written per second, the {percentile} of "
        f"{fewest.reads} reads went {each}"
    )


def _draw_chart(
    context: Context, drawing: Drawing, cells: Sequence[_RateCell], percentile: str
) -> Spec:
    known = [cell.latencies_s[percentile] for cell in cells]
    bounds = _set_bounds([each * MS_PER_S for each in known if each])
    found = [
        _draw_panel(
            drawing, name, [_make_row(each, bounds, percentile) for each in cells
                            if each.candidate == name],
        )
        for name in context.evidence.candidates
    ]  # fmt: skip
    return panels(found, min(COLUMNS, len(found)))


def _set_bounds(values_ms: Sequence[float]) -> list[float]:
    low, high = math.log10(min(values_ms)), math.log10(max(values_ms))
    count = len(palette.HEAT_COLOURS)
    return [10 ** (low + (high - low) * step / count) for step in range(1, count)]


def _draw_panel(drawing: Drawing, name: str, rows: Rows) -> Spec:
    reads = list(dict.fromkeys(str(row["reads"]) for row in rows))
    writes = list(dict.fromkeys(str(row["writes"]) for row in rows))
    x = alt.X("writes:N", sort=writes, title="Writes per second", axis=alt.Axis(labelAngle=0))
    y = alt.Y("reads:N", sort=reads[::-1], title="Reads")
    colours = [light for light, _ in palette.HEAT_COLOURS]
    colour = alt.Color(
        "class:O", legend=None,
        scale=alt.Scale(domain=list(range(-1, len(colours))), range=[palette.GRID[0], *colours]),
    )  # fmt: skip
    tips = [
        alt.Tooltip("reads:N"), alt.Tooltip("writes:N"), alt.Tooltip("text:N", title="latency"),
        alt.Tooltip("achieved:Q", title="reads achieved (1/s)", format=",.0f"),
    ]  # fmt: skip
    squares = drawing.mark(
        "rect", rows, {"x": x, "y": y, "color": colour, "tooltip": tips},
        stroke=palette.PAPER[0], strokeWidth=2,
    )  # fmt: skip
    at = {"x": x, "y": y, "text": alt.Text("text:N")}
    texts = [
        drawing.mark("text", mine, at, fontSize=11, color=ink)
        for ink, mine in _split_by_ink(rows)
        if mine
    ]
    width, height = CELL_WIDTH * len(writes), CELL_HEIGHT * len(reads)
    return merge_layers([squares, *texts], width=width, height=height, title=name)


def _split_by_ink(rows: Rows) -> tuple[tuple[str, Rows], tuple[str, Rows]]:
    half = len(palette.HEAT_COLOURS) // 2
    return (
        (palette.INK[0], [row for row in rows if row["class"] < half]),
        (palette.PAPER[0], [row for row in rows if row["class"] >= half]),
    )


def _make_row(cell: _RateCell, bounds: Sequence[float], percentile: str) -> dict[str, Any]:
    known = cell.latencies_s[percentile]
    colour = -1 if known is None else sum(bound <= known * MS_PER_S for bound in bounds)
    return {
        "reads": cell.reads, "writes": cell.writes, "text": cell.text(percentile),
        "class": colour, "achieved": cell.reads_per_s,
    }  # fmt: skip


PLUGINS = (
    SectionKind(
        NAME, 24, TITLE, lambda page: page.set_usual(NAME, NOTE, page.context.footer + "."),
        make_tables=_make_tables, draw_figures=_draw_figures, needs_tables=("io_seconds",),
    ),
)  # fmt: skip
