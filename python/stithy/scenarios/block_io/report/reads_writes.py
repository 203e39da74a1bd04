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
from stithy.report.blocks import Section
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.compose import Drawing, Rows, Spec, layer
from stithy.report.drawing.compose import grid as panels
from stithy.report.drawing.points import groups_but, without
from stithy.report.drawing.titles import named
from stithy.report.figure import Drawn, Figure
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import took
from stithy.scenarios.block_io.judge import SATURATED
from stithy.units import parse_rate, parse_size

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
        """What stands in the cell."""
        known = self.latencies_s[percentile]
        return "–" if known is None else f"{took(known)}{' *' if self.saturated else ''}"

    @property
    def reads(self) -> str:
        """The rate of reads, as the study has it."""
        return str(self.point.values[READS])

    @property
    def writes(self) -> str:
        """The bandwidth of writes, as the study has it."""
        return str(self.point.values[WRITES])


class ReadsBesideWritesSection(SectionKind):
    """How writes hurt reads."""

    name = NAME
    needs_tables = ("io_seconds",)

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """A row for each cell."""
        context = page.context
        shows = tuple(each for each in context.factor_shows if each.column not in BOTH)
        cells = [cell for of in _group_points(context).values() for cell in of]
        yield _list_cells(context, cells, shows)

    def draw_figures(self, page: Page) -> Iterator[Drawn]:
        """A figure for each setting of what else varies."""
        groups = _group_points(page.context)
        for rest, cells in islice(groups.items(), FIGURES_MOST):
            name = f"{self.name}-{rest.slug}" if len(groups) > 1 else self.name
            where = f"{rest.brief}: " if len(groups) > 1 else ""
            if (percentile := _choose_percentile(cells)) is not None:
                yield _draw_figure(page.context, name, where, cells, percentile)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Where a study varies both."""
        return page.section(self.name, 24, TITLE, NOTE, page.context.footer + ".")


def _list_cells(
    context: Context, cells: Sequence[_RateCell], factors: tuple[Show, ...] = ()
) -> PageTable:
    """`factors`: the columns of what else varies between these cells."""
    rows = [
        {
            **{show.column: context.factor_values(each.point)[show.column] for show in factors},
            "candidate": each.candidate, "reads": each.reads, "writes": each.writes,
            **each.latencies_s, "reads_per_s": each.reads_per_s,
            "written": each.written_bytes_per_s,
            "state": "saturated" if each.saturated else "",
        }
        for each in cells
    ]  # fmt: skip
    shows = (
        *factors, Show("candidate", "Candidate"), Show("reads", "Reads asked"),
        Show("writes", "Writes asked (per s)"),
        *(Show(each, f"{each} of reads", "duration") for each in PERCENTILES),
        Show("reads_per_s", "Reads (1/s)", "count"), Show("written", "Written (B/s)", "count"),
        Show("state", "State"),
    )  # fmt: skip
    real = dict.fromkeys(("reads_per_s", "written"), pl.Float64)
    return table_of(NAME, TITLE, shows, rows, **real)


def _group_points(context: Context) -> dict[Point, list[_RateCell]]:
    """Of all candidates, where both vary, by what else there is of a point.

    Each by candidate, by reads, then by writes, both rising.
    """
    evidence, found = context.evidence, dict[Point, list[Point]]()
    for some in groups_but(READS, evidence.points).values():
        for rest, points in groups_but(WRITES, some).items():
            found.setdefault(without(rest, READS), []).extend(points)
    return {
        rest: [
            _cell(context, name, point)
            for name in evidence.candidates
            for point in sorted(points, key=lambda at: (_amount(at, READS), _amount(at, WRITES)))
        ]
        for rest, points in found.items()
    }


def _amount(point: Point, factor: str) -> float:
    value = point.values[factor]
    parse = parse_rate if factor == READS else parse_size
    return float(parse(value)) if isinstance(value, str) else float(value)


def _choose_percentile(cells: Sequence[_RateCell]) -> str | None:
    """The highest that all measured cells have; None where there are none."""
    measured = [each for each in cells if each.reads_per_s]
    for name in PERCENTILES:
        if measured and all(each.latencies_s[name] is not None for each in measured):
            return name
    return None


def _cell(context: Context, name: str, point: Point) -> _RateCell:
    evidence = context.evidence
    reasons = [each for window in evidence.valid_at(name, point) for each in window.reasons]
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
        context, name, title, _chart(context, drawing, cells, percentile),
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
    for name in dict.fromkeys(each.candidate for each in cells):
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
    each = named(
        [*grown],
        lambda name: grown[name][1] / grown[name][0],
        lambda name: f"from {took(grown[name][0])} to {took(grown[name][1])} on {name}",
    )
    return (
        f"From {fewest.writes} to {most.writes} written per second, the {percentile} of "
        f"{fewest.reads} reads went {each}"
    )


def _chart(context: Context, drawing: Drawing, cells: Sequence[_RateCell], percentile: str) -> Spec:
    known = [each.latencies_s[percentile] for each in cells]
    bounds = _set_bounds([each * MS_PER_S for each in known if each])
    found = [
        _panel(
            drawing, name, [_row(each, bounds, percentile) for each in cells
                            if each.candidate == name],
        )
        for name in context.evidence.candidates
    ]  # fmt: skip
    return panels(found, min(COLUMNS, len(found)))


def _set_bounds(values_ms: Sequence[float]) -> list[float]:
    low, high = math.log10(min(values_ms)), math.log10(max(values_ms))
    count = len(palette.HEAT_COLOURS)
    return [10 ** (low + (high - low) * step / count) for step in range(1, count)]


def _panel(drawing: Drawing, name: str, rows: Rows) -> Spec:
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
    return layer([squares, *texts], width=width, height=height, title=name)


def _split_by_ink(rows: Rows) -> tuple[tuple[str, Rows], tuple[str, Rows]]:
    half = len(palette.HEAT_COLOURS) // 2
    return (
        (palette.INK[0], [row for row in rows if row["class"] < half]),
        (palette.PAPER[0], [row for row in rows if row["class"] >= half]),
    )


def _row(cell: _RateCell, bounds: Sequence[float], percentile: str) -> dict[str, Any]:
    known = cell.latencies_s[percentile]
    colour = -1 if known is None else sum(each <= known * MS_PER_S for each in bounds)
    return {
        "reads": cell.reads, "writes": cell.writes, "text": cell.text(percentile),
        "class": colour, "achieved": cell.reads_per_s,
    }  # fmt: skip


PLUGINS = (ReadsBesideWritesSection(),)
