"""What a fault cost users, by candidate, and whether anything acknowledged was lost."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from stithy.activities.hammer.judge import LOSSES, find_unreadable
from stithy.analysis.analyze import Analysis, Loss, Losses
from stithy.analysis.decision import Ruling
from stithy.analysis.evidence import Contrast, Evidence, Window
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.metrics import ALL, Quantity
from stithy.scenarios.failure.declared import ACTIVITY, NOT_REACHED, UNCHECKED
from stithy.scenarios.failure.fault import NONE
from stithy.scenarios.failure.impact import list_impacts
from stithy.scenarios.failure.keys import FAULT
from stithy.validity import Check, Flag, Reason, Row, make_clause

PAUSE, LOST_WORK = Quantity("fault.pause_s"), Quantity("fault.lost_work")
P99_DEGRADED = Quantity("fault.p99_s", "degraded")
DATABASE_DAMAGED = Flag(
    "database damaged",
    "The engine's own check found damage in the database after the fault.",
    "The span `check` of this window says what.",
    invalidates=True,
)

DATABASE_UNCHECKED = Flag(
    "database not checked",
    "The engine could not check the database after the fault: {because}.",
    "The ledger and the consistency conditions still prove what they read. The rest is not proven.",
)

LOST = LOSSES | {DATABASE_DAMAGED.value}
"""Flags of windows whose database lost or changed something."""

PROMISED, DAMAGE = ("fault.promised", ALL), ("fault.damaged", ALL)


def is_promised(values: Mapping[tuple[str, str], Row]) -> bool:
    """Whether nothing may be lost in a window with these values."""
    row = values.get(PROMISED)
    return row is None or row["value"] != 0


def explain_unchecked(values: Mapping[tuple[str, str], Row]) -> str | None:
    """Say why the engine could not check the files that it was to check; None where it did."""
    because = values.get(DAMAGE, {}).get("missing_because")
    return None if because == UNCHECKED else because


def find_destroyed(of: WindowRecord) -> Reason | None:
    """Find that nobody could read the database once the fault had struck."""
    if of.values.get(PROMISED, {}).get("value") is None:
        return None
    unchecked = explain_unchecked(of.values) not in (None, NOT_REACHED)
    return find_unreadable(of, "fault", unchecked=unchecked)


def find_damage(of: WindowRecord) -> Reason | None:
    """Find whether the engine's own check found any in its files, or could not be done."""
    if (because := explain_unchecked(of.values)) and because != NOT_REACHED:
        return Reason(DATABASE_UNCHECKED, {"because": make_clause(because)})
    return Reason(DATABASE_DAMAGED) if of.values.get(DAMAGE, {}).get("value") else None


def weigh_loss(of: WindowRecord, reason: Reason) -> Reason:
    """A loss that the policy did not promise to prevent is a finding, and the window counts."""
    if reason.flag.value not in LOST or is_promised(of.values):
        return reason
    advice = "The policy of this candidate promises nothing for this fault."
    flag = replace(reason.flag, invalidates=False, advice=advice, is_finding=True)
    return replace(reason, flag=flag)


class Suffered(Contrast):
    """A candidate under a fault at a point, against its windows without it, block by block."""

    factor, losses = FAULT, LOST

    def list_compared(self) -> tuple[Window, ...]:
        """The windows in which it struck, with files checked and a whole ledger compared after."""
        is_none = self.happened == NONE
        return tuple(
            window for window in self.list_all()
            if self.is_compared(window) and not explain_unchecked(window.values)
            and (is_none or any(span["name"] == "fault" for span in window.spans))
        )  # fmt: skip


class FaultLosses(Losses):
    """What users lose to a fault, by the metrics that the activity declares."""

    name = ACTIVITY
    tables = frozenset({"seconds"})
    compared = (PAUSE, LOST_WORK, P99_DEGRADED)

    def find_losses(self, analysis: Analysis) -> Iterator[Loss]:
        """Find what each fault costs each candidate, where a window without it is there."""
        for of in Suffered.list_in(analysis.evidence):
            if analysis.evidence.at(of.candidate, of.alone):
                for quantity, paired in list_impacts(analysis, of.candidate, of.point, of.alone):
                    yield Loss(ACTIVITY, quantity, of.candidate, of.point, paired)


class LossRuling(Ruling):
    """A broken promise is no result; a loss that nobody promised to prevent is one."""

    name = "failure"

    def rule(self, evidence: Evidence, *, answered: bool) -> bool:
        """Rule by the losses of all windows, also of those without a fault."""
        suffered = Suffered.list_in(evidence)
        every = evidence.windows if suffered else ()
        losses = [window for window in every if window.is_flagged(*LOST)]
        if not losses:
            return answered
        if any(is_promised(window.values) for window in losses):
            return False
        return answered or all(each.list_counted() or each.list_lost() for each in suffered)


FAILURE_CHECKS = WindowChecks(
    "failure", 92,
    (
        Check(("values", "load"), find_destroyed, always=True),
        Check(("values",), find_damage, always=True),
    ),
    weigh_loss,
)  # fmt: skip

PLUGINS = (FaultLosses(), LossRuling(), FAILURE_CHECKS)
