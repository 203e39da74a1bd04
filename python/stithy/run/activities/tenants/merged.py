"""What several hammers did together, as the tables of a single one have it.

Counts are added, distributions are merged as histograms, and of what is a bound the largest counts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stithy.activities.hammer import LOAD
from stithy.collectors.collector import TimedSample
from stithy.results import tables
from stithy.results.convert import (
    Latencies,
    bucket_rows,
    measured_intervals,
    merged_seconds,
    transaction_rows,
)
from stithy.results.hlog import Interval, decode, merge
from stithy.results.tables import Row, Table
from stithy.run.activities.hammer.rows import tables_of as tables_of_one

if TYPE_CHECKING:
    from stithy.run.activities.hammer import HammerActivity
    from stithy.run.activities.tenants import TenantsActivity

LARGEST = frozenset(
    {
        "longest_response_s",
        "ledger_sync_max_s",
        "first_success_s",
        "memory_peak_bytes",
    }
)
SAME = frozenset(
    {
        "think_mean_s", "restore_s", "driver_nice", "driver_rate_per_s_max", "driver_users_max",
        "driver_others_share", "checkpoints_inside", "server_cpus", "memory_limit_bytes",
        "buffer_pool_bytes", "database_bytes", "units_touched", "units_total",
    }
)  # fmt: skip
"""What is everyone's, or is not known of all together."""


def tables_of(
    of: "TenantsActivity", readings: Sequence[TimedSample]
) -> Iterator[tuple[Table, list[Row]]]:
    """All tables that only hammers fill."""
    kept = of.kept or of.each
    single = [{table.name: rows for table, rows in tables_of_one(each, readings)} for each in kept]
    loads = [each["load"][0] for each in single]
    kinds = {column.name: column.kind for column in LOAD.columns}
    load = {name: _one(name, kinds[name], [row[name] for row in loads]) for name in loads[0]}
    yield LOAD, [load | _distributions(of)]
    for table in (tables.CONDITIONS, tables.LEDGER, tables.LEDGER_FINDINGS):
        yield table, _joined(table, [row for each in single for row in each.get(table.name, [])])
    if not of.kept:
        yield tables.HISTOGRAMS, []
        return
    window_id, summaries = of.window.id, [each.driven.summary for each in kept if each.driven]
    yield tables.TRANSACTIONS, transaction_rows(window_id, *summaries)
    yield (
        tables.SECONDS,
        merged_seconds(
            window_id, [each.driven.seconds for each in kept if each.driven], _latencies(kept)
        ),
    )
    yield tables.HISTOGRAMS, list(_histograms(window_id, kept))


def _distributions(of: "TenantsActivity") -> Row:
    """What of the row of LOAD is read from histograms, merged over all tenants."""
    summaries = [each.driven.summary for each in of.kept if each.driven]
    if not summaries:
        return {}
    lateness = merge(decode(each.lateness) for each in summaries)
    whole = transaction_rows(of.window.id, *summaries)[-1]
    return {
        "lateness_mean_s": lateness.mean_s if lateness else None,
        "lateness_p99_s": lateness.percentile_s(99) if lateness else None,
        "service_p50_s": whole["service_p50_s"],
    }


def _one(name: str, kind: str, found: Sequence[Any]) -> Any:
    """A column of all tenants; what is missing of one is missing of all."""
    known = [each for each in found if each is not None]
    if kind == "truth":
        return all(known) if known else None
    if kind not in ("integer", "real") or name in SAME:
        return next(iter(known), None)
    if len(known) < len(found):
        return None
    return max(known) if name in LARGEST else sum(known)


def _joined(table: Table, rows: Sequence[Row]) -> list[Row]:
    """A broken condition of one tenant is broken for all; counts of ledgers are added."""
    if table is tables.CONDITIONS:
        by_number: dict[int, Row] = {}
        for row in sorted(rows, key=lambda row: bool(row["holds"]), reverse=True):
            by_number[row["number"]] = row
        return [by_number[number] for number in sorted(by_number)]
    if table is tables.LEDGER:
        deals: dict[str, Row] = {}
        for row in rows:
            had = deals.get(row["deal"])
            deals[row["deal"]] = row if had is None else _added(had, row)
        return list(deals.values())
    return list(rows)


def _added(one: Row, other: Row) -> Row:
    return {key: each + other[key] if isinstance(each, int) else each for key, each in one.items()}


def _latencies(kept: Sequence["HammerActivity"]) -> Latencies:
    """The logs of all; a tenant's times are those of the first, so that seconds meet."""
    starts = [
        each.driven.seconds[0].at_s if each.driven and each.driven.seconds else 0.0 for each in kept
    ]
    moved = [
        tuple(
            replace(i, started_at_s=i.started_at_s - start + starts[0])
            for i in each.latencies.response
        )
        for each, start in zip(kept, starts, strict=True)
    ]
    return Latencies(response=tuple(i for each in moved for i in each))


def _histograms(window_id: str, kept: Iterable["HammerActivity"]) -> Iterator[Row]:
    kinds: dict[str, list[Interval]] = {}
    for each in kept:
        assert each.driven is not None  # as the caller chose them
        logs = each.latencies
        for kind, intervals in (
            ("response", logs.response), ("service", logs.service), ("pool-wait", logs.pool_wait),
        ):  # fmt: skip
            kinds.setdefault(kind, []).extend(measured_intervals(intervals, each.driven.summary))
    for kind, every in kinds.items():
        yield from bucket_rows(window_id, kind, every)
