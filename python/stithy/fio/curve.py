"""A sweep of rates over one pattern: what is asked, whether it was kept, and where it stops.

The sweep begins with a closed loop as fast as it goes; its rate is the maximum, and the points are
shares of it. Rates are requests a second.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stithy.errors import InvalidMeasurement

SHARES = tuple(percent / 100 for percent in range(10, 121, 10))
"""10 to 120 % of the maximum. Source: curve=(10-120,10) of VdbenchAutomation."""

MISS_MOST = 0.02
"""Assumed: below saturation, a point that misses its rate by more measured something else."""

CHANCE = 3.0
"""Standard deviations by which so many random arrivals may differ from their mean."""

LATE_MOST = 0.05
"""Assumed: with more late requests, latencies are not those of an open loop."""

State = Literal["kept", "saturated", "missed"]


@dataclass(frozen=True)
class Asked:
    """A point of the sweep; `share` None where the maximum was not measured."""

    share: float | None
    rate_per_s: float


def points(maximum_per_s: float, shares: Sequence[float] = SHARES) -> tuple[Asked, ...]:
    """The points in rising order. Raises InvalidMeasurement for a maximum of nothing."""
    if not 0 < maximum_per_s < math.inf:
        raise InvalidMeasurement(
            f"the maximum is {maximum_per_s:g} requests a second, so no shares of it can be asked",
            where="the sweep",
            remedy="see why nothing was answered as fast as it goes, then measure again",
        )
    return tuple(Asked(each, each * maximum_per_s) for each in sorted(shares))


@dataclass(frozen=True)
class Judged:
    """A point after its measurement. `is_open`: latencies are those of an open loop."""

    asked: Asked
    achieved_per_s: float
    state: State
    is_open: bool

    @property
    def is_valid(self) -> bool:
        """Whether it may stand on the curve."""
        return self.state != "missed"


def judge(asked: Asked, achieved_per_s: float, duration_s: float, late_share: float) -> Judged:
    """What a point is worth.

    `saturated`: at or above the maximum, or where nobody knows it, less was achieved. `missed`: the
    same below the maximum, or more than asked anywhere.
    """
    chance = CHANCE / math.sqrt(max(1.0, asked.rate_per_s * duration_s))
    miss = achieved_per_s / asked.rate_per_s - 1
    state: State = "kept"
    if miss < -max(MISS_MOST, chance):
        state = "saturated" if asked.share is None or asked.share >= 1 else "missed"
    elif miss > max(MISS_MOST, chance):
        state = "missed"
    return Judged(asked, achieved_per_s, state, is_open=late_share <= LATE_MOST)


def is_past(latency_s: float | None, limit_s: float | None) -> bool:
    """Whether the sweep stops after a point of this latency; without a limit it never does."""
    return limit_s is not None and latency_s is not None and latency_s > limit_s
