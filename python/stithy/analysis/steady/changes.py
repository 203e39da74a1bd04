"""Where within a window the level of its series changed, and stayed changed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

BINS_MOST = 120
"""Own: longer series are averaged to so many values first; a place is then known to one of them."""

SEGMENT_LEAST = 4
"""Own: what is over within fewer values is a stall or a peak, and no other level."""

PEAK = 3.0
"""Of the spread between neighbours; what is farther from the median of five stands alone."""

PENALTY = 3.0
"""Times ln n and the variance: one and a half times that of the Schwarz criterion. Own."""

CHANGE_LEAST_SHARE = 0.10
"""Own: of the mean of the whole; what is smaller is not told."""


@dataclass(frozen=True)
class Change:
    """From value `index` on the mean is `after`, where it was `before` since the last change."""

    index: int
    before: float
    after: float


def changes(values: Sequence[float]) -> tuple[Change, ...]:
    """The changes of level within a series, in their order; none in a short or constant one.

    The best cut into levels: the least sum of squares around their means plus a penalty for each
    cut, in units of the variance that neighbours have without one; single peaks are left out
    (Hampel's filter). Deterministic.
    Source: optimal partitioning, Jackson and others (2005), with the penalty above.
    """
    width = math.ceil(len(values) / BINS_MOST) or 1
    bins = [fmean(values[i : i + width]) for i in range(0, len(values) - width + 1, width)]
    variance = _variance(bins)
    if len(bins) < 2 * SEGMENT_LEAST:
        return ()
    bins = _without_peaks(bins, PEAK * math.sqrt(variance))
    cuts = _cuts(bins, PENALTY * variance * math.log(len(bins)))
    edges = [0, *cuts, len(bins)]
    means = [fmean(bins[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
    least = CHANGE_LEAST_SHARE * abs(fmean(bins))
    found = zip(cuts, means, means[1:], strict=False)
    return tuple(Change(cut * width, a, b) for cut, a, b in found if abs(b - a) >= least)


def _without_peaks(bins: Sequence[float], most: float) -> list[float]:
    """The values, those that stand alone replaced by the median of the five around them."""
    middles = [median(bins[max(0, i - 2) : i + 3]) for i in range(len(bins))]
    return [x if abs(x - m) <= most else m for x, m in zip(bins, middles, strict=True)]


def _variance(bins: Sequence[float]) -> float:
    """The variance without the changes: from differences of neighbours, of which most have none.

    Of single values and of means of four: neighbouring seconds resemble each other, and what is
    left of that in means of four would be taken for changes.
    """
    fours = [fmean(bins[i : i + 4]) for i in range(0, len(bins) - 3, 4)]
    return max(_between(bins), 4 * _between(fours))


def _between(values: Sequence[float]) -> float:
    steps = [abs(b - a) for a, b in zip(values, values[1:], strict=False)]
    if not steps:
        return 0.0
    # 1.4826: a median of absolute values to a standard deviation; √2: a difference has two noises.
    spread = 1.4826 * median(steps) / math.sqrt(2)
    return spread * spread


def _cuts(bins: Sequence[float], penalty: float) -> list[int]:
    """The cuts of least cost; `best[end]` is that of the first `end` values and their last cut."""
    sums, squares = [0.0], [0.0]
    for each in bins:
        sums.append(sums[-1] + each)
        squares.append(squares[-1] + each * each)

    def cost(start: int, end: int) -> float:
        return squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)

    best: list[tuple[float, int]] = [(-penalty, 0)]
    for end in range(1, len(bins) + 1):
        starts = [s for s in range(end - SEGMENT_LEAST + 1) if s == 0 or s >= SEGMENT_LEAST]
        options = [(best[s][0] + cost(s, end) + penalty, s) for s in starts]
        best.append(min(options, default=(math.inf, 0)))
    cuts, end = [], len(bins)
    while (start := best[end][1]) > 0:
        cuts.append(start)
        end = start
    return cuts[::-1]
