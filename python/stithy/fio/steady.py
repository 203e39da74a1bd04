"""The steady state of rounds of a test, as SNIA's Performance Test Specification has it.

Over a measurement window of five rounds, the values range over no more than 20 % of their mean, and
their best straight line rises or falls by no more than 10 % of it within the window.
Source: SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROUNDS = 5
RANGE_MOST = 0.20
EXCURSION_MOST = 0.10


@dataclass(frozen=True)
class Steadiness:
    """The last window of a tracked value. Shares are of its mean; None: there is no window yet."""

    is_steady: bool
    range_share: float | None
    excursion_share: float | None


def steadiness(values: Sequence[float]) -> Steadiness:
    """Whether the last rounds of these values are steady; fewer never are, nor a mean of 0."""
    window = values[-ROUNDS:]
    if len(window) < ROUNDS or (mean := sum(window) / ROUNDS) <= 0:
        return Steadiness(False, None, None)
    range_share = (max(window) - min(window)) / mean
    # The slope of the least-squares line over 0, 1, 2, …
    middle = (ROUNDS - 1) / 2
    rise = sum((at - middle) * (value - mean) for at, value in enumerate(window))
    slope = rise / sum((at - middle) ** 2 for at in range(ROUNDS))
    excursion_share = abs(slope) * (ROUNDS - 1) / mean
    is_steady = range_share <= RANGE_MOST and excursion_share <= EXCURSION_MOST
    return Steadiness(is_steady, range_share, excursion_share)


def steady_after(tracked: Mapping[str, Sequence[float]]) -> int | None:
    """The number of rounds after which all tracked values were first steady; None where never.

    Shapes: each value has one entry a round.
    """
    known = min((len(each) for each in tracked.values()), default=0)
    for count in range(ROUNDS, known + 1):
        if all(steadiness(each[:count]).is_steady for each in tracked.values()):
            return count
    return None
