"""Response times of several windows as one distribution: histograms merged, never averaged."""

from collections.abc import Mapping, Sequence

from stithy.metrics import ALL, OWN
from stithy.results.hlog import Histogram, merge

PERCENTILES = {
    each.column: each.percent
    for each in OWN.values()
    if each.source == "transactions" and each.percent is not None
}
"""The columns of `transactions` that a level may take from merged windows."""

Merged = Mapping[str, Mapping[str, float]]
"""By transaction type (`all` included), then by column of `PERCENTILES`, seconds."""


def merged_percentiles(by_type: Mapping[str, Sequence[Histogram]]) -> Merged:
    """Percentiles of each transaction type over all its histograms, and of `all` over all types.

    Edge cases: a type without values has no entry; without any value the result is empty.
    Raises ValueError for histograms of different precision.
    Source: docs/explanation/method.md, "Four instants" and "Intervals".
    """
    whole = [histogram for histograms in by_type.values() for histogram in histograms]
    found = {kind: merge(histograms) for kind, histograms in {**by_type, ALL: whole}.items()}
    return {kind: _percentiles(each) for kind, each in found.items() if each and each.count}


def _percentiles(histogram: Histogram) -> dict[str, float]:
    values = {name: histogram.percentile_s(percent) for name, percent in PERCENTILES.items()}
    return {name: value for name, value in values.items() if value is not None}
