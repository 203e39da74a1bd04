"""What proves that the work was done, and what a transaction took and cost the machine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from statistics import fmean, median
from typing import Any

import polars as pl

from stithy.analysis.analyze import list_isolations
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.invariants import count_servers, is_one_commit
from stithy.analysis.series import EACH_ITS_OWN
from stithy.metrics import ALL, Quantity, count_values_needed
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import (
    explain_missing,
    format_number,
    format_range,
    name_upper_bound,
)
from stithy.results.manifest import Manifest
from stithy.results.tables import GONE
from stithy.statements import Statement, Styled, join_list
from stithy.units import format_list
from stithy.workloads.workload import Workload

PERCENTILES = ("p50", "p95")

TYPES_NOTE = (
    "Ratios are paired by block, like those of the verdicts. They are exploratory, and not "
    "adjusted for the number of types. A dash means that fewer than 100 values lie beyond the "
    "percentile. For a percentile all valid windows count together, for a ratio each one alone."
)
"""What stands below the table."""

Row = dict[str, Any]


def make_types_table(context: Context) -> PageTable:
    """One row a type, percentile and pair of candidates, at the level that the answer tells of.

    Empty with a single candidate. Where nothing of a percentile is known it has no row.
    """
    evidence, point = context.evidence, context.answer_level
    first, *others = evidence.candidates or ("",)
    rows = [
        _make_row(context, point, (first, name), Quantity(percentile, kind))
        for kind in dict.fromkeys(
            kind for window in evidence.windows for kind in window.transactions
        )
        if kind != ALL
        for percentile in PERCENTILES
        for name in others
        if point is not None
    ]
    known = [row for row in rows if row["a_s"] is not None or row["b_s"] is not None]
    level = "" if point is None else f" {context.at(point)}"
    return make_table(
        "types", f"Response time by transaction type{level}", _list_columns(context, known), known,
        **context.factor_types, **dict.fromkeys(("a", "b", "missing_because"), pl.String),
        low=pl.Float64, high=pl.Float64, blocks=pl.Int64,
    )  # fmt: skip


def _list_columns(context: Context, rows: list[Row]) -> tuple[Show, ...]:
    names = context.evidence.candidates
    is_pair = len(names) == 2
    first = names[0] if names else "none"
    of = {"a_s": first, "b_s": names[1] if is_pair else "Candidate's"}
    ratio = f"{names[1]} ÷ {first}" if is_pair else f"Ratio to {first}"
    shows = [
        Show("transaction", "Transaction"), Show("percentile", "Percentile"),
        *(() if is_pair else (Show("b", "Candidate"),)),
        *(Show(column, text, "duration") for column, text in of.items()),
        Show("ratio", ratio, "ratio"),
    ]  # fmt: skip
    if any(row["low"] is not None for row in rows):
        high = name_upper_bound(row["blocks"] for row in rows)
        shows += [Show("low", "from", "ratio"), Show("high", high, "ratio")]
    return tuple(shows)


def _make_row(context: Context, point: Point, pair: tuple[str, str], quantity: Quantity) -> Row:
    evidence = context.evidence
    effect = evidence.effect(*pair, point, quantity)
    a_s, b_s = (_find_level(evidence, name, point, quantity) for name in pair)
    return {
        **context.list_factor_values(point), "transaction": quantity.of,
        "percentile": quantity.metric,
        "a": pair[0], "b": pair[1], "a_s": a_s, "b_s": b_s, "ratio": effect.ratio,
        "low": effect.low, "high": effect.high, "blocks": effect.pairs,
        "missing_because": effect.missing_because,
    }  # fmt: skip


def _find_level(evidence: Evidence, name: str, point: Point, quantity: Quantity) -> float | None:
    """The percentile over all valid windows, where enough of their values lie beyond it."""
    count = sum(each.completed(quantity.of or ALL) for each in evidence.valid_at(name, point))
    if count < count_values_needed(quantity.known.percent or 0.0):
        return None
    return evidence.level_of(name, point, quantity)


CPU_STATES = ("user_share", "nice_share", "system_share", "irq_share")
"""The states in which a CPU works: idle, waiting and stolen time is none of it."""

Seen = Mapping[tuple[str, str, str], float]
"""Means of one window by collector, subject and metric."""

Quotient = Callable[[Seen, int], float | None]
"""Of what was seen and the CPUs of the server; None where it was not seen."""


def make_work_table(context: Context) -> PageTable:
    """One row a candidate and level: medians over its valid windows."""
    rows = list(_make_work_rows(context))
    shows = (
        Show("candidate", "Candidate"),
        *context.factor_shows,
        Show("windows", "Windows", "count"), Show("log_bytes", "Log", "size"),
        Show("device_reads", "Device reads", "rate"),
        Show("server_cpu_s", f"{context.engine.server.capitalize()} CPU", "duration"),
        Show("hit_share", "Buffer hit ratio", "share"),
    )  # fmt: skip
    return make_table("work", "Work per transaction", shows, rows, missing_because=pl.String)


def write_work_note(shown: PageTable, server: str) -> str:
    """What the columns are, and why there are dashes. `server`: what runs the database."""
    known = shown.frame.select("candidate", "missing_because").drop_nulls("missing_because")
    return " ".join([
        "All values are medians over the valid windows. Log, reads and CPU time are means of the "
        f"measurement, divided by its transactions per second. Log is the growth of the {server}'s "
        "write-ahead log. Device reads are those of the busiest block device under the volumes. "
        f"{server.capitalize()} CPU is the busy time of the CPUs to which it is bound, with other "
        f"programs on them. The buffer hit ratio is the share of blocks found in the {server}'s "
        "own buffers.",
        *explain_missing(known.unique().sort("*").rows()),
    ])  # fmt: skip


def _make_work_rows(context: Context) -> Iterator[Row]:
    evidence = context.evidence
    seen: dict[str, dict[tuple[str, str, str], float]] = {}
    means = context.sampled.means.select("window_id", "collector", "subject", "metric", "mean")
    for window_id, collector, subject, metric, mean in means.iter_rows():
        seen.setdefault(window_id, {})[collector, subject, metric] = mean
    for point in evidence.points:
        for name in evidence.candidates:
            if evidence.at(name, point):
                valid = evidence.valid_at(name, point)
                yield {
                    "candidate": name,
                    **context.list_factor_values(point),
                    **_make_work_row(context, valid, seen),
                }


def _make_work_row(context: Context, valid: Sequence[Window], seen: Mapping[str, Seen]) -> Row:
    rates = {
        each.id: each.row["transactions"] / each.measured_s
        for each in valid
        if each.measured and each.row["transactions"] and each.measured_s
    }
    cpus = {each.id: int(each.row["server_cpus"] or 0) for each in valid}
    row: Row = {"windows": len(valid)}
    missing = []
    for column, (what, of, collector) in QUOTIENTS.items():
        found = ((of(seen.get(name, {}), cpus[name]), rate) for name, rate in rates.items())
        known = [value / (1.0 if column == SHARE else rate) for value, rate in found
                 if value is not None]  # fmt: skip
        row[column] = median(known) if known else None
        if not known:
            missing.append(f"{what} ({_explain(context, collector, rates, any(cpus.values()))})")
    if not valid:
        missing = ["all values of a level without a valid window"]
    return {**row, "missing_because": f"{format_list(missing)}." if missing else None}


def _explain(context: Context, collector: str, rates: Mapping[str, float], bound: bool) -> str:
    if not rates:
        return "no valid window completed a transaction"
    of_these = pl.col("window_id").is_in(list(rates)) & (pl.col("collector") == collector)
    if not context.sampled.of_instances.filter(of_these).is_empty():
        return EACH_ITS_OWN
    ended = context.sampled.ended.filter(of_these)
    if not ended.is_empty():
        return str(ended["missing_because"][0])
    if collector == "cpu" and not bound:
        return f"the {context.engine.server} has no CPUs of its own"
    if collector == "block":
        return "no block device under its volumes was sampled"
    return f"the collector `{collector}` has no samples of it"


def _compute_reads(seen: Seen) -> float | None:
    # A volume's layers count the same reads, so they are not summed up.
    reads = (mean for (of, _, name), mean in seen.items() if (of, name) == ("block", "reads_per_s"))
    return max(reads, default=None)


def _compute_cpu(seen: Seen, cpus: int) -> float | None:
    shares = [seen.get(("cpu", "server", state)) for state in CPU_STATES]
    known = [share for share in shares if share is not None]
    return sum(known) * cpus if cpus and len(known) == len(shares) else None


def _compute_hit_share(seen: Seen) -> float | None:
    hit, read = (seen.get(("database", "", f"blocks_{what}_per_s")) for what in ("hit", "read"))
    return None if hit is None or read is None or not hit + read else hit / (hit + read)


SHARE = "hit_share"
QUOTIENTS: Mapping[str, tuple[str, Quotient, str]] = {
    "log_bytes": ("log", lambda seen, _: seen.get(("database", "", "log_bytes_per_s")), "database"),
    "device_reads": ("device reads", lambda seen, _: _compute_reads(seen), "block"),
    "server_cpu_s": ("server CPU", _compute_cpu, "cpu"),
    SHARE: ("buffer hit ratio", lambda seen, _: _compute_hit_share(seen), "database"),
}
"""By column: what it is called, its value a second, and the collector that tells of it.

All but the share are divided by the transactions of a second.
"""

COUNTS = (
    ("acknowledged", "Acknowledged"), ("lost", "Lost"), ("differing", "Differing"),
    ("refused", "Refused"), ("returned", "Returned"), ("in_doubt", "In doubt"),
    ("in_doubt_found", "In doubt, found"), ("unknown", "Not in the ledger"),
)  # fmt: skip


def list_counted(context: Context) -> PageTable:
    """What became of the transactions in each window's ledger, by their kind."""
    shows = (
        Show("window_id", "Window", "id"), Show("deal", "Kind"),
        *(Show(name, heading, "count") for name, heading in COUNTS),
    )  # fmt: skip
    order = context.run.window.select("window_id")
    frame = order.join(context.run.ledger, on="window_id", maintain_order="left_right")
    return PageTable("ledger", "Ledgers compared with the database", shows, frame)


def list_written(context: Context) -> PageTable:
    """How the ledgers were kept: what is durable, the slowest sync, what ended or hindered them."""
    kept = pl.col("ledger_acknowledged", "ledger_unverified_because").is_not_null()
    windows = context.run.window.filter(pl.any_horizontal(kept))
    frame = windows.select(*(show.column for show in WRITTEN))
    return PageTable("ledgers-written", "Writing of the ledgers", WRITTEN, frame)


WRITTEN = (
    Show("window_id", "Window", "id"),
    Show("ledger_acknowledged", "Acknowledgements durable", "count"),
    Show("ledger_sync_max_s", "Slowest sync", "duration"),
    Show("ledger_shares", "Device shared with the volume"),
    Show("ledger_problem", "Ended early"),
    Show("ledger_unverified_because", "Not compared"),
)


def list_gone(context: Context) -> PageTable:
    """The first transactions of each window that ledger and database tell differently."""
    return PageTable(
        "ledger-findings",
        "Transactions on which ledger and database disagree",
        (
            Show("window_id", "Window", "id"), Show("deal", "Kind"), Show("kind", "Finding"),
            Show("text", "Transaction"),
        ),
        context.run.ledger_findings,
    )  # fmt: skip


def describe_proven(context: Context) -> str | None:
    """That nothing acknowledged is missing, in one sentence; None where that is not known."""
    if context.run.ledger.is_empty() or list(list_ledger_flaws(context)):
        return None
    names = [name for name, _ in COUNTS]
    summed = context.run.ledger.group_by("deal", maintain_order=True).agg(pl.col(*names).sum())
    totals = {str(row.pop("deal")): row for row in summed.to_dicts()}
    deals = [
        Statement(f"{{acknowledged:+{deal}}}", acknowledged=n["acknowledged"], deal=deal)
        for deal, n in totals.items()
    ]
    doubt, found = (sum(n[key] for n in totals.values()) for key in ("in_doubt", "in_doubt_found"))
    doubts = " {in_doubt:,} {in_doubt:was|were} in doubt, {in_doubt_found:,} of them found."
    return Statement(
        "None of the {deals} that the ledgers hold as acknowledged is missing."
        + (doubts if doubt else ""),
        deals=join_list(deals),
        in_doubt=doubt,
        in_doubt_found=found,
    )


def list_ledger_flaws(context: Context) -> Iterator[str]:
    """What the ledgers show to be gone, and which of them prove nothing."""
    broken = context.run.ledger.filter(pl.any_horizontal(pl.col(*GONE) > 0))
    if not broken.is_empty():
        totals = {name: int(broken[name].sum()) for name in GONE}
        gone = [Statement("{gone:,} {kind}", gone=n, kind=name) for name, n in totals.items() if n]
        yield Statement(
            "ACKNOWLEDGED WORK IS GONE: the ledgers of {broken_ledgers:+window} show {all_gone}.",
            broken_ledgers=broken["window_id"].n_unique(), all_gone=join_list(gone),
        )  # fmt: skip
    because = context.run.window["ledger_unverified_because"].drop_nulls()
    if len(because):
        yield Statement(
            "{unverified:+ledger} could not be compared with the database: {because}.",
            unverified=len(because), because=because[0],
        )  # fmt: skip
    cut = context.run.window["ledger_problem"].drop_nulls()
    if len(cut):
        yield Statement("{cut:+ledger} ended early: {because}.", cut=len(cut), because=cut[0])


FAR = 1.1
"""Own: above the bound by more than rounding and the ends of a window."""

OF_NOBODY = (
    "No user begins or awaits {}: they are among all transactions, in their number per minute and "
    "in their response times."
)


def describe_specified(context: Context) -> tuple[str, ...]:
    """Isolation, waits, what is deferred, work for a unit of the size, where the rest is listed."""
    manifest = context.manifest
    known = plugins(Workload)
    if manifest is None or manifest.given_workload is None or manifest.workload.name not in known:
        return ()
    workload = known[manifest.workload.name]
    windows = context.evidence.windows
    types = [window.transactions for window in windows]
    others = format_list(workload.begun_by_others)
    return (
        *map(workload.isolated, list_isolations(manifest.load, manifest.by_engine)),
        *filter(None, [context.engine.wait_note]),
        *_describe_retries([window.row for window in windows]),
        *_describe_deferred(manifest, workload, types),
        *([OF_NOBODY.format(others)] if others else []),
        *_describe_exchange(windows),
        *_describe_unit(manifest, workload, windows),
        *describe_nominal(manifest, workload, windows),
        *_describe_unproven(workload),
        *_describe_uncounted(context, workload),
        f"All other differences from the specification, with reasons: {workload.deviations}.",
    )


def _describe_unproven(workload: Workload) -> Iterator[str]:
    """What the workload does not declare, once for all windows."""
    if workload.conditions is None:
        yield "The workload has no consistency conditions: none were verified."
    if not workload.counts_headline:
        names = dict.fromkeys((workload.headline, "transaction"))
        yield (
            f"Its data do not show how many {' '.join(names)}s were done: "
            "the acknowledged ones were not compared with the database."
        )


def _describe_uncounted(context: Context, workload: Workload) -> Iterator[str]:
    """Engines that do not count each transaction of some windows once."""
    for name, engine in context.engines.items():
        shown = context.select_engine(name).evidence.windows
        if engine.commits is not None and not all(
            is_one_commit(window.row, engine.commits, workload) for window in shown
        ):
            yield (
                f"{name} need not count each of these transactions as one commit. Its commit "
                "counter was compared only where it does."
            )


def _describe_retries(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    known = [row for row in rows if row["retries"] is not None and row["transactions"]]
    if repeated := sum(each["retries"] for each in known):
        per_1000 = 1000 * repeated / sum(each["transactions"] for each in known)
        yield Statement(
            "{retries:+attempt} {retries:was|were} repeated after conflicts, {per_1000} per "
            "1,000 transactions. Response times include them.",
            retries=repeated, per_1000=Styled(per_1000, format_number(per_1000)),
        )  # fmt: skip


def _describe_deferred(
    manifest: Manifest, workload: Workload, types: list[Mapping[str, Mapping[str, Any]]]
) -> Iterator[str]:
    names = [transaction.name for transaction in workload.transactions if transaction.deferred]
    if manifest.load.is_open or not workload.defers(manifest.workload.options):
        return
    for name in names:
        yield f"Users did not wait for {name}: its response time is the time to queue it."
        own = [each[name] for each in types if name in each]
        queued = [each["pool_wait_p95_s"] for each in own if each["pool_wait_p95_s"] is not None]
        took = [each["service_p95_s"] for each in own if each["service_p95_s"] is not None]
        if queued and took:
            yield Statement(
                "In the slowest window the p95 of its wait in the queue was {queued:duration}, and "
                "the p95 of its execution {took:duration}.",
                transaction=name, queued=max(queued), took=max(took),
            )  # fmt: skip


def _describe_exchange(windows: Sequence[Window]) -> Iterator[str]:
    if owed := [n for window in windows if (n := window.row.get("results_open")) is not None]:
        yield Statement("When a window ended, the market exchange still owed the results of "
                        "{owed:+order} at most.", owed=max(owed))  # fmt: skip


def _describe_unit(
    manifest: Manifest, workload: Workload, windows: Sequence[Window]
) -> Iterator[str]:
    most, column = workload.throughput_per_unit_max, workload.throughput.known.column
    sizes = manifest.workload.every_size
    units = fmean(prod(size.values()) for size in sizes)
    work = [
        window.row[column] / (window.row["units_total"] or units) / count_servers(window.values)
        for window in windows
        if window.row[column] is not None
    ]
    if most is None or not work or max(work) <= FAR * most:
        return
    more = " This load is not keyed: few users do the work of many, on less data."
    yield Statement(
        f"The load had up to {{of_unit:,.0f}} {workload.throughput.label} per {workload.unit}. "
        "{because} They give at most {of_unit_max}." + more * (manifest.load.pace != "keyed"),
        of_unit=max(work),
        because=workload.throughput_per_unit_because,
        of_unit_max=most,
    )


ALLOWED = 1.02
"""Times the nominal rate that a result may have at most. Source: TPC-E 1.14, scaling."""


def describe_nominal(
    manifest: Manifest, workload: Workload, windows: Sequence[Window]
) -> Iterator[Statement]:
    """The rate of windows by what is specified for the size of the database."""
    column, times, rates = workload.throughput.known.column, list[float](), set[float]()
    for window in windows:
        varied = {name.removeprefix("workload."): n for name, n in window.point.values.items()}
        sizes = ({key: int(varied.get(key, number)) for key, number in size.items()}
                 for size in manifest.workload.every_size)  # fmt: skip
        known = [rate for size in sizes if (rate := workload.get_nominal_rate(size)) is not None]
        if known and window.row[column] is not None:
            rates.add(fmean(known))
            times.append(window.row[column] / count_servers(window.values) / fmean(known))
    if not times:
        return
    more = (
        " The specification allows at most {allowed:.2f} times: here few customers do the work of "
        "many."
    )
    yield Statement(
        f"The load had {{times}} times the nominal {workload.throughput.label} of its size, "
        "{rates}." + more * (max(times) > ALLOWED),
        times=format_range(f"{min(times):,.2f}", f"{max(times):,.2f}"), least=min(times),
        most=max(times), rates=format_range(f"{min(rates):,.0f}", f"{max(rates):,.0f}"),
        nominal=min(rates), nominal_most=max(rates), allowed=ALLOWED,
    )  # fmt: skip
