"""Writing results: tables as Parquet with exactly the declared columns, facts as JSON.

A file is there whole or not at all (see `files`).
"""

import io
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from stithy.results import seal
from stithy.results.files import write_durably
from stithy.results.frames import frame_of
from stithy.results.manifest import SCHEMA_VERSION, Manifest
from stithy.results.pieces import VERSION_KEY
from stithy.results.tables import Table

if TYPE_CHECKING:
    import polars as pl


def write_table(path: Path, table: Table, rows: Iterable[object]) -> None:
    """Write `rows` (mappings or dataclasses) as the Parquet file `path`, durably and at once.

    The file's metadata hold the table's meaning and each column's unit and meaning, the schema
    version, and the SHA-256 of the file (see `seal`).
    Raises ValueError for rows that are not as declared (see `frames.frame_of`), and
    InfrastructureError where the file system refuses.
    """
    write_durably(path, table_bytes(table, frame_of(table, rows)))


def table_bytes(table: Table, frame: "pl.DataFrame") -> bytes:
    """The file of a table whose frame is as declared."""
    buffer = io.BytesIO()
    told = {**describe(table), VERSION_KEY: str(SCHEMA_VERSION), seal.PARQUET_KEY: seal.BLANK}
    frame.write_parquet(buffer, metadata=told)
    return seal.sealed(buffer.getvalue())


def describe(table: Table) -> dict[str, str]:
    """What a Parquet file of the table says of itself, under keys that start with `stithy.`."""
    columns = {column.name: asdict(column) for column in table.columns}
    return {
        "stithy.table": table.name,
        "stithy.meaning": table.meaning,
        "stithy.columns": json.dumps(columns, ensure_ascii=False),
    }


def write_json(path: Path, document: BaseModel | dict[str, object]) -> None:
    """Write a document as indented JSON, durably and at once; a manifest with its SHA-256."""
    if isinstance(document, Manifest):
        write_durably(path, manifest_bytes(document))
        return
    if isinstance(document, BaseModel):
        text = document.model_dump_json(indent=2)
    else:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_durably(path, (text + "\n").encode())


def manifest_bytes(manifest: Manifest) -> bytes:
    """A manifest as it is written."""
    document = {**json.loads(manifest.model_dump_json()), seal.JSON_KEY: seal.BLANK}
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return seal.sealed(f"{text}\n".encode())


def write_text(path: Path, text: str) -> None:
    """Write a text, durably and at once."""
    write_durably(path, text.encode())
