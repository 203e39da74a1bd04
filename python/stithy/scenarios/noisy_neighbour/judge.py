"""What tenants lose to a neighbour on the same storage, and what the server of each tenant did."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from stithy.analysis.analyze import Analysis, Loss, Losses, list_ratios
from stithy.analysis.bottlenecks.observation import DEVICE, LOG, Sessions
from stithy.analysis.bottlenecks.observe import group_by_server, group_sessions
from stithy.analysis.comparisons import compare_with_alone
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.analysis.series import Sampled
from stithy.engines.declaration import Declaration
from stithy.metrics import P95, P99, TPM, Quantity
from stithy.scenarios.noisy_neighbour.declared import (
    TENANT_SECONDS,
    TENANTS,
    list_cycles,
    list_work_times,
)
from stithy.scenarios.noisy_neighbour.disturbance import (
    Disturbance,
    measure_disturbance,
    measure_lost_isolation,
)
from stithy.scenarios.noisy_neighbour.plan import ALONE, NEIGHBOUR
from stithy.scenarios.noisy_neighbour.reactions import Moments
from stithy.units import format_share
from stithy.validity import Check, Flag, Reason, make_clause

ISOLATION, ISOLATION_LOST = Quantity("isolation"), Quantity("isolation_lost")

Tenants = dict[str, dict[str, list[tuple[float, int]]]]
"""By window and tenant, the begin of each measured second and its transactions."""


def read_tenant_seconds(analysis: Analysis) -> Tenants:
    """The measured seconds of each tenant, by window and tenant."""
    found: Tenants = {}
    for window in analysis.evidence.windows:
        for row in analysis.run.detail("tenant_seconds", window.id).to_dicts():
            if row["phase"] == "measure":
                mine = found.setdefault(window.id, {}).setdefault(row["tenant"], [])
                mine.append((row["at_s"], row["completed"]))
    return found


def count_by_tenant(tenants: Tenants) -> dict[str, dict[str, list[int]]]:
    """By window and tenant, its transactions in each second of the measurement."""
    return {
        window: {name: [count for _, count in each] for name, each in of.items()}
        for window, of in tenants.items()
    }


def list_moments(analysis: Analysis, tenants: Tenants) -> Mapping[str, Moments]:
    """By window, when its seconds began, of the tenant with most, and what the neighbour did."""
    times = {
        window: [at_s for at_s, _ in max(of.values(), key=len)] for window, of in tenants.items()
    }
    return {
        window.id: Moments(
            times.get(window.id, ()), list_work_times(window.spans),
            failed=sum(cycle["outcome"] == "failed" for cycle in list_cycles(window.spans)),
        )
        for window in analysis.evidence.windows
    }  # fmt: skip


def find_disturbances(analysis: Analysis) -> tuple[Disturbance, ...]:
    """Each candidate at each rate of the neighbour."""
    evidence, tenants, found = analysis.evidence, read_tenant_seconds(analysis), []
    seconds, when = count_by_tenant(tenants), list_moments(analysis, tenants)
    for point in evidence.points:
        if point.values.get(NEIGHBOUR, ALONE) != ALONE:
            alone = point.replaced(NEIGHBOUR, ALONE)
            for name in evidence.candidates:
                growth = {
                    each: compare_with_alone(evidence, name, point, alone, each, analysis.times)
                    for each in (P99, P95, TPM)
                }
                found.append(
                    measure_disturbance(evidence, seconds, name, point, alone, growth, when)
                )
    return tuple(found)


class NeighbourLosses(Losses):
    """What tenants lose to a neighbour, by the metrics that the activity declares."""

    name = "neighbour"
    tables = frozenset({TENANT_SECONDS.name})

    def find_losses(self, analysis: Analysis) -> Iterator[Loss]:
        ratios = list_ratios(TENANTS)
        for disturbance in find_disturbances(analysis):
            losses, worked = {}, format_share(disturbance.worked or 0.0)
            for quantity, paired in disturbance.growth.items():
                doubt = f"the neighbour worked {worked} of the time, too little for it to show"
                because = doubt if disturbance.is_blind(quantity) else None
                losses[ratios[quantity]] = replace(paired, doubted_because=because)
            losses |= {
                ISOLATION: disturbance.isolations,
                ISOLATION_LOST: measure_lost_isolation(disturbance),
            }
            for quantity, paired in losses.items():
                yield Loss(TENANTS, quantity, disturbance.candidate, disturbance.point, paired)


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


def read_tenant_servers(
    sampled: Sampled, engine: Declaration, only: str
) -> dict[tuple[str, str], ServerWork]:
    """By window and tenant. `only`: what a tenant is called who is alone, with a server unnamed."""
    of_servers = pl.col("collector").is_in(("database", "server", "cgroup"))
    named = pl.col("instance").replace("", only)
    found, looks = group_by_server(sampled.every_mean.filter(of_servers).with_columns(named))
    return {
        key: _read_work(values, group_sessions(values, looks.get(key, 0), engine))
        for key, values in found.items()
    }


def _read_work(values: Values, sessions: Sessions | None) -> ServerWork:
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


LOST = Flag(
    "tenant lost",
    "{count} of {all} tenants did not work to the end of the window: {because}.",
    "Look at the server's log in the tenant's folder. Numbers of all tenants together do not "
    "count; the other tenants have their own values.",
    invalidates=True,
)


def find_lost_tenant(of: WindowRecord) -> Reason | None:
    """A tenant without throughput: what all did together is then less than it was to be."""
    rows = [row for (metric, _), row in of.values.items() if metric == "tenant.tpm"]
    missing = [row["missing_because"] or "no reason" for row in rows if row["value"] is None]
    if not missing:
        return None
    data = {"count": len(missing), "all": len(rows), "because": make_clause(missing[0])}
    return Reason(LOST, data)


TENANTS_CHECKS = WindowChecks(
    "tenants", 45, (Check(("values", "tenant_seconds"), find_lost_tenant),)
)

PLUGINS = (NeighbourLosses(), TENANTS_CHECKS)
