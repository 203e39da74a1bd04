"""Did the driver keep up, what did the server answer, and was the acknowledged work done?"""

from collections.abc import Mapping, Sequence

from stithy.activities.hammer.declared import ERRORS_NEGLIGIBLE, UNASKED
from stithy.activity import count_users
from stithy.analysis.checks.instruments import DRIVER_LATE
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.analysis.instruments import NOTED_SHARE, is_beyond, measure_headroom
from stithy.analysis.invariants import bound_commits, count_servers, is_one_commit
from stithy.engines.declaration import Declaration
from stithy.metrics import ALL
from stithy.results.tables import GONE
from stithy.statements import Statement, join_list, join_parts
from stithy.validity import Check, Flag, Reason, Row, make_clause
from stithy.workloads.workload import Workload

ERRORS = Flag(
    "errors",
    "Unexpected errors: {errors}; the most frequent: {text}.",
    "Fix the cause in the database or its settings. Transactions that fail early make the "
    "numbers look better.",
    invalidates=True,
)

FEW_ERRORS = Flag("some errors", ERRORS.sentence, ERRORS.advice)

DRIVER_AT_TIMES_LATE = Flag("driver late at times", DRIVER_LATE.sentence, DRIVER_LATE.advice)

RATE_NOT_KEPT = Flag(
    "rate not kept",
    "The rate was not kept: {backlog:,} of {due:,} transactions that were due, {share:.1f %}, had "
    "not begun at the end.",
    "At this rate response times grow without end. Use a lower rate for a steady state.",
)

LITTLE_HEADROOM = Flag(
    "little driver headroom",
    "The window needed {asked}.",
    "Give the driver more CPU or its own host. Otherwise it may limit the throughput.",
)

AGENT_LATE = Flag(
    "agent late",
    "The driver of agent {agent} was late by {mean:duration} in the mean, {delay:.0f %} of the "
    "mean response time.",
    "Give this agent more CPU, or the load more agents. The response times include its lateness.",
    invalidates=True,
)

AGENT_START = Flag(
    "agent began late",
    "The driver of an agent was awake only {late:duration} after the start.",
    "Look for what held its host up.",
    invalidates=True,
)

AGENT_CLOCK = Flag(
    "agent's clock moved",
    "The clock of an agent moved by {moved:duration} in the window.",
    "Keep all hosts in step by NTP or PTP, which move clocks little by little.",
    invalidates=True,
)

START_LATE_S_MAX = 0.05
"""Own: the last beginning is far within the ramp-up, and no second is counted in part."""

CLOCK_MOVED_S_MAX = 0.002
"""As much as clocks may differ before a window."""

BACKLOG_SHARE = 0.01
"""Own: of the transactions that were due; fewer may wait at any moment, without growing in number.
"""


def find_errors(window: Row) -> Reason | None:
    """The database answered what nobody expects.

    Own: what is missing of a thousand transactions, be it the slowest, changes a throughput by a
    thousandth and a 95th percentile by less than a hundredth.
    """
    failed = window["errors"]
    if not failed:
        return None
    ended = failed + (window["transactions"] or 0)
    flag = ERRORS if failed > ERRORS_NEGLIGIBLE * ended else FEW_ERRORS
    text = window["error_text"] or "its text is not known"
    return Reason(flag, {"errors": failed, "text": make_clause(text)})


def find_driver_late(window: Row, transactions: Mapping[str, Row]) -> Reason | None:
    """It began transactions so late that the measurement is of the driver.

    Source: docs/explanation/method.md, "Four times of a transaction".
    """
    late_s = window["lateness_mean_s"]
    response_s = transactions.get(ALL, {}).get("response_mean_s")
    if not late_s or not response_s or late_s <= NOTED_SHARE * response_s:
        return None
    delay = late_s / response_s
    flag = DRIVER_LATE if is_beyond(delay, window) else DRIVER_AT_TIMES_LATE
    data = {"mean": late_s, "lateness": window["lateness_p99_s"], "delay": delay}
    return Reason(flag, data, delay, is_outside=True)


def find_agent_late(window: Row, transactions: Mapping[str, Row]) -> Reason | None:
    """One agent's driver was so late that the measurement is of it, though others were not."""
    late_s = window["agent_lateness_mean_s"]
    response_s = transactions.get(ALL, {}).get("response_mean_s")
    if not late_s or not response_s or not is_beyond(late_s / response_s, window):
        return None
    data = {"agent": window["late_agent"], "mean": late_s, "delay": late_s / response_s}
    return Reason(AGENT_LATE, data, late_s / response_s, is_outside=True)


def find_agent_start(window: Row) -> Reason | None:
    """Users of several hosts could not begin together."""
    late_s = window["agent_start_late_s"] or 0.0
    return Reason(AGENT_START, {"late": late_s}) if late_s > START_LATE_S_MAX else None


def find_agent_clock(window: Row) -> Reason | None:
    """What was corrected before the window was no longer right in it."""
    moved_s = window["agent_clock_moved_s"] or 0.0
    return Reason(AGENT_CLOCK, {"moved": moved_s}) if moved_s > CLOCK_MOVED_S_MAX else None


def find_little_headroom(window: Row) -> Reason | None:
    """It was asked for more than half of what the driver can do on this host.

    Source: docs/explanation/method.md, "Driver headroom".
    """
    found = measure_headroom(window)
    if not found.is_little:
        return None
    parts = []
    if found.rate_share is not None:
        parts.append(Statement(
            "{share:.0f %} of the {rate:,.0f} transactions per second that the driver can do on "
            "this host", share=found.rate_share, rate=window["driver_rate_per_s_max"],
        ))  # fmt: skip
    if found.users_share is not None:
        parts.append(Statement(
            "{share:.0f %} of the {users:,} users that the driver can serve here",
            share=found.users_share, users=window["driver_users_max"],
        ))  # fmt: skip
    return Reason(LITTLE_HEADROOM, {"asked": join_list(parts)})


def find_rate_not_kept(window: Row) -> Reason | None:
    """More was due in an open loop than was begun: users wait in a growing queue.

    Own: it is the storage's doing, so it makes nothing invalid.
    """
    backlog = window["backlog"]
    if window["rate_per_s"] is None or not backlog:
        return None
    due = backlog + (window["transactions"] or 0) + (window["errors"] or 0)
    if backlog <= BACKLOG_SHARE * due:
        return None
    return Reason(RATE_NOT_KEPT, {"backlog": backlog, "due": due, "share": backlog / due})


DRIVING_CHECKS = WindowChecks(
    "driving",
    10,
    (
        Check(("load",), lambda of: find_errors(of.window)),
        Check(("load",), lambda of: find_driver_late(of.window, of.transactions)),
        Check(("load",), lambda of: find_agent_late(of.window, of.transactions)),
        Check(("load",), lambda of: find_agent_start(of.window)),
        Check(("load",), lambda of: find_agent_clock(of.window)),
        Check(("load",), lambda of: find_rate_not_kept(of.window)),
        Check(("load",), lambda of: find_little_headroom(of.window)),
    ),
)

HEADLINE_COUNT = Flag(
    "acknowledged work disagrees",
    "The database counted {grown:,} transactions, but {expected:,} were acknowledged or found.",
    "Do not trust this storage or this server: acknowledged work is missing, or was done twice.",
    invalidates=True,
)

HEADLINE_COUNT_UNKNOWN = Flag(
    "acknowledged work not verified",
    "The database's own count is not known, so the acknowledged work is not proven.",
    "Find out why the driver could not read it before or after the window.",
    invalidates=True,
)

COMMITS = Flag(
    "commit counters disagree",
    "The server counted {server:,} commits and the driver {client:,}; allowed are {least:,} to "
    "{most:,}.",
    "Look for other clients of this server, and for lost transactions.",
    invalidates=True,
)

FEW_COMMITS = Flag("other commits", COMMITS.sentence, COMMITS.advice)

COMMITS_UNKNOWN = Flag(
    "commit counters not verified",
    "The server's commit counter could not be read, so it was not compared.",
    "The database's own count of transactions still proves the acknowledged work.",
)

CONDITIONS = Flag(
    "consistency broken",
    "Broken consistency conditions: {numbers}.",
    "Do not trust this storage or this server: the data contradict themselves.",
    invalidates=True,
)

CONDITIONS_UNKNOWN = Flag(
    "consistency not verified",
    "No consistency condition was verified after the window.",
    "Run `stithy hammer check` while the database is there.",
)

RESTORE = Flag(
    "restore not identical",
    "The restored database was not identical to the loaded one.",
    "Check the volume for errors. The window did not start from the common state.",
    invalidates=True,
)


def find_headline_count(window: Row, workload: Workload | None = None) -> Reason | None:
    """The database did not count the acknowledged transactions of the headline type.

    None of a workload whose data do not show them, too.
    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    if workload is not None and not workload.counts_headline:
        return None
    before, after = window["proof_before"], window["proof_after"]
    acknowledged = window["headline_acknowledged"]
    if before is None or after is None or acknowledged is None:
        return Reason(HEADLINE_COUNT_UNKNOWN)
    expected = acknowledged + (window["headline_in_doubt_found"] or 0)
    if after - before == expected:
        return None
    return Reason(HEADLINE_COUNT, {"grown": after - before, "expected": expected})


def find_commits(
    window: Row, engine: Declaration, servers: int = 1, backups: int = 0,
    workload: Workload | None = None,
) -> Reason | None:  # fmt: skip
    """Server and driver do not count the same commits; those of several servers are added.

    `backups`: what the programs that backed the database up meanwhile may have committed in it.
    None where the server does not count each transaction of the workload once.

    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    if engine.commits is None or not is_one_commit(window, engine.commits, workload):
        return None
    client, server = window["client_commits"], window["server_commits"]
    if client is None or server is None:
        return Reason(COMMITS_UNKNOWN)
    job_s = (window["measure_to_s"] or 0.0) - (window["started_at_s"] or 0.0)
    connections = count_users(window)
    if window["connections_opened"] is not None:  # also after a loss
        connections = window["connections_opened"] + (window["connections_reopened"] or 0)
    least, most = bound_commits(
        engine.commits, client, max(0.0, job_s), connections=int(connections),
        maintenance_runs=window["maintenance_runs"] or 0, servers=servers,
        drivers=len((window.get("agents") or "one").split(", ")),
    )  # fmt: skip
    most += backups
    if least <= server <= most:
        return None
    # Too few are lost work, however few. Too many are another client's, who took as much.
    is_much = server < least or server - most > NOTED_SHARE * client
    flag = COMMITS if is_much else FEW_COMMITS
    return Reason(flag, {"server": server, "client": client, "least": least, "most": most})


def count_backup_commits(values: Mapping[tuple[str, str], Row]) -> int:
    """The most that backups may have committed; none where the window has none."""
    row = values.get(("backup.commits", ALL))
    return 0 if row is None else round(row["value"] or 0)


def find_broken_conditions(rows: Sequence[Row], workload: Workload | None = None) -> Reason | None:
    """A consistency condition is broken, or none was verified of a workload that has them.

    Source: docs/explanation/method.md, "Proof that the work was done".
    """
    if not rows:
        has_none = workload is not None and workload.conditions is None
        return None if has_none else Reason(CONDITIONS_UNKNOWN)
    broken = sorted({int(row["number"]) for row in rows if not row["holds"]})
    if not broken:
        return None
    return Reason(
        CONDITIONS, {"numbers": join_parts([Statement("{number}", number=n) for n in broken])}
    )


def find_restore(row: Row | None) -> Reason | None:
    """The window did not start from what was loaded.

    Source: docs/explanation/method.md, "The same state".
    """
    return Reason(RESTORE) if row is not None and not row["identical"] else None


WORK_CHECKS = WindowChecks(
    "work",
    40,
    (
        Check(("load",), lambda of: find_headline_count(of.window, of.workload)),
        Check(("load",), lambda of: find_commits(
            of.window, of.engine, count_servers(of.values), count_backup_commits(of.values),
            of.workload,
        )),
        Check(("conditions",), lambda of: find_broken_conditions(of.conditions, of.workload)),
        Check(("restores",), lambda of: find_restore(of.restore)),
    ),
)  # fmt: skip

LEDGER = Flag(
    "acknowledged work is gone",
    "The ledger shows that acknowledged work is gone: {gone}. Example: {example}.",
    "Do not trust this storage or this server: it lost what it had acknowledged.",
    invalidates=True,
)

LEDGER_UNVERIFIED = Flag(
    "ledger not compared",
    "The ledger was not compared with the database: {because}.",
    "The database's own count proves the work behind the throughput. The rest is not proven.",
)

LEDGER_CUT = Flag(
    "ledger ended early",
    "The ledger ended early: {because}.",
    "Free space where the results are, or use a faster device. The rest is not proven.",
)

LEDGER_UNKNOWN = Flag(
    "work that the ledger does not know",
    "The database holds {unknown} that the ledger does not know.",
    "Look for other clients of this server. After a killed driver these are the work of the "
    "ledger's torn end.",
)

LEDGER_SHARES = Flag(
    "ledger on the storage under test",
    "The ledger was on the storage under test: both are on {what}.",
    "Name a directory on another device with --out. The ledger's syncs load this device.",
)


def find_gone(ledger: Sequence[Row], findings: Sequence[Row]) -> Reason | None:
    """Something acknowledged is lost or differs, or something refused is there.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [
        Statement(f"{{deals}} {text}", deals=_count_deals(row, count))
        for row in ledger
        for count, text in GONE.items()
        if row[count]
    ]
    if not parts:
        return None
    kinds = ("lost", "differs", "returned")
    examples = [str(row["text"]) for row in findings if row["kind"] in kinds]
    example = examples[0] if examples else "none that is named"
    return Reason(LEDGER, {"gone": join_parts(parts), "example": make_clause(example)})


def find_unverified(window: Row) -> Reason | None:
    """A ledger was kept but not compared with the database."""
    because = window["ledger_unverified_because"]
    return Reason(LEDGER_UNVERIFIED, {"because": make_clause(because)}) if because else None


def find_cut(window: Row) -> Reason | None:
    """The ledger could not be written to its end."""
    because = window["ledger_problem"]
    return Reason(LEDGER_CUT, {"because": make_clause(because)}) if because else None


def find_unknown(ledger: Sequence[Row]) -> Reason | None:
    """Rows in the database, dated within the ledger's time, that it does not know.

    Source: docs/reference/ledger.md, "What it proves".
    """
    parts = [_count_deals(row, "unknown") for row in ledger if row["unknown"]]
    return Reason(LEDGER_UNKNOWN, {"unknown": join_parts(parts, " and ")}) if parts else None


def find_shared_device(window: Row) -> Reason | None:
    """The ledger lay where the candidate's volume lies.

    Own: its syncs load the device under test, and what that loses it may lose.
    """
    what = window["ledger_shares"]
    return Reason(LEDGER_SHARES, {"what": make_clause(what)}) if what else None


def _count_deals(row: Row, count: str) -> Statement:
    return Statement(f"{{{row['deal']}:+{row['deal']}}}", **{row["deal"]: row[count]})


LEDGER_CHECKS = WindowChecks(
    "ledger",
    90,
    (
        Check(("ledger",), lambda of: find_gone(of.ledger, of.ledger_findings), always=True),
        Check(("load",), lambda of: find_unverified(of.window), always=True),
        Check(("load",), lambda of: find_cut(of.window), always=True),
        Check(("ledger",), lambda of: find_unknown(of.ledger), always=True),
        Check(("load",), lambda of: find_shared_device(of.window), always=True),
    ),
)

UNREADABLE = Flag(
    "database not readable",
    "The database could not be read after the {event}: {because}.",
    "Read server.log and recovery.log of this window, and the storage's own log.",
    invalidates=True,
)

LOSSES = frozenset(
    flag.value for flag in (LEDGER, HEADLINE_COUNT, CONDITIONS, UNREADABLE)
)  # fmt: skip
"""Flags of windows whose database lost or changed something, or all."""


def find_unreadable(of: WindowRecord, event: str, *, unchecked: bool = False) -> Reason | None:
    """Find that nobody could read the database after an event: neither users nor who compares.

    `unchecked`: whether the engine's own check could not read it either, whatever users did before.
    """
    because = of.window["ledger_unverified_because"]
    was_read = of.window["proof_after"] is not None and not unchecked
    if because in (None, *UNASKED) or was_read:
        return None
    return Reason(UNREADABLE, {"event": event, "because": make_clause(because)})


PLUGINS = (DRIVING_CHECKS, WORK_CHECKS, LEDGER_CHECKS)
