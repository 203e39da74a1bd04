"""Figures of tenants and their neighbour: what each tenant keeps, and the neighbour's cycles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import altair as alt
import polars as pl

from stithy.analysis.evidence import Window
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.blocks import Absent, FigureKind
from stithy.report.context import Context
from stithy.report.drawing.annotations import BYTES_PER_MB
from stithy.report.drawing.chart import (
    WIDTH,
    Axis,
    Domain,
    find_domain,
    make_line_channels,
    make_value_axis,
    show_picked,
)
from stithy.report.drawing.compose import (
    Drawing,
    Rows,
    Spec,
    make_unit,
    merge_layers,
    place_in_grid,
)
from stithy.report.drawing.plots import (
    Bars,
    DataPlot,
    Duration,
    read_durations,
    write_durations_title,
)
from stithy.report.drawing.titles import name_by, name_each
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import format_quantity, format_range
from stithy.scenarios.noisy_neighbour.declared import find_part, list_cycles, list_parts
from stithy.scenarios.noisy_neighbour.report.neighbours import (
    choose_point,
    find_first_pair,
    list_pairs,
)
from stithy.units import format_share

WORDS = ("alone", "with")
PALE = 0.4
METRIC = "tenant.tpm"


@dataclass(frozen=True)
class _TenantThroughput:
    """The throughput of a tenant, over blocks in which it was measured both ways."""

    candidate: str
    tenant: str
    blocks: int
    alone: float
    beside: float

    @property
    def share(self) -> float:
        return self.beside / self.alone


@dataclass(frozen=True, kw_only=True)
class _TenantBars(DataPlot):
    """A pair of bars for each tenant, a chart for each candidate."""

    kept: Sequence[_TenantThroughput]

    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        rows: dict[str, Rows] = {}
        for kept in self.kept:
            bars = [
                {"tenant": kept.tenant.removeprefix("tenant-"), "neighbour": word, "value": value}
                for word, value in zip(WORDS, (kept.alone, kept.beside), strict=True)
            ]
            rows.setdefault(kept.candidate, []).extend(bars)
        columns = min(len(rows), 2)
        domain = find_domain([row for bars in rows.values() for row in bars], log=False)
        charts = [
            _draw_tenants(context, drawing, bars, domain, name, is_first=index % columns == 0)
            for index, (name, bars) in enumerate(rows.items())
        ]
        return place_in_grid(charts, columns)

    def make_table(self, context: Context) -> PageTable:
        rows = [{**vars(kept), "share": kept.share} for kept in self.kept]
        shows = (
            Show("candidate", "candidate"), Show("tenant", "tenant"),
            Show("blocks", "blocks", "count"), Show("alone", "TPM alone", "count"),
            Show("beside", "TPM with the neighbour", "count"), Show("share", "kept", "share"),
        )  # fmt: skip
        types = {"alone": pl.Float64, "beside": pl.Float64}
        return make_table(self.name, self.data, shows, rows, **types)

    def describe(self, context: Context) -> str:
        return "Bar charts with a pair of bars for each tenant, one chart for each candidate."


def _plot_tenants(context: Context) -> Iterator[_TenantBars | Absent]:
    point, name = choose_point(context), "throughput-by-tenant"
    if point is None:
        return
    kept = list(_list_kept(context, point))
    if not kept:
        because = "no valid block has a tenant alone and with the neighbour"
        yield Absent(name, "throughput of each tenant", because)
        return
    yield _TenantBars(
        name=name,
        title=_write_tenants_title(context, kept),
        caption="Transactions per minute of each tenant: alone (pale) and with the neighbour, "
        "means over the blocks that have a valid window of both. Tenants and load are the same "
        "in both; only the neighbour is switched.",
        noun="throughput",
        data="Throughput of each tenant, alone and with the neighbour",
        kept=kept,
    )


def _list_kept(context: Context, point: Point) -> Iterator[_TenantThroughput]:
    rows = context.run.values.filter(pl.col("metric") == METRIC)
    tenants = rows["of"].unique(maintain_order=True).to_list()
    for name in context.evidence.candidates:
        pairs = list_pairs(context, name, point)
        for tenant in sorted(tenants, key=lambda tenant: (len(tenant), tenant)):
            read, of = context.evidence.value_of, Quantity(METRIC, tenant)
            every = ((read(alone, of).number, read(beside, of).number) for alone, beside in pairs)
            both = [(a, b) for a, b in every if a is not None and b is not None]
            alone_tpm = fmean(a for a, _ in both) if both else 0.0
            if alone_tpm:
                yield _TenantThroughput(
                    name, tenant, len(both), alone_tpm, fmean(b for _, b in both)
                )


def _write_tenants_title(context: Context, kept: Sequence[_TenantThroughput]) -> str:
    shares = {
        name: mine
        for name in context.evidence.candidates
        if (mine := [tenant.share for tenant in kept if tenant.candidate == name])
    }
    ends = {
        name: format_range(format_share(min(mine)), format_share(max(mine)))
        for name, mine in shares.items()
    }
    ranges = name_each([*ends], lambda name: fmean(shares[name]), lambda at: f"{ends[at]} on {at}")
    return f"Share of its throughput that a tenant keeps with the neighbour: {ranges}"


def _draw_tenants(
    context: Context, drawing: Drawing, rows: Rows, domain: Domain, name: str, *, is_first: bool
) -> Spec:
    width = (WIDTH if len(context.evidence.candidates) == 1 else (WIDTH + 20) // 2) - 45
    bars = alt.Chart(drawing.add(rows), title=name).mark_bar(color=context.styles[name].colour)
    pale = alt.Scale(domain=list(WORDS), range=[PALE, 1])
    legend = alt.Legend(
        title=None, orient="top", direction="horizontal",
        labelExpr="datum.label == 'with' ? 'with the neighbour' : datum.label",
    )  # fmt: skip
    return make_unit(
        bars.encode(
            x=alt.X(
                "tenant:N", title="Tenant", sort=None, axis=alt.Axis(labelAngle=0, grid=False)
            ),
            xOffset=alt.XOffset("neighbour:N", sort=list(WORDS)),
            y=make_value_axis(Axis("Transactions per minute"), domain, titled=is_first),
            opacity=alt.Opacity("neighbour:N", scale=pale, legend=legend),
            tooltip=[
                alt.Tooltip("tenant:N"), alt.Tooltip("neighbour:N"),
                alt.Tooltip("value:Q", title="TPM", format=",.4~g"),
            ],
        ).properties(width=width, height=200)
    )  # fmt: skip


def _plot_durations(context: Context) -> Iterator[Bars | Absent]:
    point, name = choose_point(context), "neighbour-durations"
    if point is None:
        return

    def list_durations(window: Window) -> Iterator[Duration]:
        for span in (*list_cycles(window.spans), *list_parts(window.spans)):
            if span["outcome"] == "done" and span["to_s"] is not None:
                name = str(span["name"])
                number = name.partition(":")[0].rpartition(" ")[2]
                yield Duration(find_part(name) or "cycle", window.candidate, window.block, number,
                               span["to_s"] - span["from_s"])  # fmt: skip

    durations = read_durations(context, point, list_durations)
    if durations:
        yield Bars(
            name=name,
            title=write_durations_title(context, durations),
            caption="Duration of each cycle of the neighbour that succeeded, and of its parts "
            "(marks), and the mean of the windows' means (bars), of all valid windows "
            f"{point.at(context.level_unit)}.",
            noun="cycles and of their parts",
            data="Duration of the neighbour's cycles",
            durations=durations,
        )
    elif any(list_cycles(window.spans) for candidate in context.evidence.candidates
             for window in context.evidence.valid_at(candidate, point)):  # fmt: skip
        because = "no cycle succeeded in a valid window"
        yield Absent(name, "duration of the neighbour's cycles", because)


SIZE, RATE = "neighbour.cycle_bytes", Quantity("neighbour.bytes_per_s")


@dataclass(frozen=True)
class _Stretch:
    """A part of a cycle that succeeded; seconds of its window, bytes per second."""

    candidate: str
    part: str
    from_s: float
    to_s: float
    rate: float


@dataclass(frozen=True, kw_only=True)
class _Stretches(DataPlot):
    """A line for each candidate that is 0 while no cycle runs, in the window that is drawn."""

    stretches: Sequence[_Stretch]

    def draw_chart(self, context: Context, drawing: Drawing) -> Spec:
        rows = []
        for name in context.evidence.candidates:
            rates = _list_rates([of for of in self.stretches if of.candidate == name])
            steps = [(from_s, rate) for from_s, _, rate in rates]
            if rates and rates[0][0] > 0:
                steps.insert(0, (0.0, 0.0))
            if rates:
                steps.append((rates[-1][1], 0.0))
            rows += [{"candidate": name, "second": at_s, "value": rate / BYTES_PER_MB}
                     for at_s, rate in steps]  # fmt: skip
        y = make_value_axis(Axis("Bytes of databases (MB/s)"), find_domain(rows, log=False))
        x = alt.X("second:Q", title="Seconds, with the neighbour", axis=alt.Axis(format="d"))
        channels = {"x": x, "y": y, "opacity": show_picked(), **make_line_channels(context)}
        line = drawing.mark("line", rows, channels, strokeWidth=1.5, interpolate="step-after")
        return merge_layers([drawing.follow(line)], width=660, height=180)

    def make_table(self, context: Context) -> PageTable:
        shows = (
            Show("candidate", "candidate"), Show("part", "part"),
            Show("from_s", "from", "duration"), Show("to_s", "to", "duration"),
            Show("rate", "bytes of databases", "bandwidth"),
        )  # fmt: skip
        return make_table(self.name, self.data, shows, map(vars, self.stretches))

    def describe(self, context: Context) -> str:
        return "Line chart of throughput against time, with a line for each candidate."


def _plot_throughput(context: Context) -> Iterator[_Stretches]:
    point, names = choose_point(context), context.evidence.candidates
    if point is None:
        return
    windows = [window for name in names for window in find_first_pair(context, name, point)[1:]]
    stretches = [stretch for window in windows for stretch in _list_stretches(window)]
    if stretches:
        yield _Stretches(
            name="neighbour-throughput",
            title=_write_throughput_title(context, stretches),
            caption="Each part of a cycle has the bytes of its database divided by its time; "
            "cycles that run at once are added. The line is 0 while no cycle runs. The window with "
            "the neighbour is the one drawn above. Only cycles that succeeded are drawn: the bytes "
            "of one that the end of the window cut are not known.",
            noun="throughput",
            data="How fast the neighbour's cycles went through their databases",
            stretches=stretches,
        )


def _list_stretches(window: Window) -> Iterator[_Stretch]:
    """List the parts of each cycle whose bytes are known; a cycle without parts is one."""
    start_s = window.row["started_at_s"] or 0.0
    for cycle in list_cycles(window.spans):
        measured = window.values.get((SIZE, cycle["name"])) or {}
        mine = [part for part in list_parts(window.spans)
                if part["name"].startswith(f"{cycle['name']}:")] or [cycle]  # fmt: skip
        for part in mine if measured.get("value") else ():
            took_s = part["to_s"] - part["from_s"]
            if took_s > 0:
                yield _Stretch(
                    window.candidate, find_part(part["name"]) or "cycle", part["from_s"] - start_s,
                    part["to_s"] - start_s, measured["value"] / took_s,
                )  # fmt: skip


def _write_throughput_title(context: Context, stretches: Sequence[_Stretch]) -> str:
    means = {}
    for name in context.evidence.candidates:
        rates = _list_rates([of for of in stretches if of.candidate == name])
        worked = [(to_s - from_s, rate) for from_s, to_s, rate in rates if rate]
        if worked:
            means[name] = sum(s * rate for s, rate in worked) / sum(s for s, _ in worked)
    shown = name_by(means, lambda rate: format_quantity(RATE, rate))
    return f"While it works, the neighbour goes through its databases at {shown}"


def _list_rates(stretches: Sequence[_Stretch]) -> list[tuple[float, float, float]]:
    """List from each begin or end of a part to the next: both, and the rate of all."""
    moments = sorted({moment for of in stretches for moment in (of.from_s, of.to_s)})
    return [
        (begin, end, sum(of.rate for of in stretches if of.from_s <= begin and end <= of.to_s))
        for begin, end in pairwise(moments)
    ]


TABLES = ("tenant_seconds",)
PLUGINS = (
    FigureKind("throughput-by-tenant", 14, "neighbours", _plot_tenants, TABLES),
    FigureKind("neighbour-durations", 17, "neighbours", _plot_durations, TABLES),
    FigureKind("neighbour-throughput", 18, "neighbours", _plot_throughput, TABLES),
)
