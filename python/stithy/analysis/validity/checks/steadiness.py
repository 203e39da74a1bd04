"""Does the measurement agree with itself, and was it in steady state?"""

from collections.abc import Iterable

from stithy.analysis.steady.steadiness import RANGE_MOST_SHARE, SLOPE_MOST_SHARE, Change, Steadiness
from stithy.analysis.validity.record import WindowRecord
from stithy.analysis.validity.work import Identity
from stithy.validity import Check, Flag, Reason, Row

NAME = "steadiness"
ORDER = 30

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


def contradicts_itself(window: Row, laws: Iterable[Identity]) -> Reason | None:
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


def not_steady(found: Steadiness | None) -> Reason | None:
    """The fifths of the measurement differ by more than in a steady state.

    A stall is the storage's own doing, so this never invalidates.
    Source: docs/explanation/verdicts.md, "Steady state".
    """
    if found is None or found.steady is not False:
        return None
    shares = (
        f"the fifths of its measurement differ by {_share(found.range_share or 0.0)} of their mean "
        f"(steady: at most {_share(RANGE_MOST_SHARE)}), with a slope of "
        f"{_share(found.slope_share or 0.0)} (steady: at most {_share(SLOPE_MOST_SHARE)})"
    )
    seen = [shares, *_late(found), *_changed(found.changes)]
    return Reason(NOT_STEADY, {"seen": "; ".join(seen)})


def _late(found: Steadiness) -> list[str]:
    if not found.late_s or found.late_share is None:
        return []
    more = "higher" if found.late_share >= 0 else "lower"
    return [
        f"it settled {found.late_s} s into the measurement; without that part its throughput is "
        f"{_share(abs(found.late_share))} {more}"
    ]


def _changed(changes: tuple[Change, ...]) -> list[str]:
    *firsts, last = [_place(each) for each in changes] or [""]
    if not last:
        return []
    places = f"{', '.join(firsts)} and {last}" if firsts else last
    return [f"its level changed at {places}"]


def _place(change: Change) -> str:
    if change.before <= 0:
        return f"{change.index} s (from standstill)"
    return f"{change.index} s ({_share(change.after / change.before - 1, '+')})"


def _share(share: float, sign: str = "") -> str:
    return f"{100 * share:{sign}.0f} %"


CHECKS: tuple[Check[WindowRecord], ...] = (
    Check(("load", "transactions"), lambda of: contradicts_itself(of.window, of.laws)),
    Check(("seconds",), lambda of: not_steady(of.steady)),
)
