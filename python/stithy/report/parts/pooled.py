"""What must stand beside a percentile that is of all blocks together."""

from collections.abc import Iterable, Mapping

from stithy.analysis.effect import Paired
from stithy.metrics import Quantity
from stithy.report.words.wording import listing


def pooled_said(every: Iterable[Mapping[Quantity, Paired]]) -> str | None:
    """Of which percentiles that is so, and where their intervals come from; None of none."""
    pooled = [quantity.label for each in every for quantity, of in each.items() if of.pooled]
    if not pooled:
        return None
    return (
        f"Windows have too few values for {listing(list(dict.fromkeys(pooled)))}, so it is that of "
        "all blocks together. Its interval rests on what changes if each block is left out "
        "(jackknife)."
    )
