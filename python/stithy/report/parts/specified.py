"""How the load of a run stands to the specification of its workload, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.words.wording import count, duration
from stithy.results.manifest import LoadFacts, Manifest
from stithy.workload.workload import Workload

Row = Mapping[str, Any]

FAR = 1.1
"""Own: above the bound by more than rounding and the ends of a window."""


def sentences(context: Context) -> tuple[str, ...]:
    """Isolation, deferred deliveries, orders a warehouse, and where the rest is listed."""
    manifest = context.manifest
    if manifest is None or manifest.workload.name not in (known := plugins("workload")):
        return ()
    workload = known[manifest.workload.name].WORKLOAD
    rows = [window.row for window in context.evidence.windows]
    types = [window.transactions for window in context.evidence.windows]
    return (
        *_isolation(manifest.load, rows),
        *_deferred(manifest.load, workload, types),
        *_orders_a_warehouse(manifest, workload, rows),
        f"What else differs from the specification, and why: {workload.deviations}.",
    )


def _isolation(load: LoadFacts, rows: list[Row]) -> Iterator[str]:
    """Source: clause 3.4.1 of the TPC-C specification, which excludes the phenomena P0 to P3."""
    level = load.isolation.replace("-", " ")
    if load.isolation == "read-committed":
        yield (
            f"Transactions ran at {level}, as those of most applications do. The specification "
            "asks for more: repeatable read or serializable, without the phenomena P0 to P3."
        )
    else:
        yield f"Transactions ran at {level}, without the phenomena P0 to P3, as specified."
    known = [each for each in rows if each["retries"] is not None and each["transactions"]]
    if repeated := sum(each["retries"] for each in known):
        done = sum(each["transactions"] for each in known)
        yield (
            f"After conflicts {repeated:,} attempts were repeated, "
            f"{count(1000 * repeated / done)} for each 1,000 transactions; response times include "
            "them."
        )


def _deferred(load: LoadFacts, workload: Workload, types: list[Mapping[str, Row]]) -> Iterator[str]:
    """Queue and execution of the slowest window, which no response time includes."""
    names = [each.name for each in workload.transactions if each.deferred]
    if load.rate_per_s is not None or not load.deferred_delivery:
        return
    for name in names:
        yield f"Users did not wait for {name}: its response time is that of queueing."
        own = [each[name] for each in types if name in each]
        queued = [each["pool_wait_p95_s"] for each in own if each["pool_wait_p95_s"] is not None]
        took = [each["service_p95_s"] for each in own if each["service_p95_s"] is not None]
        if queued and took:
            yield (
                f"In the slowest window the p95 of its wait in the queue was "
                f"{duration(max(queued))}, that of its execution {duration(max(took))}."
            )


def _orders_a_warehouse(manifest: Manifest, workload: Workload, rows: list[Row]) -> Iterator[str]:
    most = workload.nopm_per_warehouse_max
    orders = [each["nopm"] for each in rows if each["nopm"] is not None]
    if most is None or not orders or max(orders) <= FAR * most * manifest.workload.warehouses:
        return
    found = f"Up to {count(max(orders) / manifest.workload.warehouses)} NOPM came to a warehouse"
    if manifest.load.pace == "keyed":
        yield f"{found}; the specification has ten users there, who give at most {most}."
        return
    yield (
        f"{found}. Ten users who key and think as specified give at most {most}: this is no keyed "
        "load. Few users do the work of many here, on less data."
    )
