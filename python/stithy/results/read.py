"""Reading a run directory back: manifest, study, and one frame a table, all windows together.

A piece that is missing or damaged is listed in `Run.problems` and the rest is read, so that an
interrupted run still gives a report. Files are never changed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from stithy.errors import UserError
from stithy.results.layout import RunDirectory
from stithy.results.manifest import SCHEMA_VERSION, Manifest
from stithy.results.samples import Samples
from stithy.results.table_files import Problem, read_table, read_tables, short
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
    *(WINDOW, TRANSACTIONS, SECONDS, CONDITIONS),
    *(DRIVES, LEDGER, LEDGER_FINDINGS, SURROUNDINGS),
)
"""Those of each window, but for the samples, which are read when they are asked for."""

RUN_TABLES = (CONDITIONS, RESTORES, CANARY)


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
    samples: Samples
    conditions: "pl.DataFrame"
    drives: "pl.DataFrame"
    ledger: "pl.DataFrame"
    ledger_findings: "pl.DataFrame"
    surroundings: "pl.DataFrame"
    restores: "pl.DataFrame"
    canary: "pl.DataFrame"
    other_problems: tuple[Problem, ...]

    @cached_property
    def series(self) -> "pl.DataFrame":
        """All samples; for a large study ask `samples`."""
        return self.samples.whole()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is missing or damaged, by path."""
        found = (*self.other_problems, *self.samples.problems)
        return tuple(sorted(found, key=lambda each: each.path))


def read_run(root: Path, windows: Sequence[str] | None = None) -> Run:
    """The run in directory `root`; of its windows those with these ids, None: all of them.

    Raises UserError where there is no directory, or nothing of a run in it, or where it was
    written by a newer version of Stithy.
    """
    directory = RunDirectory(root)
    _require_run(directory)
    problems: list[Problem] = []
    manifest = _manifest(directory.manifest, problems)
    names = _window_names(directory, windows)
    frames = _frames(directory, names, problems)
    return Run(
        directory=directory,
        manifest=manifest,
        study=_study(directory.study, problems),
        window=frames["window"].sort("started_at_s", "window_id", nulls_last=True),
        transactions=frames["transactions"],
        seconds=frames["seconds"],
        samples=Samples({each: directory.window(each).table(SERIES.name) for each in names}),
        conditions=frames["conditions"],
        drives=frames["drives"],
        ledger=frames["ledger"],
        ledger_findings=frames["ledger_findings"],
        surroundings=frames["surroundings"],
        restores=frames["restores"],
        canary=frames["canary"].sort("at_s", "window_id"),
        other_problems=tuple(problems),
    )


def read_manifest(path: Path) -> Manifest | None:
    """A manifest; None where there is none that can be read.

    Raises UserError for one that a newer version of Stithy wrote.
    """
    return _manifest(path, [])


def read_rows(path: Path, table: Table) -> list[dict[str, Any]]:
    """The rows of one table's file, as mappings; none where it is missing or damaged."""
    frame = read_table(table, path, [])
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
        problems.append(Problem(path, short(error)))
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
        problems.append(Problem(path, short(error)))
        return None


def _frames(
    directory: RunDirectory, windows: Sequence[str], problems: list[Problem]
) -> "dict[str, pl.DataFrame]":
    """Every table but the samples; conditions are those of the run, then those of the windows."""
    import polars as pl

    frames = {
        each.name: read_tables(each, [directory.table(each.name)], problems) for each in RUN_TABLES
    }
    for table in WINDOW_TABLES:
        files = [directory.window(window).table(table.name) for window in windows]
        parts = [frames[table.name]] if table.name in frames else []
        frames[table.name] = pl.concat([*parts, read_tables(table, files, problems)])
    return frames


def _window_names(directory: RunDirectory, wanted: Sequence[str] | None) -> list[str]:
    """The windows that have a directory, by name."""
    if not directory.windows.is_dir():
        return []
    there = sorted(each.name for each in directory.windows.iterdir() if each.is_dir())
    return there if wanted is None else [each for each in there if each in wanted]
