"""How many power cuts lost something, what that says of all others, and whether it could fail."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, lgamma, log, log1p
from statistics import median

from stithy.activities.hammer.judge import LEDGER
from stithy.analysis.decision import Ruling
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.metrics import ALL
from stithy.point import Point
from stithy.scenarios.durability.declared import (
    ACKNOWLEDGED,
    CONTROL,
    GIVEN_UP,
    GONE,
    INCONSISTENT,
    LOST,
    LYING,
    NAME,
    NONE,
    PROMISED,
    REBUILD,
    RECOVERY,
    SPARED,
    STORAGE,
)
from stithy.validity import Reason

CONFIDENCE, STEPS = 0.95, 60
"""Own: so many halvings of 1 are far below what anybody prints."""


def bound_share(cuts: int, lost: int) -> float:
    """Bound the chance of a loss by a cut from above, exactly binomial: none of 300 give 1 %.

    Source: Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the
    case of the binomial.
    """
    if lost >= cuts:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        # By logarithms, as there are more ways to lose so many than a float holds.
        chance = sum(
            exp(lgamma(cuts + 1) - lgamma(each + 1) - lgamma(cuts - each + 1)
                + each * log(middle) + (cuts - each) * log1p(-middle))
            for each in range(lost + 1)
        )  # fmt: skip
        low, high = (middle, high) if chance > 1 - CONFIDENCE else (low, middle)
    return high


def read_value(window: Window, metric: str) -> float | None:
    """What a cut gave, whether its window supports a claim of times or not."""
    row = window.values.get((metric, ALL))
    number: float | None = row["value"] if row else None
    return number


def has_lost(window: Window) -> bool:
    """Whether a cut lost or damaged something."""
    return read_value(window, LOST) == 1


@dataclass(frozen=True)
class Tally:
    """The cuts of a candidate at a point, those that lost or damaged something, and its controls.

    `unknown`: how many windows more had a cut that was not looked at to its end, or none.
    `is_promised`: no setting of the study gives durability up. `recovery_s`: median and maximum of
    valid windows. `silent_controls` lost nothing in any cut: the test could not have failed.
    `spared`: hosts that kept their power. `storage_s`, `rebuild_s`, `inconsistent`: the most of any
    cut; all these None without a cluster.
    """

    candidate: str
    point: Point
    cuts: tuple[Window, ...]
    lost: tuple[Window, ...]
    unknown: int
    bound: float
    is_promised: bool
    acknowledged: int
    transactions_lost: int
    recovery_s: tuple[float, float] | None
    controls: Mapping[str, tuple[Window, ...]]
    silent_controls: tuple[str, ...]
    spared: float | None
    storage_s: float | None
    rebuild_s: float | None
    inconsistent: float | None


def list_tallies(evidence: Evidence) -> tuple[Tally, ...]:
    """Each candidate at each point without a control."""
    return tuple(
        _count(evidence, name, point)
        for point in evidence.points
        if point.values.get(CONTROL) == NONE
        for name in evidence.candidates
        if evidence.at(name, point)
    )


def _count(evidence: Evidence, candidate: str, point: Point) -> Tally:
    def list_cuts(control: str) -> tuple[Window, ...]:
        every = evidence.at(candidate, point.replaced(CONTROL, control))
        return tuple(window for window in every if read_value(window, LOST) is not None)

    def sum_up(metric: str) -> int:
        return round(sum(read_value(window, metric) or 0 for window in cuts))

    def find_most(metric: str) -> float | None:
        values = (read_value(window, metric) for window in cuts)
        return max((value for value in values if value is not None), default=None)

    cuts = list_cuts(NONE)
    lost = tuple(filter(has_lost, cuts))
    planned = (name for name in (GIVEN_UP, LYING)
               if evidence.at(candidate, point.replaced(CONTROL, name)))  # fmt: skip
    controls = {name: list_cuts(name) for name in planned}
    valid = (read_value(window, RECOVERY) for window in evidence.valid_at(candidate, point))
    times_s = [time_s for time_s in valid if time_s is not None]
    return Tally(
        candidate, point, cuts, lost, len(evidence.at(candidate, point)) - len(cuts),
        bound_share(len(cuts), len(lost)),
        is_promised=all(read_value(window, PROMISED) == 1 for window in cuts),
        acknowledged=sum_up(ACKNOWLEDGED), transactions_lost=sum_up(GONE),
        recovery_s=(median(times_s), max(times_s)) if times_s else None,
        controls=controls,
        silent_controls=tuple(name for name in controls if not any(map(has_lost, controls[name]))),
        spared=find_most(SPARED), storage_s=find_most(STORAGE), rebuild_s=find_most(REBUILD),
        inconsistent=find_most(INCONSISTENT),
    )  # fmt: skip


def weigh_loss(of: WindowRecord, reason: Reason) -> Reason:
    """What a cut lost is a finding: a second cut for it would make their number depend on it.

    Where the study's settings promise no better, the window counts.
    """
    row = of.values.get((PROMISED, ALL))
    if row is None or reason.flag.value != LEDGER.value:
        return reason
    if row["value"] == 1:
        return replace(reason, flag=replace(reason.flag, is_finding=True))
    advice = "The study's settings promise no better."
    flag = replace(reason.flag, invalidates=False, advice=advice, is_finding=True)
    return replace(reason, flag=flag)


class CutRuling(Ruling):
    """A loss of what was promised is no answer, and neither is a test that could not fail."""

    name = NAME

    def rule(self, evidence: Evidence, *, answered: bool) -> bool:
        """Rule by all cuts, and by those of the controls."""
        tallies = list_tallies(evidence)
        if not tallies:
            return answered
        if any(tally.lost and tally.is_promised for tally in tallies):
            return False
        return all(tally.cuts and tally.controls and not tally.silent_controls for tally in tallies)


PLUGINS = (CutRuling(), WindowChecks(NAME, 93, (), weigh_loss))
