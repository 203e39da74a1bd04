"""Effects of metrics whose best value is 0, in tables whose other effects are ratios.

A difference has the unit of its metric, which differs from row to row: its bounds are told in one
text, and stand as numbers in the files.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stithy.metrics import Quantity
from stithy.report.tables import Show
from stithy.report.words.wording import signed

TYPES: dict[str, Any] = {
    **dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64),
    "difference_told": pl.String,
}
"""The columns of a difference beside those of a ratio, of which a row has one or the other."""

NONE: dict[str, Any] = dict.fromkeys(TYPES)


def cells(
    metric: Quantity,
    names: Sequence[str],
    numbers: Sequence[float | None],
    *,
    is_difference: bool,
) -> dict[str, Any]:
    """The effect and its bounds, in the columns of ratios (`names`) or in those of differences."""
    if not is_difference:
        return dict(zip(names, numbers, strict=True)) | NONE
    told = said(metric, *numbers)
    return dict.fromkeys(names) | dict(zip(TYPES, (*numbers, told), strict=True))


def said(metric: Quantity, mean: float | None, low: float | None, high: float | None) -> str | None:
    """`−1.2 s (−2 s to −0.4 s)`; None where there is none."""
    if mean is None:
        return None
    if low is None or high is None:
        return signed(metric, mean)
    return f"{signed(metric, mean)} ({signed(metric, low)} to {signed(metric, high)})"


def shows(rows: Sequence[dict[str, Any]], heading: str = "Difference") -> tuple[Show, ...]:
    """Its column, where a row has one."""
    told = any(row["difference_told"] is not None for row in rows)
    return (Show("difference_told", heading),) if told else ()
