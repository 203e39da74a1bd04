"""Reading a run directory back: manifest, study, and one frame a table, all windows together.

A piece that is missing or damaged is listed in `Run.problems` and the rest is read, so that an
interrupted run still gives a report. Files are never changed.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from stithy.errors import UserError
from stithy.results.frames import empty_frame, schema
from stithy.results.layout import RunDirectory
from stithy.results.manifest import SCHEMA_VERSION, Manifest
from stithy.results.tables import (
    CANARY,
    CONDITIONS,
    DRIVES,
    LEDGER,
    LEDGER_FINDINGS,
    RESTORES,
    SECONDS,
    SERIES,
    SURROUNDINGS,
    TRANSACTIONS,
    WINDOW,
    Table,
)

if TYPE_CHECKING:
    import polars as pl

WINDOW_TABLES = (
    *(WINDOW, TRANSACTIONS, SECONDS, SERIES, CONDITIONS),
    *(DRIVES, LEDGER, LEDGER_FINDINGS, SURROUNDINGS),
)
RUN_TABLES = (CONDITIONS, RESTORES, CANARY)


@dataclass(frozen=True)
class Problem:
    """A piece of a run directory that could not be read, and why."""

    path: Path
    text: str


@dataclass(frozen=True)
class Run:
    """A run directory as read; every frame has the declared columns, also when it has no rows.

    `manifest` and `study` are None where they could not be read. Windows are in the order of their
    start where known. `conditions` holds those of the windows and of load and end.
    """

    directory: RunDirectory
    manifest: Manifest | None
    study: str | None
    window: "pl.DataFrame"
    transactions: "pl.DataFrame"
    seconds: "pl.DataFrame"
    series: "pl.DataFrame"
    conditions: "pl.DataFrame"
    drives: "pl.DataFrame"
    ledger: "pl.DataFrame"
    ledger_findings: "pl.DataFrame"
    surroundings: "pl.DataFrame"
    restores: "pl.DataFrame"
    canary: "pl.DataFrame"
    problems: tuple[Problem, ...]


def read_run(root: Path, windows: Sequence[str] | None = None) -> Run:
    """The run in directory `root`; of its windows those with these ids, None: all of them.

    Raises UserError where there is no directory, or nothing of a run in it, or where it was
    written by a newer version of Stithy.
    """
    directory = RunDirectory(root)
    _require_run(directory)
    problems: list[Problem] = []
    manifest = _manifest(directory.manifest, problems)
    frames = _frames(directory, windows, problems)
    return Run(
        directory=directory,
        manifest=manifest,
        study=_study(directory.study, problems),
        window=frames["window"].sort("started_at_s", "window_id", nulls_last=True),
        transactions=frames["transactions"],
        seconds=frames["seconds"],
        series=frames["series"],
        conditions=frames["conditions"],
        drives=frames["drives"],
        ledger=frames["ledger"],
        ledger_findings=frames["ledger_findings"],
        surroundings=frames["surroundings"],
        restores=frames["restores"],
        canary=frames["canary"].sort("at_s", "window_id"),
        problems=tuple(problems),
    )


def read_manifest(path: Path) -> Manifest | None:
    """A manifest; None where there is none that can be read.

    Raises UserError for one that a newer version of Stithy wrote.
    """
    return _manifest(path, [])


def read_rows(path: Path, table: Table) -> list[dict[str, Any]]:
    """The rows of one table's file, as mappings; none where it is missing or damaged."""
    frame = _frame(table, path, [])
    return [] if frame is None else frame.to_dicts()


def _require_run(directory: RunDirectory) -> None:
    if not directory.root.is_dir():
        problem = "no such directory"
    elif not (directory.manifest.exists() or directory.windows.is_dir()):
        problem = "not a run directory: it has neither manifest.json nor windows/"
    else:
        return
    raise UserError(
        problem, where=str(directory.root), remedy="name a directory that `stithy run` wrote"
    )


def _manifest(path: Path, problems: list[Problem]) -> Manifest | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        _require_known_version(path, document)
        return Manifest.model_validate(document)
    except (OSError, ValueError, ValidationError) as error:
        problems.append(Problem(path, _short(error)))
        return None


def _require_known_version(path: Path, document: object) -> None:
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UserError(
            f"results of schema version {version}; this Stithy reads up to {SCHEMA_VERSION}",
            where=str(path),
            remedy="use the newer Stithy that wrote them",
        )


def _study(path: Path, problems: list[Problem]) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(path, _short(error)))
        return None


def _frames(
    directory: RunDirectory, windows: Sequence[str] | None, problems: list[Problem]
) -> "dict[str, pl.DataFrame]":
    import polars as pl

    parts: dict[str, list[pl.DataFrame]] = {
        table.name: [empty_frame(table)] for table in (*WINDOW_TABLES, *RUN_TABLES)
    }
    files = list(_table_files(directory, windows))
    there = {table.name for table, path in files if path.exists()}
    for table, path in files:
        older = table.later and table.name not in there
        if not older and (frame := _frame(table, path, problems)) is not None:
            parts[table.name].append(frame)
    return {name: pl.concat(frames) for name, frames in parts.items()}


def _table_files(
    directory: RunDirectory, windows: Sequence[str] | None
) -> Iterator[tuple[Table, Path]]:
    for table in RUN_TABLES:
        yield table, directory.table(table.name)
    if directory.windows.is_dir():
        there = sorted(each.name for each in directory.windows.iterdir() if each.is_dir())
        for window in [each for each in there if windows is None or each in windows]:
            for table in WINDOW_TABLES:
                yield table, directory.window(window).table(table.name)


def _frame(table: Table, path: Path, problems: list[Problem]) -> "pl.DataFrame | None":
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
        problems.append(Problem(path, _short(error)))
        return None


def _short(error: Exception) -> str:
    """The first line of an error's text."""
    return (str(error).splitlines() or [type(error).__name__])[0]
