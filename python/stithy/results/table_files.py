"""Reading tables back: one file, many at once, and what is wrong with those that cannot be read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.results.frames import empty_frame, schema
from stithy.results.pieces import Damaged, content_of, impossible, is_current, table_of, window_of
from stithy.results.tables import WINDOW, Table

if TYPE_CHECKING:
    import polars as pl

MISSING = "missing"

TOGETHER = 256
"""Own: so many files are read at once: few enough for memory, many enough to take no longer."""

_FILE = "stithy.file"
"""A column for the path of each row; no table has one of this name."""


@dataclass(frozen=True)
class Problem:
    """A piece of a run directory that could not be read, and why."""

    path: Path
    text: str


def read_tables(
    table: Table, paths: Sequence[Path], problems: list[Problem], only: "pl.Expr | None" = None
) -> "pl.DataFrame":
    """The rows of all these files of a table, in their order; what cannot be read is told.

    `only`: which rows are kept, None: all. Raises UserError for a file that a newer version of
    Stithy wrote.
    """
    import polars as pl

    there = [path for path in paths if os.path.lexists(path)]
    problems += [Problem(path, MISSING) for path in paths if not os.path.lexists(path)]
    frames = [empty_frame(table)]
    for at in range(0, len(there), TOGETHER):
        part = _part(table, there[at : at + TOGETHER], problems)
        frames.append(part if only is None else part.filter(only))
    return pl.concat(frames)


def _part(table: Table, paths: Sequence[Path], problems: list[Problem]) -> "pl.DataFrame":
    """The rows of some files: in one go, or where that cannot be one by one."""
    import polars as pl

    if (whole := _at_once(table, paths)) is not None:
        return whole
    frames = (read_table(table, path, problems) for path in paths)
    return pl.concat([empty_frame(table), *(each for each in frames if each is not None)])


def _at_once(table: Table, paths: Sequence[Path]) -> "pl.DataFrame | None":
    """All files in one go, which takes a fraction of the time; None unless all are as they must be.

    Whatever is wrong is found again by who reads them one by one.
    """
    import polars as pl

    wanted = schema(table)
    try:
        if not all(is_current(content_of(path)) for path in paths):
            return None
        scan = pl.scan_parquet(list(paths), glob=False, include_file_paths=_FILE)
        frame = scan.select(*wanted, _FILE).collect()
    # Polars takes no path that is not UTF-8, and says so by a TypeError.
    except (Damaged, OSError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    whole = frame.drop(_FILE)
    if whole.schema != wanted or impossible(whole, table) or _is_misplaced(frame, table, paths):
        return None
    return whole


def _is_misplaced(frame: "pl.DataFrame", table: Table, paths: Sequence[Path]) -> bool:
    """Whether a file has rows of another window than its folder, or a window not one row."""
    if table is WINDOW and not frame.height == frame[_FILE].n_unique() == len(paths):
        return True
    owners = {str(path): window_of(path) for path in paths}
    pairs = frame.select("window_id", _FILE).unique().iter_rows()
    return any(owners[file] not in (None, window_id) for window_id, file in pairs)


def read_table(table: Table, path: Path, problems: list[Problem]) -> "pl.DataFrame | None":
    """One file of a table; None, and the problem told, where it cannot be read."""
    try:
        return table_of(path, table)
    except Damaged as damage:
        problems.append(Problem(path, str(damage)))
        return None
