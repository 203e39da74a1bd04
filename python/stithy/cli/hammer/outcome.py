"""What `stithy hammer run` shows: a line a second, a table at the end."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stithy.cli.talk.render import format_rate_text, format_time_text, make_table
from stithy.metrics import BEYOND_LEAST, has_enough

if TYPE_CHECKING:
    from stithy.wire.hammer import Driven
    from stithy.wire.jobs import RunRequest
    from stithy.wire.messages import SecondMessage, TransactionSecond
    from stithy.workloads.workload import Driving, Options, Workload, WorkloadKeys


@dataclass(frozen=True)
class DrivenWorkload:
    """The workload of a run, and how it was driven."""

    section: "WorkloadKeys"
    driving: "Driving"

    @property
    def workload(self) -> "Workload":
        """What is known of the workload itself."""
        from stithy.study.sections import get_workload

        return get_workload(self.section.name)

    @property
    def options(self) -> "Options":
        """What the workload's own keys say, defaults resolved."""
        return self.section.options(self.driving)


@dataclass(frozen=True)
class HammerOutcome:
    """A run as it is shown: what was asked and given, the numbers made of it, rows by type.

    `buffers`: what the engine calls its buffer pool.
    """

    driven: "Driven"
    request: "RunRequest"
    asked: DrivenWorkload
    numbers: dict[str, Any]
    rows: list[dict[str, Any]]
    buffers: str


def describe_second(headline: str, second: "SecondMessage") -> str:
    """`  12 s  measure    2891 transactions    1240 new-order  p95  18.5 ms  0 errors`.

    `headline`: the type that stands for all; one that is the only one is not counted twice.
    """
    done = sum(map(_count_done, second.transactions))
    errors = sum(transaction.errors for transaction in second.transactions)
    of = next((kind for kind in second.transactions if kind.name == headline), None)
    p95 = format_time_text(
        of.live_p95_s if of and has_enough("response_p95_s", _count_done(of)) else None
    )
    mine = f"{of.committed if of else 0:8d} {headline}" if len(second.transactions) != 1 else ""
    return (
        f"{second.second:4d} s  {second.phase:8}{done:8d} transactions"
        f"{mine}  p95 {p95:>8}  {errors} errors"
        + (f"  {second.waiting} waiting" if second.waiting else "")
    )


def _count_done(of: "TransactionSecond") -> int:
    return of.committed + of.rolled_back


def make_outcome(
    driven: "Driven", request: "RunRequest", asked: DrivenWorkload, buffers: str
) -> HammerOutcome:
    """A run with its numbers."""
    from stithy.results.convert import make_transaction_rows, make_window_numbers

    rows = make_transaction_rows("", driven.summary)
    rows = [{key: value for key, value in row.items() if key != "window_id"} for row in rows]
    headline = asked.workload.headline
    numbers = make_window_numbers(driven.summary, headline, rows[-1]["service_p50_s"])
    return HammerOutcome(driven, request, asked, numbers, rows, buffers)


def make_outcome_json(outcome: HammerOutcome) -> dict[str, Any]:
    """The run for programs; the summary is as on the wire."""
    asked, section = outcome.request, outcome.asked.section
    return {
        "users": asked.users,
        "connections": asked.connections,
        "pace": asked.pace.model_dump(mode="json"),
        "workload": {"name": section.name, "size": dict(section.size), **outcome.asked.options},
        **outcome.numbers,
        "transactions_by_type": outcome.rows,
        "warnings": [warning.text for warning in outcome.driven.warnings],
        "summary": outcome.driven.summary.model_dump(mode="json"),
    }


def make_outcome_text(outcome: HammerOutcome) -> str:
    """The run for people: a row by transaction type, then what it comes to."""
    head = ["transaction", "committed", "rolled back", "errors", "retries"]
    times = ["p50", "p95", "p99", "max"]
    rows = [
        [
            row["transaction"],
            *(f"{row[name]:,}" for name in ("committed", "rolled_back", "errors", "retries")),
            *(_format_time(row, f"response_{name}_s") for name in times),
        ]
        for row in outcome.rows
    ]
    by_type = make_table([*head, "response p50", *times[1:]], rows, "<>>>>>>>>")
    # What must be read before any number.
    label = outcome.asked.workload.label(outcome.asked.options, outcome.asked.section.size)
    tables = [by_type, "", _make_times(outcome)]
    if not has_enough("response_p99_s", min(map(_count_row, outcome.rows))):
        tables.append(f"-: fewer than {BEYOND_LEAST} values lie beyond the percentile")
    return "\n".join([*([f"{label}\n"] if label else []), *tables, "", *_describe_totals(outcome)])


def _count_row(row: dict[str, Any]) -> int:
    return int(row["committed"] + row["rolled_back"])


def _format_time(row: dict[str, Any], column: str) -> str:
    return format_time_text(row[column] if has_enough(column, _count_row(row)) else None)


def _make_times(outcome: HammerOutcome) -> str:
    from stithy.results.convert import describe_distribution
    from stithy.results.hlog import decode

    marks = ["p50", "p95", "p99", "p999", "max"]
    merged = outcome.rows[-1]
    shown = merged | describe_distribution("lateness", decode(outcome.driven.summary.lateness))
    rows = [
        [name.replace("_", " "), *(_format_time(shown, f"{name}_{mark}_s") for mark in marks)]
        for name in ("response", "pool_wait", "service", "lateness")
        if name != "pool_wait" or merged["pool_wait_p50_s"] is not None
    ]
    return make_table(["all types", *marks[:3], "p99.9", "max"], rows, "<>>>>>")


def _describe_totals(outcome: HammerOutcome) -> Iterable[str]:
    from stithy.workloads.words import describe_reach

    numbers, summary = outcome.numbers, outcome.driven.summary
    measured = format_time_text(summary.measure_to_s - summary.measure_from_s)
    state = "complete" if summary.complete else "CUT SHORT"
    yield f"{_describe_users(outcome.request, outcome.asked)}, measured for {measured}, {state}"
    rates = outcome.asked.workload.rates
    yield "   ".join(
        f"{rate.label} {format_rate_text(numbers[rate.known.column])}" for rate in rates
    )
    section, driving = outcome.asked.section, outcome.asked.driving
    total, sizes = section.units, summary.sizes
    units = outcome.asked.workload.units
    known = (sizes.database_bytes, sizes.cache_bytes)
    # Users with a home reach fewer than a share of the data says.
    touched = summary.workload.get("units_touched", driving.touched(total))
    yield describe_reach(touched, total, units, *known, buffers=outcome.buffers)
    if summary.suppressed_arrivals is not None:
        held = "during answers of over ten times their median"
        yield f"suppressed arrivals: {summary.suppressed_arrivals:,} {held}"
    if summary.backlog or summary.suppressed_arrivals is None:
        yield f"backlog at end: {summary.backlog:,} were due and had not begun"
    counts = summary.connections
    if counts.lost:
        back = format_time_text(counts.first_success_s)
        success = "no success" if counts.first_success_s is None else f"first success {back}"
        yield (
            f"connections: {counts.lost:,} of {counts.opened:,} lost, {counts.reopened:,} opened "
            f"again, {success} after the loss"
        )
    driver, done = summary.driver, numbers["transactions"]
    cpu = format_time_text(driver.cpu_s / done if done else None)
    nice = "not known" if driver.nice is None else f"{driver.nice}"
    queued = format_time_text(driver.run_queue_delay_s)
    cost = f"driver: {cpu} of CPU per transaction"
    yield f"{cost}, waited {queued} for a CPU, priority (nice) {nice}"
    if outcome.asked.workload.counts_headline:
        yield _describe_proof(outcome)
    if (written := summary.ledger) is not None:
        ended = f"; ENDED EARLY: {written.problem}" if written.problem else ""
        slowest = format_time_text(written.slowest_sync_s)
        yield (
            f"ledger: {written.acknowledged:,} acknowledgements durable, {written.syncs:,} syncs, "
            f"slowest {slowest}{ended}"
        )
    for error in summary.errors:
        yield f"error {error.code or ''} ({error.count} times): {error.text}"


def _describe_users(asked: "RunRequest", of: DrivenWorkload) -> str:
    """`15,000 users over 64 connections, closed loop, keyed as specified, …`."""
    from stithy.wire.jobs import WireRate, WireThink
    from stithy.workloads import words

    pace, is_open = asked.pace, isinstance(asked.pace, WireRate)
    think_s = pace.mean_s if isinstance(pace, WireThink) else None
    rate_per_s = pace.per_s if isinstance(pace, WireRate) else None
    arrivals = str(pace.arrivals) if isinstance(pace, WireRate) else None
    loop = words.describe_loop(pace.kind, think_s, rate_per_s, arrivals)
    parts = [loop, *of.workload.in_words(of.options)]
    count = (asked.connections or asked.users) if is_open else asked.users
    noun = "connection" if is_open else "user"
    who = f"{count:,} {noun}{'' if count == 1 else 's'}"
    if not is_open and asked.connections is not None:
        who = f"{who} {words.describe_pool(asked.connections)}"
    elif not is_open:
        parts.insert(0, words.describe_pool(None))
    return f"{who}, {', '.join(parts)}"


def _describe_proof(outcome: HammerOutcome) -> str:
    orders = outcome.driven.summary.proof
    if orders.before is None or orders.after is None:
        return "acknowledged work: not verified, as the database could not be read"
    grown = orders.after - orders.before
    expected = orders.acknowledged + (orders.in_doubt_found or 0)
    verdict = "agrees" if grown == expected else "DISAGREES"
    return f"acknowledged work {verdict}: counted {grown:,}, acknowledged {expected:,}"
