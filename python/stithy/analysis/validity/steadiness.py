"""A window that was not steady: its numbers count, and a reader must know."""

from stithy.analysis.steady.changes import Change
from stithy.analysis.steady.steadiness import RANGE_MOST_SHARE, SLOPE_MOST_SHARE, Steadiness
from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason


def not_steady(found: Steadiness | None) -> Reason | None:
    """The fifths of the measurement differ by more than in a steady state.

    A stall is the storage's own doing, so this never invalidates.
    Source: docs/explanation/verdicts.md, "Steady".
    """
    if found is None or found.steady is not False:
        return None
    seen = [_shares(found), *_late(found), *_changed(found.changes)]
    return Reason(Flag.NOT_STEADY, {"seen": "; ".join(seen)})


def _shares(found: Steadiness) -> str:
    return (
        f"the fifths of its measurement differ by {_share(found.range_share or 0.0)} of their mean "
        f"(steady: {_share(RANGE_MOST_SHARE)}) with a slope of {_share(found.slope_share or 0.0)} "
        f"(steady: {_share(SLOPE_MOST_SHARE)})"
    )


def _late(found: Steadiness) -> list[str]:
    if not found.late_s or found.late_share is None:
        return []
    more = "higher" if found.late_share >= 0 else "lower"
    return [
        f"it settled {found.late_s} s into the measurement, without which its throughput is "
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
