"""What `stithy hammer run` shows: a line a second, a table at the end."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.cli.hammer.shown import Show, rate_text, time_text
from stithy.cli.render import Align, say, show, show_json, table

if TYPE_CHECKING:
    from stithy.wire.messages import AnyMessage, LedgerWritten, Second
    from stithy.workload.hammer import Driven


@dataclass(frozen=True)
class Outcome:
    """A run as it is shown: the hammer's summary, the numbers made of it, rows by transaction."""

    driven: "Driven"
    numbers: dict[str, Any]
    rows: list[dict[str, Any]]


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
    yield f"NOPM {rate_text(numbers['nopm'])}   TPM {rate_text(numbers['tpm'])}"
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
