"""What a window of the hammer says, as tables, values and words; and its ledger compared.

Whatever happened to the window, its ledger is compared, after the server was started once more
where it had ended: what was acknowledged must be there all the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from statistics import fmean
from typing import TYPE_CHECKING

from stithy.activities.hammer.declared import AGENTS, LOAD, NO_LEDGER, STOPPED
from stithy.collectors.collector import TimedSample
from stithy.engines.instance import Instance
from stithy.errors import Interrupted, StithyError, convert_machine_failures
from stithy.hosts.links import DriverLink
from stithy.metrics import ALL, ERROR_SHARE, PERCENTILES, find_error_share
from stithy.point import Point
from stithy.results import tables
from stithy.results.convert import (
    make_condition_rows,
    make_histogram_rows,
    make_ledger_finding_rows,
    make_ledger_rows,
    make_second_rows,
)
from stithy.results.tables import Row, Table
from stithy.run.activity import WindowValue
from stithy.run.context import find_pause_s, make_pace
from stithy.run.sampler import count_checkpoints_inside
from stithy.run.steps import find_shared_device
from stithy.units import format_duration
from stithy.wire.hammer import Hammer, LedgerVerified, ProgressWatch
from stithy.wire.jobs import WireRate

if TYPE_CHECKING:
    from stithy.activities.hammer.activity import HammerActivity


def make_tables(
    of: "HammerActivity", readings: Sequence[TimedSample]
) -> Iterator[tuple[Table, list[Row]]]:
    """All tables that only the hammer fills; empty where the users never began."""
    window_id, driven = of.window.id, of.driven
    yield LOAD, [_load(of, readings)]
    if of.agent_rows:
        yield AGENTS, of.agent_rows
    if driven is not None:
        latencies = of.latencies
        yield tables.TRANSACTIONS, of.transactions
        yield tables.SECONDS, make_second_rows(window_id, driven.seconds, latencies)
        yield tables.HISTOGRAMS, make_histogram_rows(window_id, driven.summary, latencies)
    else:
        yield tables.HISTOGRAMS, []
    if of.checked:
        candidate, conditions = of.window.candidate, of.checked.conditions
        yield tables.CONDITIONS, make_condition_rows(candidate, "window", conditions, window_id)
    yield from list_ledger_tables(of)


def make_values(of: "HammerActivity") -> Iterator[WindowValue]:
    """Rates of the whole, and the response times of each transaction type."""
    if of.driven is None:
        return
    row = of.numbers
    for quantity in of.context.workload.rates:
        value = row[quantity.known.column]
        missing = "nothing was measured" if value is None else None
        yield WindowValue(quantity.metric, value, missing_because=missing)
    for transaction in of.transactions:
        count = transaction["committed"] + transaction["rolled_back"]
        for name in PERCENTILES:
            value = transaction[f"response_{name.replace('.', '')}_s"]
            missing = "no answer was measured" if value is None else None
            yield WindowValue(name, value, transaction["transaction"], count, missing)
        share = find_error_share(transaction)
        missing = "no transaction ended" if share is None else None
        yield WindowValue(ERROR_SHARE, share, transaction["transaction"], count, missing)


def describe_rates(of: "HammerActivity") -> str:
    """Throughput and response time."""
    row = of.numbers
    merged = next(
        (transaction for transaction in of.transactions if transaction["transaction"] == ALL), {}
    )
    p95_s = merged.get("response_p95_s")
    rates = of.context.workload.rates
    shown = ", ".join(f"{row[rate.known.column]:,.0f} {rate.label}" for rate in rates)
    if label := of.context.file.study.label:
        shown += f" ({label.partition(':')[0].lower()})"
    return shown if p95_s is None else f"{shown}, p95 {format_duration(p95_s)}"


def _load(of: "HammerActivity", readings: Sequence[TimedSample]) -> Row:
    context, window = of.context, of.window
    study = context.file.study.at(of.point)
    load = study.load
    asked = of.asked or make_pace(load)
    # What it keeps up with over a network was not tried.
    known = None if of.link else context.state.known.calibrations.get(study.database.engine)
    # Where pauses vary users were tried with the shortest; of others the rate alone says something.
    pauses_alike = known and known.think_s is not None and find_pause_s(study) == known.think_s
    row: Row = {column.name: None for column in LOAD.columns}
    said = tuple((key, value) for key, value in study.options.items() if value is not None)
    bound = of.context.servers.cpus_of(of.window.candidate, of.window.point)
    row |= {
        "window_id": window.id,
        "users": window.point.level,
        "pace": asked.kind if window.rate_share is None else "rate",
        "think_mean_s": load.pace.think_s,
        "rate_per_s": asked.per_s if isinstance(asked, WireRate) else None,
        "options": str(Point(said)) or None,
        "agents": ", ".join(load.agents) or None,
        "server_cpus": None if bound is None else len(bound),
        "memory_limit_enforced": None if study.by_url else of.limit_bytes is not None,
        "round_trip_s": of.round_trip_s,
        "memory_limit_bytes": of.limit_bytes,
        "memory_limit_note": of.limit_note,
        "memory_peak_bytes": of.peak_bytes,
        "checkpoint_before": "forced" if window.checkpoint else "none",
        "restore_s": context.volumes.restore_s.get(window.candidate),
        "warm_up_s": of.warm_up_s,
        "ledger_unverified_because": of.ledger_unverified_because,
        # What the driver was shown to keep up with; users are only tried where they pause.
        "driver_rate_per_s_max": known.rate_per_s_max if known else None,
        "driver_users_max": known.users_max if known and pauses_alike else None,
        "driver_others_share": known.others_share if known else None,
        "ledger_shares": find_shared_device(
            context, window.candidate, of.by_agents.folders if of.by_agents else ()
        ),
    }
    if of.link is not None:
        row |= _measure_link(of, of.link, readings)
    return row if of.driven is None else row | of.numbers | _count_server_work(of, readings)


def _measure_link(of: "HammerActivity", link: DriverLink, readings: Sequence[TimedSample]) -> Row:
    """Give what the driver's link is, and what its end here carried in the measurement, means."""
    found: dict[str, list[float]] = {}
    for reading in readings:
        sample, times = reading.sample, of.times
        inside = times and times.measure_from_s < reading.at_s <= times.measure_to_s
        ours = (reading.collector, sample.subject) == ("network", link.interface)
        if inside and ours and sample.value is not None:
            found.setdefault(sample.metric, []).append(sample.value)
    names = ("sent_bytes_per_s", "received_bytes_per_s")
    return {
        "link_bytes_per_s_max": link.bits_per_s / 8,
        "link_round_trip_s": of.link_round_trip_s,
        **{f"link_{name}": fmean(found[name]) if found.get(name) else None for name in names},
    }


def _count_server_work(of: "HammerActivity", readings: Sequence[TimedSample]) -> Row:
    assert of.driven is not None  # asked by the caller
    summary = of.driven.summary
    within = (summary.measure_from_s, summary.measure_to_s)
    row: Row = {"checkpoints_inside": count_checkpoints_inside(readings, *within)}
    if len(of.commits) > 1:
        before, after = of.commits
        if before is not None and after is not None:
            row["server_commits"] = after.commits - before.commits
            row["server_rollbacks"] = after.rollbacks - before.rollbacks
    if len(of.maintenance) > 1:
        first, last = (counters.maintenance_runs for counters in of.maintenance)
        if first is not None and last is not None:
            row["maintenance_runs"] = last - first
    return row


def verify(measured: "HammerActivity", hammer: Hammer, instance: Instance) -> None:
    """Compare the window's ledger with the database, and keep what that says or why it could not.

    Raises Interrupted, and nothing else of the machine's.
    """
    context = measured.context
    if not context.file.study.load.ledger:
        return
    if not measured.directory.ledger.exists():
        lost = measured.by_agents.explain_missing() if measured.by_agents else ""
        measured.ledger_unverified_because = lost or NO_LEDGER
    elif ended := instance.ended_by():
        measured.ledger_unverified_because = f"the server {ended}"
    else:
        with _keep_reason(measured):
            measured.ledger = _verify_ledger(measured, hammer)


def verify_after_end(measured: "HammerActivity") -> None:
    """Start a server that ended under the users once more, and compare: what ledgers are for.

    What the server acknowledged before its end must be there after it has recovered. Where its
    storage is lost for good, that is why it was not compared. Raises nothing of the machine's; a
    person who wants an end gets it.
    """
    context, directory = measured.context, measured.directory
    wanted = context.file.study.load.ledger and directory.ledger.exists()
    _verify_again(measured, wanted=wanted)
    lost = context.volumes.lost.get(measured.window.candidate)
    if context.session.stop.asked.is_set():
        return
    if wanted and measured.ledger is None and lost is not None:
        measured.ledger_unverified_because = f"its storage is lost: {lost}"


def _verify_again(measured: "HammerActivity", *, wanted: bool) -> None:
    context, directory = measured.context, measured.directory
    ended = measured.ended_because is not None and measured.ledger is None
    if not wanted or not ended:
        return
    if context.session.stop.asked.is_set():
        measured.ledger_unverified_because = STOPPED
        return
    with (
        suppress(Interrupted),
        _keep_reason(measured, "after the server's end, "),
        context.servers.running(
            measured.window.candidate, directory.recovery_log, number=measured.number
        ) as instance,
    ):
        measured.ledger = _verify_ledger(measured, context.hammer(instance.url))
        measured.ledger_unverified_because = None


@contextmanager
def _keep_reason(measured: "HammerActivity", when: str = "") -> Iterator[None]:
    try:
        with convert_machine_failures(f"the ledger of window {measured.window.id}"):
            yield
    except Interrupted:
        measured.ledger_unverified_because = STOPPED
        raise
    except StithyError as error:
        measured.ledger_unverified_because = f"{when}{error.text}"


def _verify_ledger(measured: "HammerActivity", hammer: Hammer) -> LedgerVerified:
    context, directory = measured.context, measured.directory
    watch = ProgressWatch(raw_output=directory.ledger_output)
    return hammer.verify_ledger(context.choice_at(measured.point), directory.ledger, watch=watch)


def list_ledger_tables(measured: "HammerActivity") -> Iterator[tuple[Table, list[Row]]]:
    """The window's tables of the ledger, empty where it was not compared."""
    window_id, verified = measured.window.id, measured.ledger
    counts = make_ledger_rows(window_id, verified.summary) if verified else []
    findings = make_ledger_finding_rows(window_id, verified.findings) if verified else []
    yield tables.LEDGER, counts
    yield tables.LEDGER_FINDINGS, findings


def describe_ledger(measured: "HammerActivity") -> str:
    """What the comparison came to, in words for the step; empty without a ledger."""
    if measured.ledger is None:
        because = measured.ledger_unverified_because
        return f"; its ledger was not compared: {because}" if because else ""
    if not measured.ledger.summary.holds:
        return "; ITS LEDGER SHOWS THAT ACKNOWLEDGED WORK IS GONE"
    return "; nothing acknowledged is missing"
