"""Was a window steady: how far its fifths differ, where its level changed, when it settled."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import polars as pl

from stithy.metrics import ALL
from stithy.validity import Row

BATCH = 5
"""Values to a batch: the 5 of MSER-5."""

BATCHES_LEAST = 4
"""Own: of fewer batches none can be distinguished from chance."""


def find_settled_after(values: Sequence[float], most: int) -> int | None:
    """How many values to leave out at the start so that the mean of the rest is best known.

    Whole batches of five, and at most `most` values, which must be the same for all windows that
    are compared; None with fewer than four batches. The cut is the one with the smallest
    Σ(x̄ᵢ − x̄)²/(n − d)² over the batch means behind it; the first of several.
    Source: White, Cobb, Spratt, A comparison of five steady-state truncation heuristics for
    simulation (2000); chosen among 44 methods by Hoad, Robinson, Davies (2010).
    """
    # Means of batches of five; a rest of fewer is left out.
    whole = range(0, len(values) - BATCH + 1, BATCH)
    batches = [math.fsum(values[start : start + BATCH]) / BATCH for start in whole]
    if len(batches) < BATCHES_LEAST:
        return None
    cuts = range(min(most // BATCH, len(batches) - BATCHES_LEAST // 2) + 1)
    return BATCH * min(cuts, key=lambda cut: _estimate_error(batches[cut:]))


def _estimate_error(rest: Sequence[float]) -> float:
    mean = math.fsum(rest) / len(rest)
    # Rounded, so that what differs by rounding alone does not move the cut.
    return round(math.fsum((x - mean) ** 2 for x in rest) / len(rest) ** 2, 9)


BINS_MOST = 120
"""Own: longer series are averaged to so many values first; a place is then known to one of them."""

SEGMENT_LEAST = 4
"""Own: what is over within fewer values is a stall or a peak, and no other level."""

PEAK = 3.0
"""Of the spread between neighbours; what is farther from the median of five stands alone."""

PENALTY = 3.0
"""Times ln n and the variance: one and a half times that of the Schwarz criterion. Own."""

CHANGE_LEAST_SHARE = 0.10
"""Own: of the mean of the whole; what is smaller is not reported."""


@dataclass(frozen=True)
class LevelChange:
    """From value `index` on the mean is `after`, where it was `before` since the last change."""

    index: int
    before: float
    after: float


def find_changes(values: Sequence[float]) -> tuple[LevelChange, ...]:
    """The changes of level within a series, in their order; none in a short or constant one.

    The best cut into levels: the least sum of squares around their means plus a penalty for each
    cut, in units of the variance that neighbours have without one; single peaks are left out
    (Hampel's filter). Deterministic.
    Source: optimal partitioning, Jackson and others (2005), with the penalty above.
    """
    width = math.ceil(len(values) / BINS_MOST) or 1
    bins = [fmean(values[i : i + width]) for i in range(0, len(values) - width + 1, width)]
    # The variance without the changes: from differences of neighbours, of which most have none. Of
    # single values and of means of four: neighbouring seconds resemble each other, and what is left
    # of that in means of four would be taken for changes.
    fours = [fmean(bins[i : i + 4]) for i in range(0, len(bins) - 3, 4)]
    variance = max(_select_between(bins), 4 * _select_between(fours))
    if len(bins) < 2 * SEGMENT_LEAST:
        return ()
    # Values that stand alone are replaced by the median of the five around them.
    most = PEAK * math.sqrt(variance)
    middles = [median(bins[max(0, i - 2) : i + 3]) for i in range(len(bins))]
    bins = [x if abs(x - m) <= most else m for x, m in zip(bins, middles, strict=True)]
    cuts = _find_cuts(bins, PENALTY * variance * math.log(len(bins)))
    edges = [0, *cuts, len(bins)]
    means = [fmean(bins[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
    least = CHANGE_LEAST_SHARE * abs(fmean(bins))
    found = zip(cuts, means, means[1:], strict=False)
    return tuple(LevelChange(cut * width, a, b) for cut, a, b in found if abs(b - a) >= least)


def _select_between(values: Sequence[float]) -> float:
    steps = [abs(b - a) for a, b in zip(values, values[1:], strict=False)]
    if not steps:
        return 0.0
    # 1.4826: a median of absolute values to a standard deviation; √2: a difference has two noises.
    spread = 1.4826 * median(steps) / math.sqrt(2)
    return spread * spread


def _find_cuts(bins: Sequence[float], penalty: float) -> list[int]:
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


PARTS = 5
RANGE_MOST_SHARE = 0.20
SLOPE_MOST_SHARE = 0.10
"""Of the mean: from the lowest to the highest part, and from end to end of the straight line
through them. Source: SNIA Solid State Storage Performance Test Specification."""

PART_LEAST_S = 3
"""Own: a part of fewer seconds shows single stalls and no state."""

PART_LEAST_TRANSACTIONS = 800
"""Own: with so many to a part, if they come by chance (Poisson), the parts have a slope of 10 % in
one window of forty, and a range of 20 % hardly ever."""

TRIM_MOST_SHARE = 0.5
"""Of the measurement: equal for all windows of equal length. Source: White (1997)."""


@dataclass(frozen=True)
class Steadiness:
    """How steady a window was; seconds count from the start of its measurement.

    `steady` is None where it is not known, with the reason in `unknown_because`; the shares are
    then None too. `range_share`, `slope_share`: of the mean, over five equal parts of the
    measurement. `late_s`: seconds of the measurement that by MSER-5 still belong to the ramp-up,
    `late_share`: by how much the mean would be higher without them. `changes`: of level within the
    measurement, in transactions a second.
    """

    steady: bool | None
    range_share: float | None = None
    slope_share: float | None = None
    late_s: int | None = None
    late_share: float | None = None
    changes: tuple[LevelChange, ...] = ()
    unknown_because: str | None = None


def make_unknown(reason: str) -> Steadiness:
    """The steadiness of a window of which it cannot be determined."""
    return Steadiness(None, unknown_because=reason)


def judge_steadiness(ramp_up: Sequence[float], measured: Sequence[float]) -> Steadiness:
    """How steady a window was, by its transactions in each second of ramp-up and measurement.

    Shapes: one value for each whole second, none left out; `ramp_up` may be empty.
    Source: docs/explanation/verdicts.md, "Steady state".
    """
    length = len(measured) // PARTS
    if length < PART_LEAST_S:
        return make_unknown(f"it is shorter than {PARTS * PART_LEAST_S} s")
    parts = [fmean(measured[i * length : (i + 1) * length]) for i in range(PARTS)]
    mean = fmean(parts)
    if mean * len(measured) / PARTS < PART_LEAST_TRANSACTIONS:
        return make_unknown(f"a fifth of it has fewer than {PART_LEAST_TRANSACTIONS} transactions")
    range_share = (max(parts) - min(parts)) / mean
    # The slope is that of the least-squares line through the parts, from end to end.
    middle = (len(parts) - 1) / 2
    weights = [index - middle for index in range(len(parts))]
    rise = sum(w * part for w, part in zip(weights, parts, strict=True))
    slope_share = abs(rise / sum(w * w for w in weights)) * (len(parts) - 1) / mean
    alike = range_share <= RANGE_MOST_SHARE and slope_share <= SLOPE_MOST_SHARE
    late = _find_late(ramp_up, measured)
    return Steadiness(alike, range_share, slope_share, *late, find_changes(measured))


def _find_late(
    ramp_up: Sequence[float], measured: Sequence[float]
) -> tuple[int | None, float | None]:
    most = len(ramp_up) + round(TRIM_MOST_SHARE * len(measured))
    cut = find_settled_after([*ramp_up, *measured], most)
    if cut is None:
        return None, None
    late_s = max(0, cut - len(ramp_up))
    return late_s, fmean(measured[late_s:]) / fmean(measured) - 1


Frames = Mapping[str, pl.DataFrame]

EDGE_S = 0.05
"""Own: a measurement that begins or ends so close to a full second has it whole."""


def judge_steadiness_of_windows(frames: Frames) -> dict[str, Steadiness]:
    """The steadiness of every window that has numbers, by its id.

    `frames`: the tables `window` and `seconds` of `results.tables`; either may be missing.
    Own: see `judge_steadiness`; transactions of all types count, rolled back ones included.
    """
    windows, seconds = frames.get("window"), frames.get("seconds")
    if windows is None or seconds is None or windows.is_empty():
        return {}
    done = pl.col("committed") + pl.col("rolled_back")
    kept = seconds.filter(pl.col("transaction") == ALL).select("window_id", "second", done=done)
    series = {
        str(key[0]): part for key, part in kept.partition_by("window_id", as_dict=True).items()
    }
    return {
        row["window_id"]: _judge_window(row, series.get(row["window_id"]))
        for row in windows.to_dicts()
        if row["measure_to_s"] is not None
    }


def _judge_window(window: Row, series: pl.DataFrame | None) -> Steadiness:
    if series is None or series.is_empty():
        return make_unknown("it has no one-second values")
    by_second = dict(series.sort("second").select("second", "done").iter_rows())
    begin = window["measure_from_s"] - window["started_at_s"]
    end = window["measure_to_s"] - window["started_at_s"]
    ramp_up = _select_window(by_second, 0.0, begin)
    measured = _select_window(by_second, begin, end)
    if ramp_up is None or measured is None:
        return make_unknown("one-second values are missing from it")
    return judge_steadiness(ramp_up, measured)


def _select_window(
    by_second: Mapping[int, int], begin_s: float, end_s: float
) -> Sequence[float] | None:
    first = -int(-(begin_s - EDGE_S) // 1)
    wanted = range(first, int(end_s + EDGE_S))
    if any(second not in by_second for second in wanted):
        return None
    return [float(by_second[second]) for second in wanted]
