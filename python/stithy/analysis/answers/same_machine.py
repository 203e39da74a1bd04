"""By how much a machine was another one in one run than in an earlier one, by what both saw of it.

Baseline checks before the blocks do a fixed piece of work, and each window counts what other
programs took. Two runs differ by at least what these differ by, whatever the storage did.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.validity.canary import GAUGES, Gauge, usual_of
from stithy.analysis.validity.surroundings import OTHERS_CPU_SHARE

TAKEN_MOST = 0.99
"""Own: of what is left by others; beyond it nothing is known of a run."""


@dataclass(frozen=True)
class Moved:
    """How many times as much as in the earlier run a figure of the baseline checks is.

    `counts`: whether windows may differ by as much; else nobody can tell it from noise.
    """

    gauge: Gauge
    ratio: float
    counts: bool


@dataclass(frozen=True)
class Taken:
    """The mean share of CPUs or disks that others took, in the windows of two runs."""

    base: float
    other: float

    @property
    def differs(self) -> bool:
        """Whether it differs by more than an idle system does of its own."""
        return abs(self.base - self.other) > OTHERS_CPU_SHARE

    @property
    def log(self) -> float:
        """How far apart two runs are that had as much left, as a logarithm.

        Source: the utilisation law: throughput is at most in proportion to what is left.
        """
        base, other = (1 - min(each, TAKEN_MOST) for each in (self.base, self.other))
        return abs(math.log(other / base))


def moved(base: Evidence, other: Evidence) -> tuple[Moved, ...]:
    """How the baseline checks of two runs differ; empty where either has none.

    Own: medians over each run. CPUs count however little they differ, for they scatter little;
    reads from where the constants of `validity.canary` tell them from noise.
    """
    found = []
    for gauge in GAUGES:
        known = [usual_of([each.row for each in run.canaries], gauge) for run in (base, other)]
        one, two = known
        if one is not None and two is not None:
            ratio = two.middle / one.middle
            found.append(Moved(gauge, ratio, gauge.is_rate or _beyond(ratio, gauge.floor_share)))
    return tuple(found)


def _beyond(ratio: float, floor_share: float) -> bool:
    return abs(math.log(ratio)) > math.log(1 + floor_share)


def taken(base: Sequence[Window], other: Sequence[Window]) -> Taken | None:
    """What others took in the windows of two runs; None where it is not known of either.

    Own: means over windows.
    """
    shares = [
        [each.taken_share for each in windows if each.taken_share is not None]
        for windows in (base, other)
    ]
    return Taken(*map(fmean, shares)) if all(shares) else None


def drift_log(found: Sequence[Moved], others: Taken | None) -> float:
    """By how much two values of these runs may differ at least, as a logarithm.

    The larger of both: a neighbour that windows met is met by baseline checks, too.
    Own: see above.
    """
    machine = (abs(math.log(each.ratio)) for each in found if each.counts)
    return max([others.log if others else 0.0, *machine])
