"""The table of what each tenant's server did, alone and with the neighbour."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

import polars as pl

from stithy.report.context import Context
from stithy.report.parts.neighbour import drawn_point, neighbour_said, paired
from stithy.report.tables import PageTable, Show, table_of
from stithy.scenarios.noisy_neighbour.judge import ServerWork, servers_of_tenants

SERVERS = "tenant-servers"
TITLE = "What each tenant's server did, alone and with the neighbour"
NOTE = (
    "Each row is one tenant's own server: means over the blocks that have a valid window of both, "
    "sampled once per second. Waits for data files and for the write-ahead log are mean numbers of "
    "its active sessions. The buffer hit ratio is the share of blocks found in the server's own "
    "buffers. CPU time is that of all its processes, as a share of one CPU."
)
HELD_BACK = (
    "Held back is the share of the scheduler's periods in which the server had used up its "
    "`cpu_share`."
)

QUANTITIES = {
    "active": ("Active sessions", "rate"),
    "data": ("Wait for data files", "rate"),
    "log": ("Wait for the log", "rate"),
    "hit_share": ("Buffer hit ratio", "share"),
    "cpu_share": ("CPU time", "share"),
    "throttled_share": ("Held back", "share"),
}
"""What of a server is shown, by its name in `ServerWork`: its heading, and how it is written."""

ENDS = ("alone", "with")


def tenant_servers(context: Context) -> PageTable:
    """A row for each candidate and tenant, at the neighbour that the figures show."""
    return table_of(SERVERS, TITLE, _shows(), _rows(context), blocks=pl.Int64).told()


def note(servers: PageTable) -> str:
    """What the columns mean that the table has."""
    held_back = servers.frame["throttled_share_with"].count()
    return f"{NOTE} {HELD_BACK}" if held_back else NOTE


def _shows() -> Iterator[Show]:
    yield Show("candidate", "Candidate")
    yield Show("neighbour", "Neighbour")
    yield Show("tenant", "Tenant")
    for key, (heading, kind) in QUANTITIES.items():
        yield Show(f"{key}_alone", f"{heading}, alone", kind)
        yield Show(f"{key}_with", "with", kind)


def _rows(context: Context) -> Iterator[dict[str, Any]]:
    point = drawn_point(context)
    if point is None:
        return
    work = servers_of_tenants(context.sampled, context.engine, only="tenant-1")
    tenants = sorted({tenant for _, tenant in work}, key=lambda each: (len(each), each))
    for name in context.evidence.candidates:
        pairs = [(one.id, other.id) for one, other in paired(context, name, point)]
        for tenant in tenants:
            both = [
                (work[one, tenant], work[other, tenant])
                for one, other in pairs
                if (one, tenant) in work and (other, tenant) in work
            ]
            if both:
                own = {"candidate": name, "neighbour": neighbour_said(context, point)}
                yield {**own, "tenant": tenant, "blocks": len(both), **_means(both)}


def _means(both: list[tuple[ServerWork, ServerWork]]) -> Mapping[str, float | None]:
    """Of each quantity the means of the blocks in which both windows have it."""
    found: dict[str, float | None] = {}
    for key in QUANTITIES:
        pairs = [(getattr(one, key), getattr(other, key)) for one, other in both]
        known = [pair for pair in pairs if None not in pair]
        for end, values in zip(ENDS, zip(*known, strict=True) if known else (None, None),
                               strict=True):  # fmt: skip
            found[f"{key}_{end}"] = fmean(values) if values else None
    return found
