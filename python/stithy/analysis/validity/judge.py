"""All reasons that hold for a window, and whether it supports a claim.

Every reason is a value: a flag, the numbers seen, a sentence and an advice. Some flags make a
window invalid: it is drawn hollow and supports no claim. The others only annotate it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stithy.analysis.steady.steadiness import Steadiness
from stithy.analysis.validity import drives as emulated
from stithy.analysis.validity import driving, proof, steadiness, surroundings, watching
from stithy.analysis.validity import ledger as kept
from stithy.analysis.validity.canary import Canary
from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.identities import Identity
from stithy.analysis.validity.reason import Reason, clause
from stithy.analysis.validity.watching import Watched

Row = Mapping[str, Any]

NOT_LOOKED_AT = Watched()


def judge(
    window: Row,
    conditions: Sequence[Row] = (),
    restore: Row | None = None,
    watched: Watched = NOT_LOOKED_AT,
    ledger: Sequence[Row] = (),
    ledger_findings: Sequence[Row] = (),
    drives: Sequence[Row] = (),
    laws: Iterable[Identity] = (),
    steady: Steadiness | None = None,
    canary: Canary | None = None,
    around: Row | None = None,
    *,
    measured_again: bool = False,
    damaged: Sequence[str] = (),
) -> tuple[Reason, ...]:
    """All reasons that hold for one window, those that invalidate first.

    `window`, `conditions`, `restore`, `ledger`, `ledger_findings`, `drives` are the window's rows
    of the tables of those names; `watched` is what the collectors gave; `laws` are the
    identities that were tried; `steady` is None where nobody looked; `canary` is that before the
    window's block; `around` its row of the table `surroundings`; `measured_again`: whether the
    block was measured once more; `damaged` are its files that cannot be read.
    Source: docs/explanation/method.md, "Proof that the work was done" and "Four instants".
    """
    about_ledger = [
        kept.gone(ledger, ledger_findings),
        kept.unverified(window),
        kept.cut(window),
        kept.unknown(ledger),
        kept.shares(window),
        Reason(Flag.MEASURED_AGAIN) if measured_again else None,
    ]
    if window["missing_because"] is not None:
        # What was acknowledged must be there whatever became of the window.
        because = {"because": clause(window["missing_because"])}
        return _ordered([Reason(Flag.NO_NUMBERS, because), *about_ledger])
    found = [
        driving.incomplete(window),
        Reason(Flag.DAMAGED, {"files": " and ".join(damaged)}) if damaged else None,
        driving.errors(window),
        driving.driver_late(window),
        emulated.late(drives),
        emulated.delivered(drives),
        driving.contradicts_itself(window, laws),
        driving.rate_not_kept(window),
        steadiness.not_steady(steady),
        driving.head_room(window),
        proof.order_numbers(window),
        proof.commits(window),
        proof.conditions(conditions),
        proof.restore(restore),
        surroundings.memory_limit(window, around),
        surroundings.still_cached(restore),
        surroundings.checkpoint(window, around),
        watching.stopped(watched),
        watching.unanswered(watched),
        watching.silent(window, watched),
        surroundings.interference(around, watched),
        surroundings.not_quiet(around),
        surroundings.log_files_made(around),
        surroundings.autovacuum(window),
        surroundings.machine(canary),
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
