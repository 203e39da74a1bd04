"""Reading tables back: one file, many at once, and what is wrong with those that cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.results.frames import empty_frame, schema
from stithy.results.tables import Table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Problem:
    """A piece of a run directory that could not be read, and why."""

    path: Path
    text: str


def read_tables(table: Table, paths: Sequence[Path], problems: list[Problem]) -> "pl.DataFrame":
    """The rows of all these files of a table, in their order; what cannot be read is told.

    A run from before there was the table has no file of it, which is no problem.
    """
    if not any(path.exists() for path in paths):
        if not table.later:
            problems += [Problem(path, "missing") for path in paths]
        return empty_frame(table)
    if (whole := _at_once(table, paths)) is not None:
        return whole
    import polars as pl

    frames = (read_table(table, path, problems) for path in paths)
    return pl.concat([empty_frame(table), *(each for each in frames if each is not None)])


def _at_once(table: Table, paths: Sequence[Path]) -> "pl.DataFrame | None":
    """All files in one go, which takes a fraction of the time; None unless all are as declared."""
    import polars as pl

    if not all(path.is_file() for path in paths):
        return None
    wanted = schema(table)
    try:
        frame = pl.scan_parquet(list(paths), glob=False).select(list(wanted)).collect()
    except (OSError, pl.exceptions.PolarsError):
        return None
    return frame if frame.schema == wanted else None


def read_table(table: Table, path: Path, problems: list[Problem]) -> "pl.DataFrame | None":
    """One file of a table; None, and the problem told, where it cannot be read."""
    import polars as pl

    if not path.exists():
        problems.append(Problem(path, "missing"))
        return None
    try:
        frame = pl.read_parquet(path.read_bytes())
        older = [column for column in table.columns if column.before is not None]
        added = [pl.lit(c.before).alias(c.name) for c in older if c.name not in frame.columns]
        return frame.with_columns(added).select(list(schema(table))).cast(schema(table))
    except (OSError, pl.exceptions.PolarsError) as error:
        problems.append(Problem(path, short(error)))
        return None


def short(error: Exception) -> str:
    """The first line of an error's text."""
    return (str(error).splitlines() or [type(error).__name__])[0]
