"""Did the load driver do what it was to do, in time, and what did the server answer?"""

from collections.abc import Iterable, Mapping

from stithy.activities.hammer.declared import ERRORS_NEGLIGIBLE
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.analysis.instruments import NOTED_SHARE, is_beyond, measure_headroom
from stithy.analysis.invariants import Identity
from stithy.analysis.steadiness import RANGE_MOST_SHARE, SLOPE_MOST_SHARE, Change, Steadiness
from stithy.metrics import ALL
from stithy.units import format_duration
from stithy.validity import Check, Flag, Reason, Row, make_clause

NO_NUMBERS = Flag(
    "no numbers",
    "The window has no numbers: {because}.",
    "Read server.log and hammer.jsonl of this window, then repeat it.",
    invalidates=True,
)

INCOMPLETE = Flag(
    "incomplete",
    "The window did not run to its planned end.",
    "Repeat the window; its numbers cover less time than planned.",
    invalidates=True,
)

DAMAGED = Flag(
    "results damaged",
    "It is not known whether the window is valid: {files} of it cannot be read.",
    "Restore the results from a copy. The table of missing things names each damaged file.",
    invalidates=True,
)

ERRORS = Flag(
    "errors",
    "Unexpected errors: {errors}; the most frequent: {text}.",
    "Fix the cause in the database or its settings. Transactions that fail early make the "
    "numbers look better.",
    invalidates=True,
)

FEW_ERRORS = Flag("some errors", ERRORS.sentence, ERRORS.advice)

DRIVER_LATE = Flag(
    "driver late",
    "The driver was late by {mean} in the mean (99th percentile {lateness}), {delay} of the mean "
    "response time.",
    "Give the driver more CPU or its own host. The response times include its lateness.",
    invalidates=True,
)

DRIVER_AT_TIMES_LATE = Flag("driver late at times", DRIVER_LATE.sentence, DRIVER_LATE.advice)

RATE_NOT_KEPT = Flag(
    "rate not kept",
    "The rate was not kept: {backlog} of {due} transactions that were due, {share}, had not "
    "begun at the end.",
    "At this rate response times grow without end. Use a lower rate for a steady state.",
)

LITTLE_HEADROOM = Flag(
    "little driver headroom",
    "The window needed {asked}.",
    "Give the driver more CPU or its own host. Otherwise it may limit the throughput.",
)


BACKLOG_SHARE = 0.01
"""Own: of the transactions that were due; fewer may wait at any moment, without growing in number.
"""


def find_incomplete(window: Row) -> Reason | None:
    """It ended before its planned end, as the hammer says."""
    return None if window["complete"] else Reason(INCOMPLETE)


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
    return Reason(flag, {"errors": str(failed), "text": make_clause(text)})


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
    texts = {
        "mean": format_duration(late_s),
        "lateness": format_duration(window["lateness_p99_s"]),
        "delay": f"{100 * delay:.0f} %",
    }
    return Reason(flag, texts, delay, is_outside=True)


def find_little_headroom(window: Row) -> Reason | None:
    """It was asked for more than half of what the driver can do on this host.

    Source: docs/explanation/method.md, "Driver headroom".
    """
    found = measure_headroom(window)
    if not found.is_little:
        return None
    parts = []
    if found.rate_share is not None:
        most = f"{window['driver_rate_per_s_max']:,.0f} transactions per second"
        parts.append(f"{found.rate_share:.0%} of the {most} that the driver can do on this host")
    if found.users_share is not None:
        most = f"{window['driver_users_max']:,} users"
        parts.append(f"{found.users_share:.0%} of the {most} that the driver can serve here")
    return Reason(LITTLE_HEADROOM, {"asked": " and ".join(parts).replace("%", " %")})


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
    share = f"{100 * backlog / due:.1f} %"
    return Reason(RATE_NOT_KEPT, {"backlog": f"{backlog:,}", "due": f"{due:,}", "share": share})


def find_no_numbers(of: WindowRecord) -> Reason | None:
    """Nothing was measured."""
    because = of.window["missing_because"]
    return Reason(NO_NUMBERS, {"because": make_clause(because)}) if because is not None else None


def find_damaged(of: WindowRecord) -> Reason | None:
    """Files of it cannot be read, so nobody knows whether it is valid."""
    return Reason(DAMAGED, {"files": " and ".join(of.damaged)}) if of.damaged else None


DRIVING_CHECKS = WindowChecks(
    "driving",
    10,
    (
        Check(("window",), find_no_numbers, always=True),
        Check(("window",), lambda of: find_incomplete(of.window)),
        Check(("window",), find_damaged),
        Check(("load",), lambda of: find_errors(of.window)),
        Check(("load",), lambda of: find_driver_late(of.window, of.transactions)),
        Check(("load",), lambda of: find_rate_not_kept(of.window)),
        Check(("load",), lambda of: find_little_headroom(of.window)),
    ),
)


CONTRADICTION = Flag(
    "contradicts itself",
    "The measurement contradicts itself: {law}, but {left} is not {right} within {allowed}.",
    "Do not use its numbers. Check whether the driver stalled or lost users.",
    invalidates=True,
)

NOT_STEADY = Flag(
    "not steady",
    "The window did not reach steady state: {seen}.",
    "The window still counts, because the storage may cause stalls. If it only settled late, "
    "use a longer ramp-up.",
)


def find_contradiction(window: Row, laws: Iterable[Identity]) -> Reason | None:
    """A law does not hold that must hold whatever the storage does; the first one is reported.

    Edge case: failed transactions and lost users are reported by themselves, and explain it.
    Source: docs/explanation/method.md, "Invariants".
    """
    broken = next((law for law in laws if law.holds is False), None)
    if broken is None or not window["complete"] or window["errors"]:
        return None
    texts = {
        "law": broken.name,
        "left": f"{broken.left:.4g}",
        "right": f"{broken.right:.4g}",
        "allowed": f"{100 * (broken.tolerance_share or 0.0):.1f} %",
    }
    return Reason(CONTRADICTION, texts)


def find_not_steady(found: Steadiness | None) -> Reason | None:
    """The fifths of the measurement differ by more than in a steady state.

    A stall is the storage's own doing, so this never invalidates.
    Source: docs/explanation/verdicts.md, "Steady state".
    """
    if found is None or found.steady is not False:
        return None
    shares = (
        f"the fifths of its measurement differ by {_percent(found.range_share or 0.0)} of their "
        f"mean (steady: at most {_percent(RANGE_MOST_SHARE)}), with a slope of "
        f"{_percent(found.slope_share or 0.0)} (steady: at most {_percent(SLOPE_MOST_SHARE)})"
    )
    seen = [shares, *_describe_late(found), *_describe_changes(found.changes)]
    return Reason(NOT_STEADY, {"seen": "; ".join(seen)})


def _describe_late(found: Steadiness) -> list[str]:
    if not found.late_s or found.late_share is None:
        return []
    more = "higher" if found.late_share >= 0 else "lower"
    return [
        f"it settled {found.late_s} s into the measurement; without that part its throughput is "
        f"{_percent(abs(found.late_share))} {more}"
    ]


def _describe_changes(changes: tuple[Change, ...]) -> list[str]:
    *firsts, last = [_format_place(each) for each in changes] or [""]
    if not last:
        return []
    places = f"{', '.join(firsts)} and {last}" if firsts else last
    return [f"its level changed at {places}"]


def _format_place(change: Change) -> str:
    if change.before <= 0:
        return f"{change.index} s (from standstill)"
    return f"{change.index} s ({_percent(change.after / change.before - 1, '+')})"


def _percent(share: float, sign: str = "") -> str:
    return f"{100 * share:{sign}.0f} %"


STEADINESS_CHECKS = WindowChecks(
    "steadiness",
    30,
    (
        Check(("load", "transactions"), lambda of: find_contradiction(of.window, of.laws)),
        Check(("seconds",), lambda of: find_not_steady(of.steady)),
    ),
)

PLUGINS = (
    DRIVING_CHECKS,
    STEADINESS_CHECKS,
)
