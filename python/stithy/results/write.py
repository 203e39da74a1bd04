"""Writing results: rows checked against the tables, written as Parquet; facts as JSON.

A file is there whole or not at all (see `files`).
"""

import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from stithy.results.files import write_durably, write_with_checksum
from stithy.results.manifest import SCHEMA_VERSION, Manifest
from stithy.results.pieces import VERSION_KEY
from stithy.results.tables import Kind, Table, schema

if TYPE_CHECKING:
    import polars as pl

_ACCEPTS: dict[Kind, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "real": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ),
    "truth": lambda value: isinstance(value, bool),
}


def frame_of(table: Table, rows: Iterable[Mapping[str, Any]]) -> "pl.DataFrame":
    """A frame with exactly the declared columns.

    Raises ValueError, naming table, row and column, for a missing or unknown column, a value of
    another kind, a NaN or infinity, and a null where none may be: each is a bug of the caller.
    """
    import polars as pl

    plain = [_checked(table, number, row) for number, row in enumerate(rows)]
    data = {column.name: [row[column.name] for row in plain] for column in table.columns}
    return pl.DataFrame(data, schema=schema(table))


def _checked(table: Table, number: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
    declared = {column.name for column in table.columns}
    if declared != row.keys():
        missing, unknown = sorted(declared - row.keys()), sorted(row.keys() - declared)
        raise ValueError(f"{table.name}, row {number}: missing {missing}, unknown {unknown}")
    for column in table.columns:
        value, problem = row[column.name], ""
        if value is None and not column.nullable:
            problem = "null where none may be"
        elif value is not None and not _ACCEPTS[column.kind](value):
            problem = f"{value!r} is not a value of kind {column.kind!r}"
        if problem:
            raise ValueError(f"{table.name}, row {number}, column {column.name}: {problem}")
    return row


def write_table(path: Path, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `rows` as the Parquet file `path`, durably and at once.

    The file's metadata hold the table's meaning, each column's unit and meaning, and the schema
    version; its checksum is noted beside it.
    Raises ValueError for rows that are not as declared (see `frame_of`), and
    InfrastructureError where the file system refuses.
    """
    write_frame(path, table, frame_of(table, rows))


def write_frame(path: Path, table: Table, frame: "pl.DataFrame") -> None:
    """The same of a frame that is as declared."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={**describe(table), VERSION_KEY: str(SCHEMA_VERSION)})
    write_with_checksum(path, buffer.getvalue())


def describe(table: Table) -> dict[str, str]:
    """What a Parquet file of the table says of itself, under keys that start with `stithy.`."""
    columns = {column.name: asdict(column) for column in table.columns}
    return {
        "stithy.table": table.name,
        "stithy.meaning": table.meaning,
        "stithy.columns": json.dumps(columns, ensure_ascii=False),
    }


def write_json(path: Path, document: BaseModel | dict[str, object]) -> None:
    """Write a document as indented JSON, durably and at once; a manifest with its checksum."""
    if isinstance(document, BaseModel):
        text = document.model_dump_json(indent=2)
    else:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write = write_with_checksum if isinstance(document, Manifest) else write_durably
    write(path, f"{text}\n".encode())


def write_text(path: Path, text: str) -> None:
    """Write a text, durably and at once."""
    write_durably(path, text.encode())
