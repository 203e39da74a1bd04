"""Has the window numbers, do they agree with each other, and was the state steady?"""

from collections.abc import Iterable
from dataclasses import astuple

from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.analysis.invariants import Identity
from stithy.analysis.steadiness import RANGE_MOST_SHARE, SLOPE_MOST_SHARE, Steadiness
from stithy.statements import Statement, join_list, join_parts
from stithy.validity import Check, Flag, Reason, Row, make_clause

NO_NUMBERS = Flag(
    "no numbers",
    "The window has no numbers: {because}.",
    "Read server.log and hammer.jsonl of this window, or with agents ask `stithy agents "
    "test`. Then repeat it.",
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

MEASURED_AGAIN = Flag(
    "block measured again",
    "Its block was measured a second time, because one of its windows was invalid.",
    "The second attempt counts. This one is shown, and supports no claim.",
    invalidates=True,
    is_own=False,
)

CONTRADICTION = Flag(
    "contradicts itself",
    "The measurement contradicts itself: {law}, but {left:.4g} is not {right:.4g} within "
    "{allowed:.1f %}.",
    "Do not use its numbers. Check whether the driver stalled or lost users.",
    invalidates=True,
)

NOT_STEADY = Flag(
    "not steady",
    "The window did not reach steady state: {seen}.",
    "The window still counts, because the storage may cause stalls. If it only settled late, "
    "use a longer ramp-up.",
)


def find_no_numbers(of: WindowRecord) -> Reason | None:
    """Nothing was measured."""
    because = of.window["missing_because"]
    return Reason(NO_NUMBERS, {"because": make_clause(because)}) if because is not None else None


def find_incomplete(window: Row) -> Reason | None:
    """It ended before its planned end, as the hammer says."""
    return None if window["complete"] else Reason(INCOMPLETE)


def find_damaged(of: WindowRecord) -> Reason | None:
    """Files of it cannot be read, so nobody knows whether it is valid."""
    return Reason(DAMAGED, {"files": " and ".join(of.damaged)}) if of.damaged else None


def find_measured_again(of: WindowRecord) -> Reason | None:
    """Another attempt at its block counts."""
    return Reason(MEASURED_AGAIN) if of.measured_again else None


def find_contradiction(window: Row, laws: Iterable[Identity]) -> Reason | None:
    """A law does not hold that must hold whatever the storage does; the first one is reported.

    Edge case: what failed transactions may do to a law is in its tolerance.
    Source: docs/explanation/method.md, "Invariants".
    """
    broken = next((law for law in laws if law.holds is False), None)
    if broken is None or not window["complete"]:
        return None
    return Reason(CONTRADICTION, {
        "law": broken.name, "left": broken.left, "right": broken.right,
        "allowed": broken.tolerance_share or 0.0,
    })  # fmt: skip


def find_not_steady(found: Steadiness | None) -> Reason | None:
    """The fifths of the measurement differ by more than in a steady state.

    A stall is the storage's own doing, so this never invalidates.
    Source: docs/explanation/verdicts.md, "Steady state".
    """
    if found is None or found.steady is not False:
        return None
    seen = [Statement(
        "the fifths of its measurement differ by {range:.0f %} of their mean (steady: at most "
        f"{100 * RANGE_MOST_SHARE:.0f} %), with a slope of {{slope:.0f %}} (steady: at most "
        f"{100 * SLOPE_MOST_SHARE:.0f} %)",
        range=found.range_share or 0.0, slope=found.slope_share or 0.0,
    )]  # fmt: skip
    if found.late_s and found.late_share is not None:
        more = "higher" if found.late_share >= 0 else "lower"
        seen.append(Statement(
            "it settled {late_s} s into the measurement; without that part its throughput is "
            f"{{share:.0f %}} {more}", late_s=found.late_s, share=abs(found.late_share),
        ))  # fmt: skip
    places = [
        Statement("{at_s} s (from standstill)", at_s=at) if before <= 0
        else Statement("{at_s} s ({by:+.0f %})", at_s=at, by=after / before - 1)
        for at, before, after in map(astuple, found.changes)
    ]  # fmt: skip
    if places:
        seen.append(Statement("its level changed at {places}", places=join_list(places)))
    return Reason(NOT_STEADY, {"seen": join_parts(seen, "; ")})


NUMBERS_CHECKS = WindowChecks(
    "numbers",
    5,
    (
        Check(("window",), find_no_numbers, always=True),
        Check(("window",), lambda of: find_incomplete(of.window)),
        Check(("window",), find_damaged),
    ),
)

STEADINESS_CHECKS = WindowChecks(
    "steadiness",
    30,
    (
        Check(("load", "transactions"), lambda of: find_contradiction(of.window, of.laws)),
        Check(("seconds",), lambda of: find_not_steady(of.steady)),
    ),
)

ATTEMPTS_CHECKS = WindowChecks(
    "attempts", 95, (Check(("window",), find_measured_again, always=True),)
)

PLUGINS = (NUMBERS_CHECKS, STEADINESS_CHECKS, ATTEMPTS_CHECKS)
