"""All reasons that hold for a window, and whether it supports a claim.

Every reason is a value: a flag, the numbers seen, a sentence and an advice. Some flags make a
window invalid: it is drawn hollow and supports no claim. The others only annotate it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stithy.analysis.steady.steadiness import RANGE_MOST_SHARE, SLOPE_MOST_SHARE, Change, Steadiness
from stithy.analysis.validity import instruments, surroundings, work
from stithy.analysis.validity.baseline import Baseline
from stithy.analysis.validity.reasons import Flag, Reason, clause
from stithy.analysis.validity.surroundings import Watched
from stithy.analysis.validity.work import Identity
from stithy.engines import UNKNOWN, Declaration

Row = Mapping[str, Any]


@dataclass(frozen=True)
class WindowRecord:
    """All that was recorded of one window, as `judge` asks for it.

    `window`, `conditions`, `restore`, `ledger`, `ledger_findings`, `drives` are its rows of the
    tables of those names, `around` that of `surroundings`; `watched` is what the collectors gave;
    `laws` are the invariants that were checked; `steady` is None where nobody looked; `baseline` is
    the baseline check before the window's block; `measured_again`: whether the block was measured
    once more; `damaged` are its files that cannot be read; `engine` is what the server's
    engine declares.
    """

    window: Row
    conditions: Sequence[Row] = ()
    restore: Row | None = None
    watched: Watched = Watched()
    ledger: Sequence[Row] = ()
    ledger_findings: Sequence[Row] = ()
    drives: Sequence[Row] = ()
    laws: Sequence[Identity] = ()
    steady: Steadiness | None = None
    baseline: Baseline | None = None
    around: Row | None = None
    measured_again: bool = False
    damaged: Sequence[str] = ()
    engine: Declaration = UNKNOWN


def judge(of: WindowRecord) -> tuple[Reason, ...]:
    """All reasons that hold for one window, those that invalidate first.

    Source: docs/explanation/method.md, "Proof that the work was done" and "Four instants".
    """
    window = of.window
    about_ledger = [
        work.gone(of.ledger, of.ledger_findings),
        work.unverified(window),
        work.cut(window),
        work.unknown(of.ledger),
        work.shares(window),
        Reason(Flag.MEASURED_AGAIN) if of.measured_again else None,
    ]
    if window["missing_because"] is not None:
        # What was acknowledged must be there whatever became of the window.
        because = {"because": clause(window["missing_because"])}
        return _ordered([Reason(Flag.NO_NUMBERS, because), *about_ledger])
    found = [
        instruments.incomplete(window),
        Reason(Flag.DAMAGED, {"files": " and ".join(of.damaged)}) if of.damaged else None,
        instruments.errors(window),
        instruments.driver_late(window),
        instruments.late(of.drives),
        instruments.delivered(of.drives),
        instruments.contradicts_itself(window, of.laws),
        instruments.rate_not_kept(window),
        not_steady(of.steady),
        instruments.little_headroom(window),
        work.order_numbers(window),
        work.commits(window, of.engine),
        work.conditions(of.conditions),
        work.restore(of.restore),
        surroundings.memory_limit(window, of.around),
        surroundings.still_cached(of.restore),
        surroundings.checkpoint(window, of.around),
        surroundings.stopped(of.watched),
        surroundings.unanswered(of.watched),
        surroundings.silent(window, of.watched),
        surroundings.interference(of.around, of.watched),
        surroundings.not_quiet(of.around),
        surroundings.log_files_made(of.around),
        surroundings.autovacuum(window),
        surroundings.machine(of.baseline),
    ]
    return _ordered([*found, *about_ledger])


def _ordered(found: Iterable[Reason | None]) -> tuple[Reason, ...]:
    """The reasons that there are, those that invalidate first."""
    reasons = [reason for reason in found if reason is not None]
    return tuple(sorted(reasons, key=lambda reason: not reason.invalidates))


def is_valid(reasons: Iterable[Reason]) -> bool:
    """Whether a window with these reasons supports a claim.

    Own: one invalidating reason is enough.
    """
    return not any(reason.invalidates for reason in reasons)


def not_steady(found: Steadiness | None) -> Reason | None:
    """The fifths of the measurement differ by more than in a steady state.

    A stall is the storage's own doing, so this never invalidates.
    Source: docs/explanation/verdicts.md, "Steady state".
    """
    if found is None or found.steady is not False:
        return None
    seen = [_shares(found), *_late(found), *_changed(found.changes)]
    return Reason(Flag.NOT_STEADY, {"seen": "; ".join(seen)})


def _shares(found: Steadiness) -> str:
    return (
        f"the fifths of its measurement differ by {_share(found.range_share or 0.0)} of their mean "
        f"(steady: at most {_share(RANGE_MOST_SHARE)}), with a slope of "
        f"{_share(found.slope_share or 0.0)} (steady: at most {_share(SLOPE_MOST_SHARE)})"
    )


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
