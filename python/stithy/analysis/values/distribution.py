"""Histograms of response times merged over windows, and the percentiles of the merged values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stithy.metrics import ALL, in_columns
from stithy.results.hlog import Histogram, merge

BEYOND_DRAWN = 10
"""Own: a curve ends where fewer values lie beyond it; by chance alone ten vary by a third."""

POINTS_A_DECADE = 12
"""Own: of 1 / (1 - share), enough for a smooth curve."""


@dataclass(frozen=True)
class CurvePoint:
    """A share of the values (0 up to below 1), the highest of these, seconds; how many lie beyond.

    `reach`: 1 / (1 - share), along which a tail is drawn: 10 for 90 %, 1,000 for 99.9 %.
    """

    share: float
    value_s: float
    beyond: int

    @property
    def reach(self) -> float:
        """How many values there are for each one beyond this point."""
        return 1 / (1 - self.share)


def percentile_curve(histogram: Histogram, *, beyond: int = BEYOND_DRAWN) -> tuple[CurvePoint, ...]:
    """Points from the lowest value to the last one that has `beyond` others beyond it.

    Shapes: in ascending order of share; the median and each power of ten of `reach` are among them.
    Edge cases: with fewer than twice `beyond` values there is no curve.
    Source: HdrHistogram's percentile plot; its value at a percentile is the highest equivalent one.
    """
    count = histogram.count
    if count < 2 * beyond:
        return ()
    end = 1 - beyond / count
    # Shares in equal steps of log reach, as far as `count` values go, with the median.
    steps = math.ceil(math.log10(count) * POINTS_A_DECADE)
    tail = (10 ** (-step / POINTS_A_DECADE) for step in range(steps + 1))
    every = sorted({0.5, *(1 - each for each in tail)})
    shares = [*(share for share in every if share < end), end]
    # How many values a share is, rounded up; without the noise of a product's last digits.
    ranks = [max(1, math.ceil(round(share * count, 6))) for share in shares]
    return tuple(
        CurvePoint(share, value_s, count - rank)
        for share, value_s, rank in zip(shares, histogram.at_ranks_s(ranks), ranks, strict=True)
    )


@dataclass(frozen=True)
class Cells:
    """How many values fell into each cell of a grid of time and value.

    `counts`: by column and row, only where there is any. Column c covers `column_s` seconds from
    c * column_s; row r the values from `edges_s[r]` up to `edges_s[r + 1]`.
    """

    counts: dict[tuple[int, int], int]
    column_s: int
    edges_s: tuple[float, ...]


def log_edges(low_s: float, high_s: float, rows: int) -> tuple[float, ...]:
    """Edges of rows that are equally high on a logarithmic axis, a whole number of them a decade.

    Shapes: at most `rows` + 1, ascending; the first is at most `low_s`, the last above `high_s`;
    both greater than 0.
    Own: powers of ten are edges, so that similar studies have the same rows.
    """
    for per_decade in (20, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1):
        first = math.floor(math.log10(low_s) * per_decade)
        last = math.floor(math.log10(high_s) * per_decade) + 1
        if last - first <= rows:
            break
    return tuple(10 ** (step / per_decade) for step in range(first, last + 1))


def cells(
    seconds: Iterable[tuple[int, Histogram]], column_s: int, edges_s: Sequence[float]
) -> Cells:
    """The values of histograms, each of one second, counted by column and row.

    A value counts where the middle of its bucket lies; what lies outside counts in the outermost
    row, so that the cells hold exactly as many values as the histograms.
    """
    counts: dict[tuple[int, int], int] = {}
    # Rows are equally high in logarithms.
    height = math.log(edges_s[-1] / edges_s[0]) / (len(edges_s) - 1)
    for second, histogram in seconds:
        for bucket in histogram.buckets():
            value_s = (bucket.lowest_s + bucket.highest_s) / 2
            row = math.floor(math.log(max(value_s, edges_s[0]) / edges_s[0]) / height + 1e-9)
            key = (second // column_s, min(row, len(edges_s) - 2))
            counts[key] = counts.get(key, 0) + bucket.count
    return Cells(counts, column_s, tuple(edges_s))


Merged = Mapping[str, Mapping[str, float]]
"""By transaction type (`all` included), then by column of `transactions`, seconds."""


def merged_percentiles(by_type: Mapping[str, Sequence[Histogram]]) -> Merged:
    """Percentiles of each transaction type over all its histograms, and of `all` over all types.

    Edge cases: a type without values has no entry; without any value the result is empty.
    Raises ValueError for histograms of different precision.
    Source: docs/explanation/method.md, "Four times of a transaction" and "Intervals".
    """
    whole = [histogram for histograms in by_type.values() for histogram in histograms]
    found = {kind: merge(histograms) for kind, histograms in {**by_type, ALL: whole}.items()}
    return {kind: _percentiles(each) for kind, each in found.items() if each and each.count}


def _percentiles(histogram: Histogram) -> dict[str, float]:
    values = {
        each.column: histogram.percentile_s(each.percent)
        for each in in_columns()
        if each.percent is not None
    }
    return {name: value for name, value in values.items() if value is not None}
