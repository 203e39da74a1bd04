"""Whether a point of a sweep kept its rate, and where the sweep stops; requests a second."""

import math
from typing import Literal

MISS_MOST = 0.02
"""Assumed: below saturation, a point that misses its rate by more measured something else."""

CHANCE = 3.0
"""Standard deviations by which so many random arrivals may differ from their mean."""

LATE_MOST = 0.05
"""Assumed: with more late requests, latencies are not those of an open loop."""

State = Literal["kept", "saturated", "missed"]


def judge(
    share: float | None, asked_per_s: float, achieved_per_s: float, duration_s: float
) -> State:
    """What a point is worth; `share` is that of the maximum, None where it was not measured.

    `saturated`: at or above the maximum, or where nobody knows it, less was achieved. `missed`: the
    same below the maximum, or more than asked anywhere.
    """
    chance = CHANCE / math.sqrt(max(1.0, asked_per_s * duration_s))
    miss = achieved_per_s / asked_per_s - 1
    if miss < -max(MISS_MOST, chance):
        return "saturated" if share is None or share >= 1 else "missed"
    return "missed" if miss > max(MISS_MOST, chance) else "kept"


def is_past(latency_s: float | None, limit_s: float | None) -> bool:
    """Whether the sweep stops after a point of this latency; without a limit it never does."""
    return limit_s is not None and latency_s is not None and latency_s > limit_s
