"""From messages and latency logs of the hammer to rows of the tables, and histograms back.

Percentiles come from histograms alone: those of the measurement are in the summary, those of each
second and type in the latency logs, without which the seconds have none. The logs take long to
decode: a table beside them holds the merged ones.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import TextError
from stithy.metrics import ALL
from stithy.results.hlog import (
    JOIN_TOLERANCE_S,
    LoggedHistogram,
    LoggedInterval,
    decode,
    merge,
    read_hlog,
)
from stithy.results.layout import is_as_written
from stithy.results.tables import Row
from stithy.wire.messages import (
    Condition,
    LedgerFinding,
    LedgerSummary,
    PackedHistogram,
    RunSummary,
    SecondMessage,
    TransactionTotal,
)

_PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_COUNTS = ("committed", "rolled_back", "errors", "retries")
_LIVE = ("live_p50_s", "live_p95_s", "live_p99_s")


@dataclass(frozen=True)
class Latencies:
    """The logs of one window; empty where they were not written.

    `pool_wait` is there only with a pool or deferred work.
    """

    response: tuple[LoggedInterval, ...] = ()
    service: tuple[LoggedInterval, ...] = ()
    pool_wait: tuple[LoggedInterval, ...] = ()


def read_latencies(hlog_stem: Path) -> Latencies:
    """The logs beside `hlog_stem`; a missing log is empty. Raises ValueError for a damaged one."""
    kinds = ("response", "service", "pool-wait")
    paths = (hlog_stem.with_name(f"{hlog_stem.name}.{kind}.hlog") for kind in kinds)
    return Latencies(*(tuple(read_hlog(path)) if path.exists() else () for path in paths))


def make_transaction_rows(window_id: str, *summaries: RunSummary) -> list[Row]:
    """Rows of TRANSACTIONS: each type in the workload's order, then `all`.

    Of several hammers counts are added, and histograms merged.
    """
    types: dict[str, list[TransactionTotal]] = {}
    for summary in summaries:
        for total in summary.transactions:
            types.setdefault(total.name, []).append(total)
    every = [total for totals in types.values() for total in totals]
    return [
        {
            "window_id": window_id,
            "transaction": name,
            **{count: sum(vars(total)[count] for total in totals) for count in _COUNTS},
            **_merge_histograms("response", [total.response for total in totals]),
            **_merge_histograms("service", [total.service for total in totals]),
            **_merge_histograms("pool_wait", [total.pool_wait for total in totals]),
        }
        for name, totals in [*types.items(), (ALL, every)]
    ]


def _merge_histograms(kind: str, packed: Iterable[PackedHistogram | None]) -> Row:
    return describe_distribution(kind, merge(decode(each) for each in packed if each is not None))


def list_measured_intervals(
    intervals: Iterable[LoggedInterval], summary: RunSummary
) -> Iterator[LoggedInterval]:
    """Those of the measurement: an interval belongs to the second in which it began."""
    since = summary.measure_from_s - JOIN_TOLERANCE_S
    until = summary.measure_to_s - JOIN_TOLERANCE_S
    return (interval for interval in intervals if since <= interval.started_at_s < until)


def describe_distribution(kind: str, histogram: LoggedHistogram | None) -> Row:
    """The columns `<kind>_mean_s`, `<kind>_p50_s`, … of a histogram; null without values."""
    found = histogram or LoggedHistogram({}, 0, 0)
    return {
        f"{kind}_mean_s": found.mean_s,
        f"{kind}_min_s": found.min_s,
        **{f"{kind}_{name}_s": found.percentile_s(q) for name, q in _PERCENTILES.items()},
        f"{kind}_max_s": found.max_s,
    }


def make_second_rows(
    window_id: str, seconds: Iterable[SecondMessage], latencies: Latencies
) -> list[Row]:
    """Rows of SECONDS: each second's types in the workload's order, then `all`."""
    logged: dict[int, dict[str, LoggedHistogram]] = {}
    for interval in latencies.response:
        by_type = logged.setdefault(_convert_to_ms(interval.started_at_s), {})
        had = by_type.get(interval.tag)
        both = interval.histogram if had is None else merge((had, interval.histogram))
        by_type[interval.tag] = both or interval.histogram
    rows: list[Row] = []
    for second in seconds:
        head = {
            "window_id": window_id, "second": second.second, "at_s": second.at_s,
            "phase": second.phase,
        }  # fmt: skip
        at_ms = _convert_to_ms(second.at_s)
        # The time stamp in the log is rounded.
        found = next((logged[at] for at in (at_ms, at_ms - 1, at_ms + 1) if at in logged), {})
        whole = [(transaction.name, [transaction], None) for transaction in second.transactions]
        for name, own, waiting in [*whole, (ALL, list(second.transactions), second.waiting)]:
            counts = {count: sum(vars(each)[count] for each in own) for count in _COUNTS}
            merged = merge(found[each.name] for each in own if each.name in found)
            times = merged or LoggedHistogram({}, 0, 0)
            row = {**head, "transaction": name, **counts, "waiting": waiting}
            for p in ("p50", "p95", "p99"):
                row[f"response_{p}_s"] = times.percentile_s(_PERCENTILES[p])
            rows.append(row)
    return rows


def merge_seconds(
    window_id: str, hammers: Sequence[Sequence[SecondMessage]], latencies: Latencies
) -> list[Row]:
    """The same of several hammers that began together, second by second.

    The times of all logs are those of the first hammer.
    """
    first, *others = hammers
    by_second = [{each.second: each for each in other} for other in others]
    return make_second_rows(
        window_id,
        [
            add_second(each, [o[each.second] for o in by_second if each.second in o])
            for each in first
        ],
        latencies,
    )


def add_second(one: SecondMessage, others: Sequence[SecondMessage]) -> SecondMessage:
    """Add the same second of other hammers; percentiles of each say nothing of all together."""
    own = {transaction.name: transaction for transaction in one.transactions}
    for each in (each for other in others for each in other.transactions):
        had = vars(own[each.name]) if each.name in own else dict.fromkeys(_COUNTS, 0)
        counts = {name: vars(each)[name] + had[name] for name in _COUNTS}
        own[each.name] = each.model_copy(update={**counts, **dict.fromkeys(_LIVE)})
    waiting = one.waiting + sum(other.waiting for other in others)
    return one.model_copy(update={"transactions": tuple(own.values()), "waiting": waiting})


def _convert_to_ms(at_s: float) -> int:
    return round(at_s * 1000)


def make_window_numbers(
    summary: RunSummary,
    headline: str,
    all_service_p50_s: float | None,
    expected: Collection[str] = (),
) -> Row:
    """The columns of LOAD that the hammer knows; the caller adds what it knows itself.

    `headline` is the transaction type whose commits are counted. Rates divide by the
    measurement's real length; they are None where nothing was measured. `expected`: the classes of
    errors that another activity of the window causes on purpose.
    """
    unexpected = [each for each in summary.errors if each.kind not in expected]
    measured_s = summary.measure_to_s - summary.measure_from_s
    minutes = measured_s / 60
    committed = sum(
        transaction.committed
        for transaction in summary.transactions
        if transaction.name == headline
    )
    completed = sum(each.committed + each.rolled_back for each in summary.transactions)
    worst = max(unexpected, key=lambda error: error.count, default=None)
    numbers, lateness = summary.proof, decode(summary.lateness)
    connections, ledger = summary.connections, summary.ledger
    return {
        "headline_committed": committed,
        "transactions": completed,
        "headline_per_min": committed / minutes if minutes > 0 else None,
        "headline_per_s": committed / measured_s if measured_s > 0 else None,
        "tpm": completed / minutes if minutes > 0 else None,
        "errors": sum(error.count for error in unexpected),
        "errors_expected": sum(each.count for each in summary.errors if each.kind in expected),
        "error_text": worst and (f"{worst.code}: {worst.text}" if worst.code else worst.text),
        "retries": sum(each.retries for each in summary.transactions),
        "lateness_mean_s": lateness.mean_s,
        "lateness_p99_s": lateness.percentile_s(99),
        "service_p50_s": all_service_p50_s,
        "suppressed_arrivals": summary.suppressed_arrivals,
        "backlog": summary.backlog,
        "connections_opened": connections.opened,
        "connections_lost": connections.lost,
        "connections_reopened": connections.reopened,
        "first_success_s": connections.first_success_s,
        "gap_s": summary.gaps.longest_s,
        "gap_from_s": summary.gaps.longest_from_s,
        "user_gap_p50_s": summary.gaps.user_p50_s,
        "user_gap_p99_s": summary.gaps.user_p99_s,
        "user_gap_max_s": summary.gaps.user_max_s,
        "units_touched": summary.workload.get("units_touched"),
        "units_total": summary.workload.get("units_total"),
        "results_open": summary.workload.get("results_open"),
        "database_bytes": summary.sizes.database_bytes,
        "buffer_pool_bytes": summary.sizes.cache_bytes,
        "driver_nice": summary.driver.nice,
        "ledger_acknowledged": ledger.acknowledged if ledger else None,
        "ledger_sync_max_s": ledger.slowest_sync_s if ledger else None,
        "ledger_problem": ledger.problem if ledger else None,
        "driver_cpu_s": summary.driver.cpu_s,
        "driver_run_queue_s": summary.driver.run_queue_delay_s,
        "proof_before": numbers.before,
        "proof_after": numbers.after,
        "headline_acknowledged": numbers.acknowledged,
        "headline_in_doubt": numbers.in_doubt,
        "headline_in_doubt_found": numbers.in_doubt_found,
        "client_commits": summary.commits,
        "client_rollbacks": summary.rollbacks,
    }


def find_longest_response_s(latencies: Latencies) -> float | None:
    """The longest response time of the whole job, seconds; None without a log."""
    whole = merge(each.histogram for each in latencies.response)
    return None if whole is None else whole.max_s


def make_ledger_rows(window_id: str, summary: LedgerSummary) -> list[Row]:
    """Rows of LEDGER, one for each transaction that the workload keeps."""
    return [
        {"window_id": window_id, "deal": deal, **counts.model_dump()}
        for deal, counts in summary.entries.items()
    ]


def make_ledger_finding_rows(window_id: str, findings: Iterable[LedgerFinding]) -> list[Row]:
    """Rows of LEDGER_FINDINGS, in the order of the findings."""
    return [
        {"window_id": window_id, "deal": finding.entry, "kind": finding.kind, "text": finding.text}
        for finding in findings
    ]


def make_condition_rows(
    candidate: str, moment: str, conditions: Iterable[Condition], window_id: str | None = None
) -> list[Row]:
    """Rows of CONDITIONS; `moment` is `load`, `window` or `end`."""
    place = {"candidate": candidate, "window_id": window_id, "moment": moment}
    return [{**place, **condition.model_dump(exclude={"message"})} for condition in conditions]


SHAPE = (10, 0)
"""Of all histograms of the hammer, which have 3 digits from 1 µs up: log2 of half their sub-buckets
and of their unit."""


def make_histogram_rows(window_id: str, summary: RunSummary, latencies: Latencies) -> list[Row]:
    """Rows of HISTOGRAMS: the measurement by kind, transaction type and time."""
    kinds = ("response", "service", "pool-wait")
    every = (latencies.response, latencies.service, latencies.pool_wait)
    return [
        row
        for kind, intervals in zip(kinds, every, strict=True)
        for row in make_bucket_rows(window_id, kind, list_measured_intervals(intervals, summary))
    ]


def make_bucket_rows(
    window_id: str, kind: str, measured: Iterable[LoggedInterval]
) -> Iterator[Row]:
    """Rows of a kind, of the lines of a log that belong to the measurement."""
    parts: dict[str, list[LoggedHistogram]] = {}
    for interval in measured:
        parts.setdefault(interval.tag, []).append(interval.histogram)
    for transaction, histograms in parts.items():
        whole = merge(histograms)
        for bucket in whole.buckets() if whole else ():
            yield {
                "window_id": window_id, "kind": kind, "transaction": transaction,
                "bucket": bucket.index, "lowest_s": bucket.lowest_s, "highest_s": bucket.highest_s,
                "count": bucket.count,
            }  # fmt: skip


def read_histograms(paths: Sequence[Path], kind: str) -> dict[str, LoggedHistogram]:
    """The histograms of a kind by transaction type, those of all these tables added up.

    Raises OSError where one is missing, ValueError where one is damaged.
    """
    import polars as pl

    for path in paths:
        if not is_as_written(path, path.read_bytes()):
            raise ValueError(f"not a table of histograms: {path} is not what was written")
    try:
        rows = (
            pl.scan_parquet(list(paths), glob=False)
            .filter(pl.col("kind") == kind)
            .group_by("transaction", "bucket")
            .agg(pl.col("count").sum())
            .sort("transaction", "bucket")
            .collect()
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TextError("not a table of histograms") from error
    found: dict[str, LoggedHistogram] = {}
    for (name,), part in rows.partition_by("transaction", as_dict=True).items():
        counts = dict(zip(part["bucket"].to_list(), part["count"].to_list(), strict=True))
        found[str(name)] = LoggedHistogram(counts, *SHAPE)
    return found
