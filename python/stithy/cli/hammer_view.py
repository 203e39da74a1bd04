"""What `stithy hammer` shows: a line as things happen, a table at the end."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.cli.render import Align, say, show, show_json, table

if TYPE_CHECKING:
    from stithy.wire.messages import (
        AnyMessage,
        CalibrateSummary,
        Condition,
        LedgerSummary,
        LedgerWritten,
        PrepareSummary,
        Second,
    )
    from stithy.workload.hammer import Driven

Show = Callable[["AnyMessage"], None]


@dataclass(frozen=True)
class Outcome:
    """A run as it is shown: the hammer's summary, the numbers made of it, rows by transaction."""

    driven: "Driven"
    numbers: dict[str, Any]
    rows: list[dict[str, Any]]


def progress_line() -> Show:
    """Shows how far a long job is, once for each change of the stage or the tenth part done."""
    from stithy.wire.messages import Progress, Warning

    shown: set[tuple[str, int]] = set()

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, Progress):
            mark = (message.stage, 10 * message.done // max(1, message.total))
            if mark not in shown:
                shown.add(mark)
                say(f"{message.stage}: {message.done} of {message.total}")
        elif isinstance(message, Warning):
            say(f"warning: {message.text}")

    return tell


def second_line() -> Show:
    """Shows one line a second of a run."""
    from stithy.wire.messages import Second, Warning

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, Second):
            say(second_text(message))
        elif isinstance(message, Warning):
            say(f"warning: {message.text}")

    return tell


def second_text(second: "Second") -> str:
    """`  12 s  measure    2891 transactions  1240 new orders  new-order p95 18.5 ms  0 errors`."""
    done = sum(each.committed + each.rolled_back for each in second.transactions)
    errors = sum(each.errors for each in second.transactions)
    new = next((each for each in second.transactions if each.name == "new-order"), None)
    orders = new.committed if new else 0
    p95 = time_text(new.response_p95_s if new else None)
    return (
        f"{second.second:4d} s  {second.phase:8}{done:8d} transactions{orders:8d} new orders"
        f"  new-order p95 {p95:>8}  {errors} errors"
    )


def condition_line() -> Show:
    """Shows a condition as soon as it is verified."""
    from stithy.wire.messages import Condition

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, Condition):
            say(f"condition {message.number}: {'holds' if message.holds else 'BROKEN'}")

    return tell


def time_text(seconds: float | None) -> str:
    """A time for people, `-` where there is none."""
    from stithy.units import format_duration

    return "-" if seconds is None else format_duration(seconds)


def prepared(summary: "PrepareSummary") -> str:
    """Rows of each table, and how long it took."""
    rows: list[list[str]] = [[each.table, f"{each.rows:,}"] for each in summary.tables]
    took = (
        f"loaded in {time_text(summary.duration_s)}: rows {time_text(summary.copy_s)}, "
        f"indexes, keys and procedures {time_text(summary.index_s)}"
    )
    return f"{table(['table', 'rows'], rows, ['left', 'right'])}\n\n{took}\n{_sample(summary)}"


def _sample(summary: "PrepareSummary") -> str:
    from stithy.workload.hammer import text_percent

    sample = summary.sample
    saved, repeated = text_percent(sample)
    rows = 100 - 100 * sample.rows_compressed_bytes / sample.rows_bytes
    return (
        f"zstd saves {saved:.0f}% of the text and {rows:.0f}% of the rows; {repeated:.0f}% repeats"
    )


def outcome(driven: "Driven", hlog_stem: Path) -> Outcome:
    """A run with its numbers; the latency logs are at `hlog_stem`."""
    from stithy.results.convert import read_latencies, transaction_rows, window_numbers

    rows = transaction_rows("", driven.summary, read_latencies(hlog_stem))
    rows = [{key: value for key, value in row.items() if key != "window_id"} for row in rows]
    numbers = window_numbers(driven.summary, "new-order", rows[-1]["service_p50_s"])
    return Outcome(driven, numbers, rows)


def show_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Show a run on standard output."""
    if as_json:
        show_json(outcome_json(outcome))
    else:
        show(outcome_text(outcome))


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The run for programs; the summary is as on the wire."""
    return {
        **outcome.numbers,
        "transactions_by_type": outcome.rows,
        "warnings": [each.text for each in outcome.driven.warnings],
        "summary": outcome.driven.summary.model_dump(mode="json"),
    }


def outcome_text(outcome: Outcome) -> str:
    """The run for people: a row by transaction type, then what it comes to."""
    head = ["transaction", "committed", "rolled back", "errors", "retries"]
    times = ["p50", "p95", "p99", "max"]
    align: list[Align] = ["left", *(["right"] * 8)]  # type: ignore[list-item]  # of one Literal
    rows = [
        [
            row["transaction"],
            *(f"{row[name]:,}" for name in ("committed", "rolled_back", "errors", "retries")),
            *(time_text(row[f"response_{name}_s"]) for name in times),
        ]
        for row in outcome.rows
    ]
    return "\n".join([table([*head, *times], rows, align), "", *_totals(outcome)])


def _totals(outcome: Outcome) -> Iterable[str]:
    numbers, summary = outcome.numbers, outcome.driven.summary
    measured = time_text(summary.measure_to_s - summary.measure_from_s)
    users = "user" if summary.users == 1 else "users"
    state = "complete" if summary.complete else "CUT SHORT"
    yield f"{summary.users} {users}, measured for {measured}, {state}"
    yield f"NOPM {_rate(numbers['nopm'])}   TPM {_rate(numbers['tpm'])}"
    done = numbers["transactions"]
    cost = summary.driver.cpu_s / done if done else None
    lateness = time_text(summary.lateness.p99_s)
    yield f"driver: {time_text(cost)} of CPU a transaction, lateness p99 {lateness}"
    yield _orders_text(outcome)
    if summary.ledger is not None:
        yield _written_text(summary.ledger)
    for error in summary.errors:
        yield f"error {error.sqlstate or ''} ({error.count} times): {error.text}"


def _orders_text(outcome: Outcome) -> str:
    orders = outcome.driven.summary.order_numbers
    if orders.before is None or orders.after is None:
        return "order numbers: could not be read"
    grown = orders.after - orders.before
    expected = orders.acknowledged + (orders.in_doubt_found or 0)
    verdict = "agree" if grown == expected else "DISAGREE"
    return f"order numbers {verdict}: grown by {grown:,}, acknowledged {expected:,}"


def _written_text(written: "LedgerWritten") -> str:
    ended = f"; ENDED EARLY: {written.problem}" if written.problem else ""
    slowest = time_text(written.slowest_sync_s)
    return (
        f"ledger: {written.acknowledged:,} acknowledgements durable, {written.syncs:,} syncs, "
        f"slowest {slowest}{ended}"
    )


FINDINGS = {
    "lost": "LOST",
    "differs": "DIFFERS",
    "returned": "ROLLED BACK, YET THERE",
    "doubt-committed": "in doubt, committed",
    "doubt-absent": "in doubt, not committed",
    "unknown": "not in the ledger",
}
"""What each kind of finding is called."""


def finding_line() -> Show:
    """Shows a finding of a ledger as soon as it is made."""
    from stithy.wire.messages import LedgerFinding

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, LedgerFinding):
            say(f"{FINDINGS[message.kind]}: {message.text}")

    return tell


def ledger_text(summary: "LedgerSummary") -> str:
    """Orders and payments by what became of them, and the answer."""
    kept = {"orders": summary.orders, "payments": summary.payments}
    names = list(type(summary.orders).model_fields)
    rows = [
        [deal, *(f"{getattr(counts, name):,}" for name in names)] for deal, counts in kept.items()
    ]
    head = ["", *(name.replace("_", " ") for name in names)]
    align: list[Align] = ["left", *(["right"] * len(names))]  # type: ignore[list-item]  # of one Literal
    answer = "✓ nothing acknowledged was lost" if summary.holds else "✗ ACKNOWLEDGED WORK IS GONE"
    torn = f"; the ledger's last {summary.torn_bytes:,} bytes were never synced"
    return f"{table(head, rows, align)}\n\n{answer}{torn if summary.torn_bytes else ''}"


def trial_line() -> Show:
    """Shows each rate that was tried."""
    from stithy.wire.messages import Progress

    def tell(message: "AnyMessage") -> None:
        if isinstance(message, Progress):
            say(message.stage)

    return tell


def calibrated(summary: "CalibrateSummary") -> str:
    """A row a trial by rising rate, and the answer."""
    head = [
        "transactions a s",
        "on time",
        "lateness p99",
        "service p50",
        "driver CPU a transaction",
    ]
    rows = [
        [
            f"{trial.rate_per_s:,.0f}",
            "yes" if trial.on_time else "NO",
            time_text(trial.lateness_p99_s),
            time_text(trial.service_p50_s),
            time_text(trial.driver_cpu_s / trial.done if trial.done else None),
        ]
        for trial in sorted(summary.trials, key=lambda trial: trial.rate_per_s)
    ]
    most = summary.rate_per_s_max
    over = f"over {summary.connections} connections"
    answer = (
        f"on time up to {most:,.0f} transactions a second {over}; ask for at most half of it"
        if most
        else f"late at every rate {over}: this host is busy, or too slow for the driver"
    )
    align: list[Align] = ["right", "left", "right", "right", "right"]
    return f"{table(head, rows, align)}\n\n{answer}"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def conditions_text(conditions: Iterable["Condition"]) -> str:
    """A row a condition, with a mark and the word."""
    rows = [
        [
            f"{each.number}",
            "✓ holds" if each.holds else "✗ BROKEN",
            time_text(each.duration_s),
            each.text if each.holds else f"{each.text} — {_damage(each)}",
        ]
        for each in conditions
    ]
    return table(["condition", "result", "time", "what must hold"], rows, ["right", *["left"] * 3])  # type: ignore[list-item]  # of one Literal


def _damage(condition: "Condition") -> str:
    example = f", such as {condition.example}" if condition.example else ""
    rows = "row breaks" if condition.violations == 1 else "rows break"
    return f"{condition.violations} {rows} it{example}"
