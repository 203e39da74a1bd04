"""An interval that draws the blocks anew: a check on the one that decides, never a verdict."""

import math
import random
from collections.abc import Sequence

BOOTSTRAPS = 4000
"""Own: the bounds of two seeds then differ by a few hundredths of the interval."""


def bootstrap_interval(logs: Sequence[float], seed: int) -> tuple[float, float] | None:
    """The middle 95 % of means of blocks drawn anew with replacement; None with fewer than two.

    Shapes: natural logarithms, like `logs`. From few blocks it is too narrow, and it knows nothing
    of repeated looks: it checks the shape of an interval, not its width.
    Source: Efron (1979), the percentile bootstrap.
    """
    if len(logs) < 2:
        return None
    draw, count = random.Random(f"bootstrap {seed}"), len(logs)
    drawn = draw.choices(logs, k=count * BOOTSTRAPS)
    means = sorted(math.fsum(drawn[i : i + count]) / count for i in range(0, len(drawn), count))
    return means[round(0.025 * BOOTSTRAPS)], means[round(0.975 * BOOTSTRAPS) - 1]
