"""Writing results: tables as Parquet with exactly the declared columns, facts as JSON.

A file is there whole or not at all (see `files`).
"""

import io
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel

from stithy.results.files import write_durably
from stithy.results.frames import frame_of
from stithy.results.tables import Table


def write_table(path: Path, table: Table, rows: Iterable[object]) -> None:
    """Write `rows` (mappings or dataclasses) as the Parquet file `path`, durably and at once.

    The file's metadata hold the table's meaning and each column's unit and meaning.
    Raises ValueError for rows that are not as declared (see `frames.frame_of`), and
    InfrastructureError where the file system refuses.
    """
    buffer = io.BytesIO()
    frame_of(table, rows).write_parquet(buffer, metadata=describe(table))
    write_durably(path, buffer.getvalue())


def describe(table: Table) -> dict[str, str]:
    """What a Parquet file of the table says of itself, under keys that start with `stithy.`."""
    columns = {column.name: asdict(column) for column in table.columns}
    return {
        "stithy.table": table.name,
        "stithy.meaning": table.meaning,
        "stithy.columns": json.dumps(columns, ensure_ascii=False),
    }


def write_json(path: Path, document: BaseModel | dict[str, object]) -> None:
    """Write a document as indented JSON, durably and at once."""
    if isinstance(document, BaseModel):
        text = document.model_dump_json(indent=2)
    else:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    write_durably(path, (text + "\n").encode())


def write_text(path: Path, text: str) -> None:
    """Write a text, durably and at once."""
    write_durably(path, text.encode())
