"""May a window's numbers be believed, and what must be said beside them?

Every reason is a value: a flag, the numbers seen, a sentence and an advice. Some flags make a
window invalid: it is drawn hollow and supports no claim. The others only annotate it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from stithy.units import format_duration, format_size

Row = Mapping[str, Any]

LATENESS_FLOOR_S = 1e-3
LATENESS_SHARE_OF_SERVICE = 0.05
"""Source: docs/explanation/method.md, "Three times"."""

STILL_CACHED_SHARE = 0.01
"""Own: of the restored bytes; less cannot be told from the noise of a cache."""

COMMITS_MISSING_COUNT = 5
"""Own: the counters are read once all backends have handed theirs over, so this is mere caution."""

COMMITS_EXTRA_COUNT = 30
COMMITS_EXTRA_PER_USER = 3
COMMITS_EXTRA_PER_S = 0.1
COMMITS_EXTRA_PER_AUTOVACUUM = 5
"""Own: a session's start and its preparation commit, as do the hammer's quiet start and end, visits
of autovacuum and its work on tables. Measured without autovacuum: 14, and 2 more a user."""


class Flag(Enum):
    """What can be wrong with a window, or must be known of it."""

    NO_NUMBERS = "no numbers"
    INCOMPLETE = "incomplete"
    ERRORS = "errors"
    DRIVER_LATE = "driver late"
    ORDER_NUMBERS = "order numbers disagree"
    ORDER_NUMBERS_UNKNOWN = "order numbers not verified"
    COMMITS = "commit counters disagree"
    CONDITIONS = "consistency broken"
    RESTORE = "restore not identical"
    COMMITS_UNKNOWN = "commit counters not verified"
    CONDITIONS_UNKNOWN = "consistency not verified"
    MEMORY_LIMIT = "memory limit not enforced"
    MEMORY_LIMIT_WIDENED = "memory limit widened"
    STILL_CACHED = "restored files still cached"
    NO_CHECKPOINT = "no checkpoint inside"
    COLLECTOR = "collector stopped"
    AUTOVACUUM = "autovacuum ran"

    @property
    def invalidates(self) -> bool:
        """Whether a window with this flag supports no claim."""
        return self in _INVALIDATING


_INVALIDATING = frozenset({
    Flag.NO_NUMBERS, Flag.INCOMPLETE, Flag.ERRORS, Flag.DRIVER_LATE, Flag.ORDER_NUMBERS,
    Flag.ORDER_NUMBERS_UNKNOWN, Flag.COMMITS, Flag.CONDITIONS, Flag.RESTORE,
})  # fmt: skip

_TEXTS: dict[Flag, tuple[str, str]] = {
    Flag.NO_NUMBERS: (
        "The window has no numbers: {because}.",
        "Read server.log and hammer.jsonl of this window, then repeat it.",
    ),
    Flag.INCOMPLETE: (
        "The window did not run to its planned end.",
        "Repeat the window; its numbers cover less time than planned.",
    ),
    Flag.ERRORS: (
        "Unexpected errors: {errors}; the most frequent: {text}.",
        "Mend the cause in the database or its settings; a failing transaction is a fast one.",
    ),
    Flag.DRIVER_LATE: (
        "The driver was late: 99th percentile {lateness}, allowed {allowed}.",
        "Give the driver more CPU or another host; its delay is in the response times.",
    ),
    Flag.ORDER_NUMBERS: (
        "The order numbers grew by {grown}, but {expected} new orders were acknowledged or found.",
        "Do not trust this storage or this server: acknowledged work is missing or was done twice.",
    ),
    Flag.ORDER_NUMBERS_UNKNOWN: (
        "The growth of the order numbers is not known, so nothing proves the acknowledged orders.",
        "See why the driver could not read them at its quiet start or quiet end.",
    ),
    Flag.COMMITS: (
        "The server counted {server} commits and the driver {client}; "
        "allowed are {least} to {most}.",
        "Look for other clients of this server, or for lost transactions.",
    ),
    Flag.CONDITIONS: (
        "Broken consistency conditions: {numbers}.",
        "Do not trust this storage or this server: the data contradict themselves.",
    ),
    Flag.RESTORE: (
        "The restored files were not identical to the master copy.",
        "Check the volume for errors; the window did not start from the common state.",
    ),
    Flag.COMMITS_UNKNOWN: (
        "The server's commit counter could not be read, so it was not compared.",
        "The order numbers still prove the acknowledged orders.",
    ),
    Flag.CONDITIONS_UNKNOWN: (
        "No consistency condition was verified after the window.",
        "Run `stithy hammer check` while the database is there.",
    ),
    Flag.MEMORY_LIMIT: (
        "The memory limit was not enforced: {because}.",
        "Run where cgroups can be made; without a limit the cache may hide the storage.",
    ),
    Flag.MEMORY_LIMIT_WIDENED: (
        "About the memory limit: {because}.",
        "Keep it in mind when comparing with other runs.",
    ),
    Flag.STILL_CACHED: (
        "{size} of the restored {whole} were still in the page cache at the start, outside of the "
        "memory limit.",
        "End what else has these files open; reads of them may not have reached the storage.",
    ),
    Flag.NO_CHECKPOINT: (
        "No whole checkpoint fell into the measurement, so write-back was not measured.",
        "Make the window longer than a checkpoint cycle, or lower checkpoint_timeout.",
    ),
    Flag.COLLECTOR: (
        "Samples are missing from {collectors}.",
        "The throughput and response times are not touched; figures of these series have gaps.",
    ),
    Flag.AUTOVACUUM: (
        "Autovacuum ran {runs} during the window.",
        "It competes for the storage; compare windows with equal numbers of runs.",
    ),
}


@dataclass(frozen=True)
class Reason:
    """One flag with the numbers that raised it, already as text for its sentence."""

    flag: Flag
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def invalidates(self) -> bool:
        """Whether this reason alone makes the window invalid."""
        return self.flag.invalidates

    @property
    def sentence(self) -> str:
        """What was seen, in one sentence."""
        return _TEXTS[self.flag][0].format(**self.data)

    @property
    def advice(self) -> str:
        """What a person can do about it, in one sentence."""
        return _TEXTS[self.flag][1]


def judge(
    window: Row,
    conditions: Sequence[Row] = (),
    restore: Row | None = None,
    gaps: Iterable[str] = (),
) -> tuple[Reason, ...]:
    """All reasons that hold for one window, those that invalidate first.

    `window`, `conditions`, `restore` are the window's rows of the tables of those names;
    `gaps` names collectors with missing samples.
    Source: docs/explanation/method.md, "Proof that the work was done" and "Three times".
    """
    if window["missing_because"] is not None:
        return (Reason(Flag.NO_NUMBERS, {"because": _clause(window["missing_because"])}),)
    found = [
        _incomplete(window),
        _errors(window),
        _driver_late(window),
        _order_numbers(window),
        _commits(window),
        _conditions(conditions),
        _restore(restore),
        _memory_limit(window),
        _still_cached(restore),
        _checkpoint(window),
        _gaps(gaps),
        _autovacuum(window),
    ]
    reasons = [reason for reason in found if reason is not None]
    return tuple(sorted(reasons, key=lambda reason: not reason.invalidates))


def is_valid(reasons: Iterable[Reason]) -> bool:
    """Whether a window with these reasons supports a claim.

    Own: one invalidating reason is enough.
    """
    return not any(reason.invalidates for reason in reasons)


def commit_bounds(
    client_commits: int, job_s: float, *, users: int, autovacuum_runs: int
) -> tuple[int, int]:
    """Least and greatest growth of the server's commit counter that agrees with the driver's count.

    Units: `job_s` seconds from the first reading to the last.
    Own: see the constants of this module.
    """
    extra = COMMITS_EXTRA_COUNT + COMMITS_EXTRA_PER_USER * users
    extra += round(COMMITS_EXTRA_PER_S * job_s) + COMMITS_EXTRA_PER_AUTOVACUUM * autovacuum_runs
    return client_commits - COMMITS_MISSING_COUNT, client_commits + extra


def commit_rule() -> str:
    """The allowance of `commit_bounds` in words, for the report.

    Own: from the constants, so that it cannot say anything else.
    """
    return (
        f"{COMMITS_EXTRA_COUNT}, plus {COMMITS_EXTRA_PER_USER} for each user, "
        f"{COMMITS_EXTRA_PER_S:g} for each second and {COMMITS_EXTRA_PER_AUTOVACUUM} for each run "
        "of autovacuum"
    )


def _incomplete(window: Row) -> Reason | None:
    return None if window["complete"] else Reason(Flag.INCOMPLETE)


def _errors(window: Row) -> Reason | None:
    if not window["errors"]:
        return None
    text = window["error_text"] or "its text is not known"
    return Reason(Flag.ERRORS, {"errors": str(window["errors"]), "text": _clause(text)})


def _driver_late(window: Row) -> Reason | None:
    late_s, service_s = window["lateness_p99_s"], window["service_p50_s"]
    if late_s is None:
        return None
    allowed_s = max(LATENESS_FLOOR_S, LATENESS_SHARE_OF_SERVICE * (service_s or 0.0))
    if late_s <= allowed_s:
        return None
    return Reason(
        Flag.DRIVER_LATE,
        {"lateness": format_duration(late_s), "allowed": format_duration(allowed_s)},
    )


def _order_numbers(window: Row) -> Reason | None:
    before, after = window["order_numbers_before"], window["order_numbers_after"]
    acknowledged = window["new_orders_acknowledged"]
    if before is None or after is None or acknowledged is None:
        return Reason(Flag.ORDER_NUMBERS_UNKNOWN)
    expected = acknowledged + (window["new_orders_in_doubt_found"] or 0)
    if after - before == expected:
        return None
    return Reason(Flag.ORDER_NUMBERS, {"grown": f"{after - before:,}", "expected": f"{expected:,}"})


def _commits(window: Row) -> Reason | None:
    client, server = window["client_commits"], window["server_commits"]
    if client is None or server is None:
        return Reason(Flag.COMMITS_UNKNOWN)
    job_s = (window["measure_to_s"] or 0.0) - (window["started_at_s"] or 0.0)
    least, most = commit_bounds(
        client,
        max(0.0, job_s),
        users=window["users"],
        autovacuum_runs=window["autovacuum_runs"] or 0,
    )
    if least <= server <= most:
        return None
    texts = {"server": server, "client": client, "least": least, "most": most}
    return Reason(Flag.COMMITS, {key: f"{value:,}" for key, value in texts.items()})


def _conditions(conditions: Sequence[Row]) -> Reason | None:
    if not conditions:
        return Reason(Flag.CONDITIONS_UNKNOWN)
    broken = sorted({int(row["number"]) for row in conditions if not row["holds"]})
    if not broken:
        return None
    return Reason(Flag.CONDITIONS, {"numbers": ", ".join(map(str, broken))})


def _restore(restore: Row | None) -> Reason | None:
    return Reason(Flag.RESTORE) if restore is not None and not restore["identical"] else None


def _still_cached(restore: Row | None) -> Reason | None:
    """Pages that could not be evicted; on a file system in memory that is known beforehand."""
    if restore is None or restore.get("resident_bytes") is None:
        return None
    cached, whole = restore["resident_bytes"], restore["size_bytes"]
    if cached <= STILL_CACHED_SHARE * whole:
        return None
    texts = {"size": format_size(cached), "whole": format_size(whole)}
    return Reason(Flag.STILL_CACHED, texts)


def _memory_limit(window: Row) -> Reason | None:
    note = window["memory_limit_note"]
    if not window["memory_limit_enforced"]:
        return Reason(Flag.MEMORY_LIMIT, {"because": _clause(note or "the reason is not known")})
    if note:
        return Reason(Flag.MEMORY_LIMIT_WIDENED, {"because": _clause(note)})
    return None


def _checkpoint(window: Row) -> Reason | None:
    return Reason(Flag.NO_CHECKPOINT) if window["checkpoints_inside"] == 0 else None


def _gaps(gaps: Iterable[str]) -> Reason | None:
    names = sorted(set(gaps))
    return Reason(Flag.COLLECTOR, {"collectors": ", ".join(names)}) if names else None


def _autovacuum(window: Row) -> Reason | None:
    runs = window["autovacuum_runs"]
    if not runs:
        return None
    return Reason(Flag.AUTOVACUUM, {"runs": "once" if runs == 1 else f"{runs} times"})


def _clause(text: str) -> str:
    """A text of elsewhere as the end of a sentence: one line, no full stop of its own."""
    return " ".join(str(text).split()).rstrip(".")
