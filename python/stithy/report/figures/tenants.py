"""Throughput of each tenant: alone, and beside the largest neighbour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import altair as alt
import polars as pl

from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.drawing.chart import WIDTH, Axis, Domain, domain_of, value_axis
from stithy.report.drawing.compose import Drawing, Rows, Spec, grid, unit
from stithy.report.drawing.titles import named
from stithy.report.figure import Absent, Drawn
from stithy.report.parts.neighbour import drawn_point, paired
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import percent

NAME = "tenants"
ORDER = 14
SECTION = "neighbours"
NEEDS = ("tenant_seconds",)
KEY = "throughput-by-tenant"
METRIC = "tenant.tpm"
WORDS = ("alone", "with")
COLUMNS_MOST, HEIGHT = 2, 200
PALE = 0.4


@dataclass(frozen=True)
class _Kept:
    """The throughput of a tenant, over blocks in which it was measured both ways."""

    candidate: str
    tenant: str
    blocks: int
    alone: float
    beside: float

    @property
    def share(self) -> float:
        """How much of its throughput it keeps."""
        return self.beside / self.alone


def draw(context: Context) -> list[Drawn]:
    """A pair of bars for each tenant, a chart for each candidate."""
    point = drawn_point(context)
    if point is None:
        return []
    kept = list(_all_kept(context, point))
    if not kept:
        because = "no valid block has a tenant alone and with the neighbour"
        return [Absent(KEY, "throughput of each tenant", because)]
    title, drawing = _finding(context, kept), Drawing()
    return [
        drawing.figure(
            context, KEY, title, _charts(context, drawing, kept), _table(title, kept),
            caption="Transactions per minute of each tenant: alone (pale) and with the neighbour, "
            "means over the blocks that have a valid window of both. Tenants and load are the same "
            "in both; only the neighbour is switched.",
            description="Bar charts with a pair of bars for each tenant, one chart for each "
            "candidate.",
        )
    ]  # fmt: skip


def _all_kept(context: Context, point: Point) -> Iterator[_Kept]:
    rows = context.run.values.filter(pl.col("metric") == METRIC)
    tenants = rows["of"].unique(maintain_order=True).to_list()
    for name in context.evidence.candidates:
        pairs = paired(context, name, point)
        for tenant in sorted(tenants, key=lambda each: (len(each), each)):
            value, of = context.evidence.value_of, Quantity(METRIC, tenant)
            every = ((value(one, of).number, value(other, of).number) for one, other in pairs)
            both = [(a, b) for a, b in every if a is not None and b is not None]
            alone = fmean(one for one, _ in both) if both else 0.0
            if alone:
                beside = fmean(other for _, other in both)
                yield _Kept(name, tenant, len(both), alone, beside)


def _finding(context: Context, kept: Sequence[_Kept]) -> str:
    """The tenants that keep least and most, by candidate."""
    shares = {
        name: [each.share for each in kept if each.candidate == name]
        for name in context.evidence.candidates
    }
    said = named(
        [name for name in shares if shares[name]],
        lambda name: fmean(shares[name]),
        lambda name: f"{_range(shares[name])} on {name}",
    )
    return f"Share of its throughput that a tenant keeps with the neighbour: {said}"


def _range(shares: Sequence[float]) -> str:
    least, most = percent(min(shares)), percent(max(shares))
    return least if least == most else f"{least} to {most}"


def _charts(context: Context, drawing: Drawing, kept: Sequence[_Kept]) -> Spec:
    rows: dict[str, Rows] = {}
    for each in kept:
        rows.setdefault(each.candidate, []).extend(_bars(each))
    columns = min(len(rows), COLUMNS_MOST)
    domain = domain_of([row for each in rows.values() for row in each], log=False)
    charts = [
        _chart(context, drawing, mine, domain, name, is_first=index % columns == 0)
        for index, (name, mine) in enumerate(rows.items())
    ]
    return grid(charts, columns)


def _bars(kept: _Kept) -> Rows:
    return [
        {"tenant": kept.tenant.removeprefix("tenant-"), "neighbour": word, "value": value}
        for word, value in zip(WORDS, (kept.alone, kept.beside), strict=True)
    ]


def _chart(
    context: Context, drawing: Drawing, rows: Rows, domain: Domain, name: str, *, is_first: bool
) -> Spec:
    width = (WIDTH if len(context.evidence.candidates) == 1 else (WIDTH + 20) // 2) - 45
    bars = alt.Chart(drawing.add(rows), title=name).mark_bar(color=context.styles[name].colour)
    pale = alt.Scale(domain=list(WORDS), range=[PALE, 1])
    legend = alt.Legend(title=None, orient="top", direction="horizontal", labelExpr=_LABELS)
    return unit(
        bars.encode(
            x=alt.X(
                "tenant:N", title="Tenant", sort=None, axis=alt.Axis(labelAngle=0, grid=False)
            ),
            xOffset=alt.XOffset("neighbour:N", sort=list(WORDS)),
            y=value_axis(Axis("Transactions per minute"), domain, titled=is_first),
            opacity=alt.Opacity("neighbour:N", scale=pale, legend=legend),
            tooltip=[
                alt.Tooltip("tenant:N"), alt.Tooltip("neighbour:N"),
                alt.Tooltip("value:Q", title="TPM", format=",.4~g"),
            ],
        ).properties(width=width, height=HEIGHT)
    )  # fmt: skip


_LABELS = "datum.label == 'with' ? 'with the neighbour' : datum.label"


def _table(title: str, kept: Sequence[_Kept]) -> PageTable:
    rows = [{**vars(each), "share": each.share} for each in kept]
    shows = (
        Show("candidate", "candidate"), Show("tenant", "tenant"), Show("blocks", "blocks", "count"),
        Show("alone", "TPM alone", "count"), Show("beside", "TPM with the neighbour", "count"),
        Show("share", "kept", "share"),
    )  # fmt: skip
    return table_of(KEY, title, shows, rows, alone=pl.Float64, beside=pl.Float64)
