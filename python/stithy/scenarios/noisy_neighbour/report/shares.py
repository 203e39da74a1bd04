"""What each tenant got of the throughput of all, where they are each other's neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from stithy.analysis.evidence import Window
from stithy.report.blocks import Block, SectionKind, set_grid, set_paragraph
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.scenarios.noisy_neighbour.plan import NEIGHBOUR

NAME = "tenants"
TITLE = "What each tenant got"
TPM, P95 = "tenant.tpm", "tenant.p95_s"
NOTE = (
    "Means over the valid windows: transactions of all types per minute, their share of those of "
    "all tenants, and the tenant's own 95th percentile of response time where each window has "
    "enough answers for it."
)


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    if NEIGHBOUR in context.factors:
        return
    rows = [
        {**context.list_factor_values(point), **row}
        for point in context.evidence.points
        for name in context.evidence.candidates
        for row in _list_rows(context.evidence.valid_at(name, point), name)
    ]
    shows = (
        *context.factor_shows, Show("candidate", "Candidate"),
        Show("tenant", "Tenant"), Show("tpm", "TPM", "rate"), Show("share", "Share", "share"),
        Show("p95_s", "p95", "duration"),
    )  # fmt: skip
    yield make_table(NAME, TITLE, shows, rows, **context.factor_types)


def _list_rows(windows: Sequence[Window], candidate: str) -> Iterator[Mapping[str, Any]]:
    tenants = dict.fromkeys(of for each in windows for metric, of in each.values if metric == TPM)
    rates = {name: _average(windows, TPM, name) for name in tenants}
    known = [rate for rate in rates.values() if rate is not None]
    whole = sum(known) if len(known) == len(rates) else None
    for name, rate in rates.items():
        share = rate / whole if whole and rate is not None else None
        p95_s = _average(windows, P95, name)
        yield {"candidate": candidate, "tenant": name, "tpm": rate, "share": share, "p95_s": p95_s}


def _average(windows: Sequence[Window], metric: str, of: str) -> float | None:
    """The mean of a metric of a tenant over windows; None where one lacks it."""
    values = [each.values[metric, of]["value"] for each in windows if (metric, of) in each.values]
    return fmean(values) if values and None not in values else None


def _set_tenants(page: Page) -> Iterator[Block]:
    if NAME in page.tables and not page.tables[NAME].frame.is_empty():
        yield from set_grid(page.tables[NAME])
        yield from set_paragraph(NOTE, style="note")


PLUGINS = (
    SectionKind(NAME, 12, TITLE, _set_tenants, make_tables=_make_tables,
                needs_tables=("tenant_seconds",)),
)  # fmt: skip
