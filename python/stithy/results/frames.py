"""The tables' declarations as Polars schemas, and rows checked against them."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from stithy.results.tables import Column, Kind, Table

if TYPE_CHECKING:
    import polars as pl

Row = Mapping[str, Any]

_ACCEPTS: dict[Kind, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "real": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ),
    "truth": lambda value: isinstance(value, bool),
    "texts": lambda value: (
        isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    ),
}


def schema(table: Table) -> "pl.Schema":
    """The Polars type of each column, in order."""
    import polars as pl

    types: dict[Kind, pl.DataType] = {
        "text": pl.String(),
        "integer": pl.Int64(),
        "real": pl.Float64(),
        "truth": pl.Boolean(),
        "texts": pl.List(pl.String()),
    }
    return pl.Schema({column.name: types[column.kind] for column in table.columns})


def empty_frame(table: Table) -> "pl.DataFrame":
    """A frame of the table without rows."""
    import polars as pl

    return pl.DataFrame(schema=schema(table))


def frame_of(table: Table, rows: Iterable[object]) -> "pl.DataFrame":
    """A frame with exactly the declared columns; rows are mappings or dataclasses.

    Raises ValueError, naming table, row and column, for a missing or unknown column, a value of
    another kind, a NaN or infinity, and a null where none may be: each is a bug of the caller.
    """
    import polars as pl

    plain = [_checked(table, number, _mapping(row)) for number, row in enumerate(rows)]
    data = {each.name: [row[each.name] for row in plain] for each in table.columns}
    return pl.DataFrame(data, schema=schema(table))


def _mapping(row: object) -> Row:
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    if isinstance(row, Mapping):
        return row
    raise ValueError(f"a row is a mapping or a dataclass, not {type(row).__name__}")


def _checked(table: Table, number: int, row: Row) -> Row:
    declared = {column.name for column in table.columns}
    if declared != row.keys():
        missing, unknown = sorted(declared - row.keys()), sorted(row.keys() - declared)
        raise ValueError(f"{table.name}, row {number}: missing {missing}, unknown {unknown}")
    for column in table.columns:
        if problem := _problem(column, row[column.name]):
            raise ValueError(f"{table.name}, row {number}, column {column.name}: {problem}")
    return row


def _problem(column: Column, value: object) -> str | None:
    if value is None:
        return None if column.nullable else "null where none may be"
    if not _ACCEPTS[column.kind](value):
        return f"{value!r} is not a value of kind {column.kind!r}"
    return None
