"""What proves that the work was done: ledgers, and how near the load came to its specification."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.invariants import count_servers
from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import count, duration, listing, plural
from stithy.results.manifest import LoadFacts, Manifest
from stithy.results.tables import GONE
from stithy.workloads.workload import Workload

COUNTS = (
    ("acknowledged", "Acknowledged"), ("lost", "Lost"), ("differing", "Differing"),
    ("refused", "Refused"), ("returned", "Returned"), ("in_doubt", "In doubt"),
    ("in_doubt_found", "In doubt, found"), ("unknown", "Not in the ledger"),
)  # fmt: skip


def counted(context: Context) -> PageTable:
    """What became of the transactions in each window's ledger, by their kind."""
    shows = (
        Show("window_id", "Window", "id"), Show("deal", "Kind"),
        *(Show(name, heading, "count") for name, heading in COUNTS),
    )  # fmt: skip
    order = context.run.window.select("window_id")
    frame = order.join(context.run.ledger, on="window_id", maintain_order="left_right")
    return PageTable("ledger", "Ledgers compared with the database", shows, frame)


def written(context: Context) -> PageTable:
    """How the ledgers were kept: what is durable, the slowest sync, what ended or hindered them."""
    frame = context.run.window.filter(_select_kept()).select(*(show.column for show in WRITTEN))
    return PageTable("ledgers-written", "Writing of the ledgers", WRITTEN, frame)


WRITTEN = (
    Show("window_id", "Window", "id"),
    Show("ledger_acknowledged", "Acknowledgements durable", "count"),
    Show("ledger_sync_max_s", "Slowest sync", "duration"),
    Show("ledger_shares", "Device shared with the volume"),
    Show("ledger_problem", "Ended early"),
    Show("ledger_unverified_because", "Not compared"),
)


def gone(context: Context) -> PageTable:
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


def ledgers_proven(context: Context) -> str | None:
    """That nothing acknowledged is missing, in one sentence; None where that is not known."""
    if context.run.ledger.is_empty() or list(ledger_flaws(context)):
        return None
    totals = _sum_counts(context)
    deals = listing([plural(n["acknowledged"], deal) for deal, n in totals.items()])
    doubt, found = (sum(n[key] for n in totals.values()) for key in ("in_doubt", "in_doubt_found"))
    verb = "was" if doubt == 1 else "were"
    doubts = f" {count(doubt)} {verb} in doubt, {count(found)} of them found." if doubt else ""
    return f"None of the {deals} that the ledgers hold as acknowledged is missing.{doubts}"


def ledger_flaws(context: Context) -> Iterator[str]:
    """What the ledgers show to be gone, and which of them prove nothing."""
    broken = context.run.ledger.filter(pl.any_horizontal(pl.col(*GONE) > 0))
    if not broken.is_empty():
        totals = {name: int(broken[name].sum()) for name in GONE}
        yield (
            f"ACKNOWLEDGED WORK IS GONE: the ledgers of "
            f"{plural(broken['window_id'].n_unique(), 'window')} show "
            f"{listing([f'{count(n)} {name}' for name, n in totals.items() if n])}."
        )
    because = context.run.window["ledger_unverified_because"].drop_nulls()
    if len(because):
        yield (
            f"{plural(len(because), 'ledger')} could not be compared with the database: "
            f"{because[0]}."
        )
    cut = context.run.window["ledger_problem"].drop_nulls()
    if len(cut):
        yield f"{plural(len(cut), 'ledger')} ended early: {cut[0]}."


def _sum_counts(context: Context) -> dict[str, dict[str, int]]:
    names = [name for name, _ in COUNTS]
    summed = context.run.ledger.group_by("deal", maintain_order=True).agg(pl.col(*names).sum())
    return {str(row.pop("deal")): row for row in summed.to_dicts()}


def _select_kept() -> pl.Expr:
    return pl.any_horizontal(
        pl.col("ledger_acknowledged", "ledger_unverified_because").is_not_null()
    )


Row = Mapping[str, Any]

FAR = 1.1
"""Own: above the bound by more than rounding and the ends of a window."""


def specified_sentences(context: Context) -> tuple[str, ...]:
    """Isolation, what is deferred, work for a unit of the size, and where the rest is listed."""
    manifest = context.manifest
    known = plugins(Workload)
    if manifest is None or manifest.given_workload is None or manifest.workload.name not in known:
        return ()
    workload = known[manifest.workload.name]
    windows = context.evidence.windows
    types = [window.transactions for window in windows]
    return (
        *_describe_isolation(workload, manifest.load, [window.row for window in windows]),
        *_describe_deferred(manifest, workload, types),
        *_describe_unit(manifest, workload, windows),
        *_describe_unproven(workload),
        f"All other differences from the specification, with reasons: {workload.deviations}.",
    )


def _describe_isolation(workload: Workload, load: LoadFacts, rows: list[Row]) -> Iterator[str]:
    yield workload.isolated(load.isolation.replace("-", " "))
    known = [each for each in rows if each["retries"] is not None and each["transactions"]]
    if repeated := sum(each["retries"] for each in known):
        done = sum(each["transactions"] for each in known)
        yield (
            f"{plural(repeated, 'attempt')} {'was' if repeated == 1 else 'were'} repeated after "
            f"conflicts, {count(1000 * repeated / done)} per 1,000 transactions. Response times "
            "include them."
        )


def _describe_deferred(
    manifest: Manifest, workload: Workload, types: list[Mapping[str, Row]]
) -> Iterator[str]:
    """Queue and execution of the slowest window, which no response time includes."""
    names = [each.name for each in workload.transactions if each.deferred]
    if manifest.load.is_open or not workload.defers(manifest.workload.options):
        return
    for name in names:
        yield f"Users did not wait for {name}: its response time is the time to queue it."
        own = [each[name] for each in types if name in each]
        queued = [each["pool_wait_p95_s"] for each in own if each["pool_wait_p95_s"] is not None]
        took = [each["service_p95_s"] for each in own if each["service_p95_s"] is not None]
        if queued and took:
            yield (
                f"In the slowest window the p95 of its wait in the queue was "
                f"{duration(max(queued))}, and the p95 of its execution {duration(max(took))}."
            )


def _describe_unproven(workload: Workload) -> Iterator[str]:
    """What the workload does not declare, once for all windows."""
    if workload.conditions is None:
        yield "The workload has no consistency conditions: none were verified."
    if not workload.counts_headline:
        yield (
            f"Its data do not show how many {workload.headline} transactions were done: "
            "the acknowledged ones were not compared with the database."
        )


def _describe_unit(
    manifest: Manifest, workload: Workload, windows: Sequence[Window]
) -> Iterator[str]:
    most, column = workload.throughput_per_unit_max, workload.throughput.known.column
    units = prod(manifest.workload.size.values())
    work = [
        window.row[column] / (window.row["units_total"] or units) / count_servers(window.values)
        for window in windows
        if window.row[column] is not None
    ]
    if most is None or not work or max(work) <= FAR * most:
        return
    found = f"The load had up to {count(max(work))} {workload.throughput.label}"
    because = workload.throughput_per_unit_because
    found += f" per {workload.unit}. {because} They give at most {most}."
    if manifest.load.pace == "keyed":
        yield found
        return
    yield f"{found} This load is not keyed: few users do the work of many, on less data."
