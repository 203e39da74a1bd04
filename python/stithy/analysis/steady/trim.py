"""How long a window took to settle: where its series is best cut (MSER-5)."""

import math
from collections.abc import Sequence

BATCH = 5
"""Values to a batch: the 5 of MSER-5."""

BATCHES_LEAST = 4
"""Own: of fewer batches none can be told from chance."""


def settled_after(values: Sequence[float], most: int) -> int | None:
    """How many values to leave out at the start so that the mean of the rest is best known.

    Whole batches of five, and at most `most` values, which must be the same for all windows that
    are compared; None with fewer than four batches. The cut is the one with the smallest
    Σ(x̄ᵢ − x̄)²/(n − d)² over the batch means behind it; the first of several.
    Source: White, Cobb, Spratt, A comparison of five steady-state truncation heuristics for
    simulation (2000); chosen among 44 methods by Hoad, Robinson, Davies (2010).
    """
    batches = _means(values)
    if len(batches) < BATCHES_LEAST:
        return None
    cuts = range(min(most // BATCH, len(batches) - BATCHES_LEAST // 2) + 1)
    return BATCH * min(cuts, key=lambda cut: _error(batches[cut:]))


def _means(values: Sequence[float]) -> list[float]:
    """Means of batches of five; a rest of fewer is left out."""
    whole = range(0, len(values) - BATCH + 1, BATCH)
    return [math.fsum(values[start : start + BATCH]) / BATCH for start in whole]


def _error(rest: Sequence[float]) -> float:
    mean = math.fsum(rest) / len(rest)
    # Rounded, so that what differs by rounding alone does not move the cut.
    return round(math.fsum((x - mean) ** 2 for x in rest) / len(rest) ** 2, 9)
