"""What became of each candidate under each fault: kept, lost, or not proven, with numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import polars as pl

from stithy.activities.hammer.judge import CONDITIONS, UNREADABLE
from stithy.analysis.analyze import Analysis
from stithy.analysis.effect import Effect, estimate_level
from stithy.analysis.evidence import Evidence
from stithy.metrics import PAUSE_NEGLIGIBLE_S, Quantity
from stithy.point import Point
from stithy.results.tables import GONE
from stithy.scenarios.failure.fault import NONE
from stithy.scenarios.failure.judge import (
    DATABASE_DAMAGED,
    LOST_WORK,
    PAUSE,
    PROMISED,
    Suffered,
    explain_unchecked,
)
from stithy.scenarios.failure.keys import FAULT

DEGRADED = Quantity("fault.throughput_ratio", "degraded")


class Fate(Enum):
    """What became of what was acknowledged."""

    KEPT = "kept"
    LOST = "lost"
    UNPROVEN = "not proven"
    UNREACHED = "not measured"


@dataclass(frozen=True)
class LedgerLoss:
    """How many transactions of a kind a ledger missed, or found otherwise than acknowledged.

    `how`: a column of the table `ledger`, such as `lost`.
    """

    deal: str
    how: str
    count: int


@dataclass(frozen=True)
class Survival:
    """A candidate under a fault at a point.

    `promised`: whether its policy promises to keep what was acknowledged; None where the fault
    never struck. `windows`: all; `compared`: in which it struck, whose ledger was compared and
    whose files were checked; `lost`: in which something was lost or changed: in `unreadable` of
    them all, in `damaged` by the engine's own check, in `broken` by its conditions; `unchecked`: in
    which that check failed; `counted`: that are valid. `because`: why a database could not be read,
    or not be compared. `pause`: the longest time without a commit, over valid windows; `longer`:
    than without the fault. `degraded`: throughput relative to that without the fault, and for how
    long. All of valid windows.
    """

    candidate: str
    fault: str
    point: Point
    fate: Fate
    promised: bool | None
    windows: int
    compared: int
    lost: int
    unreadable: int
    damaged: int
    broken: int
    unchecked: int
    gone: tuple[LedgerLoss, ...]
    because: str | None
    counted: int
    pause: Effect
    longer: Effect
    degraded: Effect
    degraded_s: float | None
    lost_work: Effect

    @property
    def is_paused(self) -> bool | None:
        """Whether users may have waited noticeably longer than without the fault.

        None if not known.
        """
        return self.longer.may_exceed(PAUSE_NEGLIGIBLE_S)


def list_survivals(analysis: Analysis) -> tuple[Survival, ...]:
    """Each candidate under each fault; without a fault where something was lost all the same."""
    evidence = analysis.evidence
    if not Suffered.list_in(evidence):
        return ()
    every = (
        Suffered(evidence, name, point)
        for point in evidence.points if point.values.get(FAULT) is not None
        for name in evidence.candidates
    )  # fmt: skip
    return tuple(_judge_survival(analysis, of) for of in every
                 if of.happened != NONE or of.list_lost())  # fmt: skip


def _judge_survival(analysis: Analysis, of: Suffered) -> Survival:
    every, lost, compared = of.list_all(), of.list_lost(), of.list_compared()
    pauses = (window.value("gap_s") for window in of.list_counted())
    unreadable, damaged, broken = (
        [window for window in lost if window.is_flagged(flag.value)]
        for flag in (UNREADABLE, DATABASE_DAMAGED, CONDITIONS)
    )  # fmt: skip
    unchecked = sum(explain_unchecked(window.values) is not None for window in every)
    fate = Fate.LOST if lost else Fate.KEPT if compared else Fate.UNPROVEN
    rows = analysis.run.ledger.filter(pl.col("window_id").is_in([window.id for window in lost]))
    sums = rows.group_by("deal", maintain_order=True).agg(pl.col(*GONE).sum())
    gone = tuple(LedgerLoss(row["deal"], how, row[how])
                 for row in sums.to_dicts() for how in GONE if row[how])  # fmt: skip
    promises = (window.values.get(PROMISED, {}).get("value") for window in every)
    promised = next((value != 0 for value in promises if value is not None), None)
    reasons = (window.row["ledger_unverified_because"] or window.row["ledger_problem"]
               or window.row["missing_because"] or explain_unchecked(window.values)
               for window in unreadable or every)  # fmt: skip
    return Survival(
        of.candidate, of.happened, of.point, fate if every else Fate.UNREACHED,
        promised, len(every), len(compared), len(lost), len(unreadable),
        len(damaged), len(broken), unchecked, gone,
        next(filter(None, reasons), None), len(of.list_counted()),
        estimate_level([pause_s for pause_s in pauses if pause_s is not None]),
        of.compare(PAUSE), of.find_effect(DEGRADED),
        of.average(Quantity("fault.phase_s", "degraded")), of.find_effect(LOST_WORK),
    )  # fmt: skip


def list_faults(evidence: Evidence, survivals: Sequence[Survival]) -> tuple[Point, ...]:
    """List the points of survivals: those with a loss first, then where the question is asked."""
    points = tuple(dict.fromkeys(each.point for each in survivals))
    lost = [each.point for each in survivals if each.fate is Fate.LOST]
    asked = evidence.choose_asked([point for point in points if point.values[FAULT] != NONE])
    return tuple(sorted(points, key=lambda point: (point not in lost, point != asked)))
