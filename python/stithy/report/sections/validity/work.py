"""What each transaction type took, and what a transaction cost the machine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import polars as pl

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.series import EACH_ITS_OWN
from stithy.metrics import ALL, Quantity, count_values_needed
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import listing, missing_for, upper_bound

PERCENTILES = ("p50", "p95")

TYPES_NOTE = (
    "Ratios are paired by block, like those of the verdicts. They are exploratory, and not "
    "adjusted for the number of types. A dash means that fewer than 100 values lie beyond the "
    "percentile. For a percentile all valid windows count together, for a ratio each one alone."
)
"""What stands below the table."""

Row = dict[str, Any]


def types_table(context: Context) -> PageTable:
    """One row a type, percentile and pair of candidates, at the level that the answer tells of.

    Empty with a single candidate. Where nothing of a percentile is known it has no row.
    """
    evidence, point = context.evidence, context.answer_level
    first, *others = evidence.candidates or ("",)
    rows = [
        _make_row(context, point, (first, name), Quantity(percentile, kind))
        for kind in _list_types(evidence)
        for percentile in PERCENTILES
        for name in others
        if point is not None
    ]
    known = [row for row in rows if row["a_s"] is not None or row["b_s"] is not None]
    level = "" if point is None else f" {context.at(point)}"
    return table_of(
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
        high = upper_bound(row["blocks"] for row in rows)
        shows += [Show("low", "from", "ratio"), Show("high", high, "ratio")]
    return tuple(shows)


def _list_types(evidence: Evidence) -> list[str]:
    named = (kind for window in evidence.windows for kind in window.transactions)
    return [kind for kind in dict.fromkeys(named) if kind != ALL]


def _make_row(context: Context, point: Point, pair: tuple[str, str], quantity: Quantity) -> Row:
    evidence = context.evidence
    effect = evidence.effect(*pair, point, quantity)
    a_s, b_s = (_find_level(evidence, name, point, quantity) for name in pair)
    return {
        **context.factor_values(point), "transaction": quantity.of, "percentile": quantity.metric,
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


def work_table(context: Context) -> PageTable:
    """One row a candidate and level: medians over its valid windows."""
    rows = list(_make_work_rows(context))
    shows = (
        Show("candidate", "Candidate"),
        *context.factor_shows,
        Show("windows", "Windows", "count"), Show("log_bytes", "Log", "size"),
        Show("device_reads", "Device reads", "rate"),
        Show("server_cpu_s", "Server CPU", "duration"),
        Show("hit_share", "Buffer hit ratio", "share"),
    )  # fmt: skip
    return table_of("work", "Work per transaction", shows, rows, missing_because=pl.String)


def work_note(shown: PageTable) -> str:
    """What the columns are, and why there are dashes."""
    return " ".join([
        "All values are medians over the valid windows. Log, reads and CPU time are means of the "
        "measurement, divided by its transactions per second. Log is the growth of the server's "
        "write-ahead log. Device reads are those of the busiest block device under the volumes. "
        "Server CPU is the busy time of the CPUs to which the server is bound, with other programs "
        "on them. The buffer hit ratio is the share of blocks found in the server's own buffers.",
        *_explain_gaps(shown.frame),
    ])  # fmt: skip


def _explain_gaps(frame: pl.DataFrame) -> Iterator[str]:
    known = frame.filter(pl.col("missing_because").is_not_null())
    yield from missing_for(known.select("candidate", "missing_because").unique().sort("*").rows())


def _make_work_rows(context: Context) -> Iterator[Row]:
    evidence, seen = context.evidence, _sum_samples(context)
    for point in evidence.points:
        for name in evidence.candidates:
            if evidence.at(name, point):
                valid = evidence.valid_at(name, point)
                yield {
                    "candidate": name,
                    **context.factor_values(point),
                    **_make_work_row(context, valid, seen),
                }


def _make_work_row(context: Context, valid: Sequence[Window], seen: Mapping[str, Seen]) -> Row:
    rates = {each.id: rate for each in valid if (rate := _compute_rate(each))}
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
    return {**row, "missing_because": f"{listing(missing)}." if missing else None}


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
        return "the server has no CPUs of its own"
    if collector == "block":
        return "no block device under its volumes was sampled"
    return f"the collector `{collector}` has no samples of it"


def _compute_rate(window: Window) -> float | None:
    done, length_s = window.row["transactions"], window.measured_s
    return done / length_s if window.measured and done and length_s else None


def _sum_samples(context: Context) -> dict[str, Seen]:
    found: dict[str, Any] = {}
    columns = ("window_id", "collector", "subject", "metric", "mean")
    for name, collector, subject, metric, mean in context.sampled.means.select(columns).iter_rows():
        found.setdefault(name, {})[collector, subject, metric] = mean
    return found


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
