"""A single file of a run directory, held against what it must be: whole, known, and as declared.

Whatever is wrong with it is `Damaged`, in words that a report can print; a file that a newer
version of Stithy wrote is refused.
"""

import io
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from stithy.errors import UserError
from stithy.results import migrate, seal
from stithy.results.frames import schema
from stithy.results.layout import WINDOWS
from stithy.results.manifest import SCHEMA_VERSION, Manifest
from stithy.results.tables import WINDOW, Table

if TYPE_CHECKING:
    import polars as pl

CHANGED = "its content is not what was written (SHA-256)"

VERSION_KEY = "stithy.schema_version"
"""In the metadata of a Parquet file; those of version 1 do not have it."""


class Damaged(Exception):
    """Why a file cannot be used."""


def content_of(path: Path) -> bytes:
    """The bytes of a file. Raises Damaged where it is missing, no file, or cannot be read."""
    try:
        # Nobody writes to a pipe that lies among results: reading it would never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise Damaged("not a file")
        return path.read_bytes()
    except FileNotFoundError:
        raise Damaged("missing") from None
    except OSError as error:
        raise Damaged(os.strerror(error.errno or 0).lower()) from error


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, line ends as they are. Raises Damaged."""
    try:
        return content_of(path).decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"not UTF-8: byte {error.start}") from error


def manifest_of(path: Path) -> Manifest:
    """A manifest, of this version or an older one.

    Raises Damaged, and UserError where a newer version of Stithy wrote it.
    """
    text = text_of(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(_first_line(error)) from error
    if not isinstance(document, dict):
        raise Damaged("not a manifest")
    version = _version(document.get("schema_version"), path)
    digest = document.pop(seal.JSON_KEY, None)
    if seal.is_whole(text.encode()) is False or (digest is None and version > 1):
        raise Damaged(CHANGED)
    try:
        return Manifest.model_validate(migrate.manifest(document, version))
    except ValidationError as error:
        raise Damaged(_impossible_fact(error)) from error


def window_of(path: Path) -> str | None:
    """The id of the window in whose folder a file lies; None for files of the run."""
    return path.parent.name if path.parent.parent.name == WINDOWS else None


def is_current(content: bytes) -> bool:
    """Whether it is a table of the present version, and what was written."""
    told = str(SCHEMA_VERSION).encode()
    mark = VERSION_KEY.encode() + b"\x18" + bytes([len(told)]) + told
    return content.rfind(mark) >= 0 and seal.is_whole(content) is True


def version_of(path: Path) -> int | None:
    """The schema version in which a table was written; None where it cannot be read."""
    import polars as pl

    try:
        told = pl.read_parquet_metadata(io.BytesIO(content_of(path)))
        return int(told.get(VERSION_KEY, 1))
    except (Damaged, OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def table_of(path: Path, table: Table) -> "pl.DataFrame":
    """A table of the run or of a window, with exactly the declared columns.

    Raises Damaged, and UserError where a newer version of Stithy wrote it.
    """
    import polars as pl

    content = content_of(path)
    try:
        version = _version(pl.read_parquet_metadata(io.BytesIO(content)).get(VERSION_KEY, 1), path)
        if seal.is_whole(content) is not (None if version == 1 else True):
            raise Damaged(CHANGED)
        frame = migrate.table(table.name, pl.read_parquet(content), version)
    # What a reader makes of bytes that are no Parquet is of any kind, a panic included.
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise Damaged(f"not Parquet: {_first_line(error)}") from error
    return _declared(frame, table, window_of(path))


def _version(told: object, path: Path) -> int:
    """A schema version that is known. Raises Damaged, and UserError for a newer one."""
    try:
        version = int(told) if isinstance(told, int | str) and not isinstance(told, bool) else 0
    except ValueError:
        version = 0
    if version < migrate.OLDEST:
        raise Damaged(f"no schema version that is known: {told!r:.40}")
    if version > SCHEMA_VERSION:
        raise UserError(
            f"results of schema version {version}; this Stithy reads up to {SCHEMA_VERSION}",
            where=str(path),
            remedy="use the newer Stithy that wrote them",
        )
    return version


def _declared(frame: "pl.DataFrame", table: Table, window_id: str | None) -> "pl.DataFrame":
    """The declared columns, with values that may be there. Raises Damaged."""
    types = schema(table)
    if lacking := [name for name in types if name not in frame.columns]:
        raise Damaged(f"it has no column {', '.join(lacking)}")
    if other := [name for name, dtype in types.items() if frame.schema[name] != dtype]:
        raise Damaged(f"of another type than declared: {', '.join(other)}")
    frame = frame.select(list(types))
    if problem := impossible(frame, table):
        raise Damaged(problem)
    if window_id is not None and (problem := _strange(frame, table, window_id)):
        raise Damaged(problem)
    return frame


def impossible(frame: "pl.DataFrame", table: Table) -> str | None:
    """What of a table's values cannot be, in words; None where all can."""
    for column in table.columns:
        values = frame[column.name]
        if not column.nullable and values.null_count():
            return f"null where none may be: {column.name}"
        if column.kind == "real" and not values.is_finite().all():
            return f"not a number, or infinite: {column.name}"
        if column.name == "users" and (values < 1).any():
            return "a level below 1: users"
    return None


def _strange(frame: "pl.DataFrame", table: Table, window_id: str) -> str | None:
    """Rows of another window, as a copied folder has them; a window has one row of its own."""
    if not (frame["window_id"] == window_id).fill_null(value=False).all():
        return f"rows of another window than {window_id}"
    if table.name == WINDOW.name and frame.height != 1:
        return f"{frame.height} rows instead of one"
    return None


def _impossible_fact(error: ValidationError) -> str:
    """The first key of a manifest that is not as declared, and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(each) for each in first["loc"])
    told = f"{where}: {first['msg'].removeprefix('Value error, ')}"
    if first["type"] in ("missing", "extra_forbidden", "value_error"):
        return told
    return f"{told}, and not {repr(first['input'])[:40]}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
