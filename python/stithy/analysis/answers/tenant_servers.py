"""What the server of each tenant did in a window: its waits, its cache, its CPU time.

Each tenant's numbers are from samples of its own server alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from stithy.analysis.bottlenecks.observation import DEVICE, LOG, Sessions
from stithy.analysis.bottlenecks.observe import by_server, sessions_of
from stithy.analysis.values.series import Sampled
from stithy.engines.declaration import Declaration

Values = Mapping[tuple[str, str, str], float]


@dataclass(frozen=True)
class ServerWork:
    """One tenant's server in one window, means over its measurement; None: not sampled.

    `active`: its active sessions; `data` and `log`: those of them that wait for data files and for
    the write-ahead log. `hit_share`: of the blocks asked for, those found in its own buffers.
    `cpu_share`: its CPU time, of one CPU. `throttled_share`: of the scheduler's periods, those in
    which it had used up its CPU time.
    """

    active: float | None = None
    data: float | None = None
    log: float | None = None
    hit_share: float | None = None
    cpu_share: float | None = None
    throttled_share: float | None = None


def servers_of_tenants(
    sampled: Sampled, engine: Declaration, only: str
) -> dict[tuple[str, str], ServerWork]:
    """By window and tenant. `only`: what a tenant is called who is alone, with a server unnamed."""
    of_servers = pl.col("collector").is_in(("database", "server", "cgroup"))
    named = pl.col("instance").replace("", only)
    found, looks = by_server(sampled.every_mean.filter(of_servers).with_columns(named))
    return {
        key: _work(values, sessions_of(values, looks.get(key, 0), engine))
        for key, values in found.items()
    }


def _work(values: Values, sessions: Sessions | None) -> ServerWork:
    groups = sessions.by_group if sessions else {}
    hit, read = (values.get(("database", "", f"blocks_{what}_per_s")) for what in ("hit", "read"))
    return ServerWork(
        sessions.active if sessions else None,
        groups.get(DEVICE),
        groups.get(LOG),
        None if hit is None or read is None or not hit + read else hit / (hit + read),
        values.get(("server", "", "cpu_share")),
        values.get(("cgroup", "", "throttled_share")),
    )
