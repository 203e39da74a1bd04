"""Tables of the page: every number that is printed stands in a frame, and the frame in a file.

A `PageTable` knows how its cells are shown; `write` puts its data beside the page as Parquet and
CSV, so that each printed number can be found with full precision.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from stithy.analysis.effect import Effect, Position
from stithy.metrics import Quantity, Unit
from stithy.report.words.wording import (
    DASH,
    format_bounds,
    format_chance,
    format_count,
    format_exactly,
    format_finely,
    format_in_table,
    format_money,
    format_number,
    format_signed,
    format_signed_share,
)
from stithy.statements import Statement
from stithy.units import format_measured_duration, format_share, format_size

SHOW: dict[str, Callable[[Any], str]] = {
    "text": str,
    "id": str,
    "count": format_count,
    "rate": format_number,
    "money": format_money,
    "duration": format_measured_duration,
    "share": format_share,
    "exact share": format_exactly,
    "signed share": format_signed_share,
    "ratio": format_in_table,
    "correlation": lambda value: f"{round(value, 2) or 0.0:.2f}",  # never -0.00
    "fine ratio": format_finely,
    "chance": format_chance,
    "size": format_size,
    "bandwidth": lambda value: f"{format_size(value)}/s",
    "watts": lambda value: f"{format_number(value)} W",
    "joules": lambda value: f"{format_number(value)} J",
    "truth": lambda value: "yes" if value else "no",
}

WORDS = frozenset({"text", "id", "truth"})
"""The kinds that are no numbers."""

TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("text", "id"), pl.String), "truth": pl.Boolean, "count": pl.Int64,
}  # fmt: skip
"""Of the cells of a kind, as a frame has them; of all other kinds they are real numbers."""

KINDS: Mapping[Unit, str] = {
    "s": "duration", "1/min": "count", "1/s": "rate", "share": "share", "B": "size",
    "B/s": "bandwidth", "W": "watts", "J": "joules", "": "rate",
}  # fmt: skip
"""How values of a unit are shown."""


@dataclass(frozen=True)
class Show:
    """How one column is shown: its heading and the kind of its cells, a key of `SHOW`."""

    column: str
    heading: str
    kind: str = "text"

    @property
    def is_number(self) -> bool:
        return self.kind not in WORDS


@dataclass(frozen=True)
class Cell:
    """One cell as printed; `value` is the number behind it, None for texts and missing values.

    `kind`: `number`, `text`, `id` or `truth`.
    """

    text: str
    value: float | int | None
    kind: str


@dataclass(frozen=True)
class PageTable:
    """Data with what is needed to print them; `name` is the stem of the files.

    Columns of `frame` that `columns` does not name are written to the files but not printed.
    `statements`: sentences in its cells, each with the values of its row.
    """

    name: str
    caption: str
    columns: tuple[Show, ...]
    frame: pl.DataFrame
    statements: tuple[tuple[Statement, Mapping[str, Any]], ...] = ()

    def cells(self) -> list[list[Cell]]:
        """All rows as printed; missing values are a dash."""
        return [
            [_format_cell(row[show.column], show) for show in self.columns]
            for row in self.frame.iter_rows(named=True)
        ]

    def told(self, *always: str) -> "PageTable":
        """The same without columns in which nothing stands, but for those named."""
        there = (column for column in self.columns
                 if column.column in always or self.frame[column.column].count())  # fmt: skip
        return replace(self, columns=tuple(there))

    def write(self, folder: Path) -> None:
        """Write `<name>.parquet` and `<name>.csv` to `folder`."""
        # Through memory, so that a full disk is an OSError as everywhere else.
        content = io.BytesIO()
        self.frame.write_parquet(content, compression="zstd")
        (folder / f"{self.name}.parquet").write_bytes(content.getvalue())
        (folder / f"{self.name}.csv").write_text(self.frame.write_csv(), encoding="utf-8")


def make_table(
    name: str, caption: str, shows: Iterable[Show], rows: Iterable[dict[str, Any]], /, **types: Any
) -> PageTable:
    """A table of these rows, its columns in their order.

    `types`: of columns that are not shown, and of counts that are no whole numbers. What is neither
    shown nor has a type there is left out.
    """
    shows, rows = tuple(shows), list(rows)
    known = {show.column: TYPES.get(show.kind, pl.Float64) for show in shows} | types
    order = {**rows[0], **known} if rows else known
    schema = {column: known[column] for column in order if column in known}
    statements: list[tuple[Statement, Mapping[str, Any]]] = []
    for row in rows:
        said = {column: value for column, value in row.items() if isinstance(value, Statement)}
        # The names and levels of the row.
        keys = {
            column: value
            for column, value in row.items()
            if isinstance(value, str | int) and not isinstance(value, Statement | bool)
        }
        statements += [(value, {"column": column, **keys}) for column, value in said.items()]
    return PageTable(name, caption, shows, pl.DataFrame(rows, schema=schema), tuple(statements))


def _format_cell(value: Any, show: Show) -> Cell:
    kind = "number" if show.is_number else show.kind
    if value is None:
        return Cell(DASH, None, kind)
    return Cell(SHOW[show.kind](value), value if show.is_number else None, kind)


DIFFERENCE_TYPES: dict[str, Any] = {
    **dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64),
    "difference_told": pl.String,
}
"""The columns of a difference beside those of a ratio, of which a row has one or the other."""

NO_DIFFERENCE: dict[str, Any] = dict.fromkeys(DIFFERENCE_TYPES)


@dataclass(frozen=True)
class Bounded:
    """A value with the ends of its interval, a ratio or a difference."""

    value: float | None
    low: float | None
    high: float | None
    is_difference: bool


Known = Bounded | Effect | Position


def make_effect_cells(metric: Quantity, of: Known, name: str = "value") -> dict[str, Any]:
    """The effect and its bounds: `name`, `low` and `high` of a ratio, or those of a difference."""
    names, numbers = (name, "low", "high"), (of.value, of.low, of.high)
    if not of.is_difference:
        return dict(zip(names, numbers, strict=True)) | NO_DIFFERENCE
    told = format_difference(metric, *numbers)
    return dict.fromkeys(names) | dict(zip(DIFFERENCE_TYPES, (*numbers, told), strict=True))


def make_effect_table(
    name: str, caption: str, shows: Iterable[Show], rows: Iterable[dict[str, Any]], /, **types: Any
) -> PageTable:
    """A table of rows that have these cells; the columns of differences are its last."""
    last = (
        {
            key: row[key]
            for key in (*(each for each in row if each not in DIFFERENCE_TYPES), *DIFFERENCE_TYPES)
        }
        for row in rows
    )
    return make_table(name, caption, shows, last, **types, **DIFFERENCE_TYPES)


def format_difference(
    metric: Quantity, mean: float | None, low: float | None, high: float | None
) -> str | None:
    """`−1.2 s (−2 s to −0.4 s)`; None where there is none."""
    if mean is None:
        return None
    shown = partial(format_signed, metric)
    return f"{shown(mean)}{format_bounds(low, high, shown)}"


def list_difference_columns(
    rows: Sequence[dict[str, Any]], heading: str = "Difference"
) -> tuple[Show, ...]:
    """Its column, where a row has one."""
    told = any(row["difference_told"] is not None for row in rows)
    return (Show("difference_told", heading),) if told else ()
