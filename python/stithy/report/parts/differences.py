"""Effects of metrics whose best value is 0, in tables whose other effects are ratios.

A difference has the unit of its metric, which differs from row to row: its bounds are told in one
text, and stand as numbers in the files.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stithy.analysis.effect import Effect, Position
from stithy.metrics import Quantity
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words.wording import signed

TYPES: dict[str, Any] = {
    **dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64),
    "difference_told": pl.String,
}
"""The columns of a difference beside those of a ratio, of which a row has one or the other."""

NONE: dict[str, Any] = dict.fromkeys(TYPES)


@dataclass(frozen=True)
class Bounded:
    """A value with the ends of its interval, a ratio or a difference."""

    value: float | None
    low: float | None
    high: float | None
    is_difference: bool


Known = Bounded | Effect | Position


def cells(metric: Quantity, of: Known, name: str = "value") -> dict[str, Any]:
    """The effect and its bounds: `name`, `low` and `high` of a ratio, or those of a difference."""
    names, numbers = (name, "low", "high"), (of.value, of.low, of.high)
    if not of.is_difference:
        return dict(zip(names, numbers, strict=True)) | NONE
    told = said(metric, *numbers)
    return dict.fromkeys(names) | dict(zip(TYPES, (*numbers, told), strict=True))


def table_with(
    name: str, caption: str, shows: Iterable[Show], rows: Iterable[dict[str, Any]], /, **types: Any
) -> PageTable:
    """A table of rows that have these cells; the columns of differences are its last."""
    last = (
        {key: row[key] for key in (*(each for each in row if each not in TYPES), *TYPES)}
        for row in rows
    )
    return table_of(name, caption, shows, last, **types, **TYPES)


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
