"""Tables of the page: every number that is printed stands in a frame, and the frame in a file.

A `PageTable` knows how its cells are shown; `write` puts its data beside the page as Parquet and
CSV, so that each printed number can be found with full precision.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from stithy.metrics import Unit
from stithy.report.words.wording import (
    DASH,
    chance,
    count,
    exactly,
    finely,
    in_table,
    percent,
    rate,
    signed_percent,
    took,
)
from stithy.units import format_size

SHOW: dict[str, Callable[[Any], str]] = {
    "text": str,
    "id": str,
    "count": count,
    "rate": rate,
    "duration": took,
    "share": percent,
    "exact share": exactly,
    "signed share": signed_percent,
    "ratio": in_table,
    "correlation": lambda value: f"{round(value, 2) or 0.0:.2f}",  # never -0.00
    "fine ratio": finely,
    "chance": chance,
    "size": format_size,
    "bandwidth": lambda value: f"{format_size(value)}/s",
    "truth": lambda value: "yes" if value else "no",
}


WORDS = frozenset({"text", "id", "truth"})
"""The kinds that are no numbers."""


KINDS: Mapping[Unit, str] = {
    "s": "duration", "1/min": "count", "1/s": "rate", "share": "share", "B": "size",
    "B/s": "bandwidth", "": "rate",
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
        """Whether its cells are numbers."""
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
    """

    name: str
    caption: str
    columns: tuple[Show, ...]
    frame: pl.DataFrame

    def cells(self) -> list[list[Cell]]:
        """All rows as printed; missing values are a dash."""
        return [
            [_cell(row[show.column], show) for show in self.columns]
            for row in self.frame.iter_rows(named=True)
        ]

    def write(self, folder: Path) -> None:
        """Write `<name>.parquet` and `<name>.csv` to `folder`."""
        # Through memory, so that a full disk is an OSError as everywhere else.
        content = io.BytesIO()
        self.frame.write_parquet(content, compression="zstd")
        (folder / f"{self.name}.parquet").write_bytes(content.getvalue())
        (folder / f"{self.name}.csv").write_text(self.frame.write_csv(), encoding="utf-8")


def _cell(value: Any, show: Show) -> Cell:
    kind = "number" if show.is_number else show.kind
    if value is None:
        return Cell(DASH, None, kind)
    return Cell(SHOW[show.kind](value), value if show.is_number else None, kind)
