"""Results as files: rows checked against the tables and written; a whole run read back.

A piece that is missing or damaged is listed in `Run.problems` and the rest is read, so that an
interrupted run still gives a report. Reading never changes a file.
"""

import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from stithy.activity import DeclaredActivity, get_table, split_names
from stithy.errors import UserError, give_reason
from stithy.metrics import ALL
from stithy.registry import plugins
from stithy.results import pieces, tables
from stithy.results.layout import RunDirectory, write_durably, write_with_checksum
from stithy.results.manifest import SCHEMA_VERSION, Manifest, hash_text
from stithy.results.pieces import VERSION_KEY, Damaged, ReadProblem, Samples
from stithy.results.tables import Kind, Table, make_empty_frame, make_schema

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


def make_frame(table: Table, rows: Iterable[Mapping[str, Any]]) -> "pl.DataFrame":
    """A frame with exactly the declared columns.

    Raises ValueError, naming table, row and column, for a missing or unknown column, a value of
    another kind, a NaN or infinity, and a null where none may be: each is a bug of the caller.
    """
    import polars as pl

    plain = [_check_value(table, number, row) for number, row in enumerate(rows)]
    data = {column.name: [row[column.name] for row in plain] for column in table.columns}
    return pl.DataFrame(data, schema=make_schema(table))


def _check_value(table: Table, number: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
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
    Raises ValueError for rows that are not as declared (see `make_frame`), and
    InfrastructureError where the file system refuses.
    """
    write_frame(path, table, make_frame(table, rows))


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


def list_window_tables() -> tuple[Table, ...]:
    """List those of each window, but for the samples, which are read when they are asked for."""
    return (
        *(tables.WINDOW, get_table("load"), tables.VALUES, tables.SPANS, tables.TRANSACTIONS),
        *(tables.SECONDS, tables.CONDITIONS, tables.DRIVES, tables.LEDGER),
        *(tables.LEDGER_FINDINGS, tables.SURROUNDINGS),
    )


RUN_TABLES = (tables.CONDITIONS, tables.RESTORES, tables.BASELINE)

JUDGING = (
    *(tables.VALUES, tables.SPANS, tables.TRANSACTIONS, tables.CONDITIONS),
    *(tables.SERIES, tables.DRIVES, tables.LEDGER, tables.LEDGER_FINDINGS, tables.SURROUNDINGS),
)
"""The tables whose rows can make a window invalid, with `load`."""


@dataclass(frozen=True)
class Run:
    """A run directory as read; every frame has the declared columns, also when it has no rows.

    `manifest` and `study` are None where they could not be read. Windows are in the order of their
    start where known, with what `load` has of them. `conditions` holds those of the windows and of
    load and end, `seconds` the rows of all transaction types together.
    """

    directory: RunDirectory
    manifest: Manifest | None
    study: str | None
    window: "pl.DataFrame"
    values: "pl.DataFrame"
    spans: "pl.DataFrame"
    transactions: "pl.DataFrame"
    seconds: "pl.DataFrame"
    samples: Samples
    conditions: "pl.DataFrame"
    drives: "pl.DataFrame"
    ledger: "pl.DataFrame"
    ledger_findings: "pl.DataFrame"
    surroundings: "pl.DataFrame"
    restores: "pl.DataFrame"
    baseline: "pl.DataFrame"
    other_problems: tuple[ReadProblem, ...]

    @cached_property
    def series(self) -> "pl.DataFrame":
        """All samples; for a large study ask `samples`."""
        return self.samples.whole()

    @property
    def seconds_by_type(self) -> "pl.DataFrame":
        """All of the table `seconds`, read anew: most of its rows are of single types."""
        windows = map(self.directory.window, self.window["window_id"])
        return pieces.read_tables(
            tables.SECONDS, [window.table(tables.SECONDS.name) for window in windows], []
        )

    @property
    def space(self) -> "pl.DataFrame":
        """What the candidates' volumes take; empty where nobody asked them."""
        return _read_one(tables.SPACE, self.directory.table(tables.SPACE.name))

    def detail(self, name: str, window_id: str | None = None) -> "pl.DataFrame":
        """A table that only one activity fills: of a window, or of the run; empty without one."""
        if (known := self._details.get((name, window_id))) is None:
            of = self.directory if window_id is None else self.directory.window(window_id)
            known = self._details[name, window_id] = _read_one(get_table(name), of.table(name))
        return known

    @cached_property
    def _details(self) -> "dict[tuple[str, str | None], pl.DataFrame]":
        """Those that were read: several parts of a report ask for the same ones."""
        return {}

    @property
    def problems(self) -> tuple[ReadProblem, ...]:
        """What is missing or damaged, by path."""
        found = (*self.other_problems, *self.samples.problems)
        return tuple(sorted(found, key=lambda each: each.path))

    @property
    def unread(self) -> list[str]:
        """The ids of windows that are there, but whose own row cannot be read."""
        own = (problem.path for problem in self.problems if problem.path.stem == tables.WINDOW.name)
        return [name for path in own if (name := pieces.find_window(path)) is not None]

    @property
    def damaged(self) -> dict[str, list[str]]:
        """By the id of a window: the files without which nobody knows whether it is valid."""
        judging = {"load", *(table.name for table in JUDGING)}
        found: dict[str, list[str]] = {}
        for path in (problem.path for problem in self.problems if problem.path.stem in judging):
            if (name := pieces.find_window(path)) is not None:
                found.setdefault(name, []).append(path.name)
        return found


def read_run(root: Path) -> Run:
    """The run in directory `root`.

    Raises UserError where there is no directory, or nothing of a run in it, or results of another
    version of Stithy, or of a plug-in that is not there.
    """
    directory = RunDirectory(root)
    _require_run(directory)
    problems: list[ReadProblem] = []
    try:
        manifest = pieces.parse_manifest(directory.manifest)
    except Damaged as damage:
        manifest = None
        problems.append(ReadProblem(directory.manifest, str(damage)))
    study = _read_study(directory.study, manifest, problems)
    names = _name_windows(directory, problems)
    # A study without a database has none to restore or to check.
    served = manifest is None or manifest.given_database is not None
    frames = _read_frames(directory, names, problems, RUN_TABLES if served else (tables.BASELINE,))
    done = frames["window"]["activity"].unique().sort().to_list()
    for activity in (name for text in done for name in split_names(text)):
        if activity not in plugins(DeclaredActivity):
            raise pieces.make_missing_plugin_error(f"activity {activity}", directory.windows)
    with_load = frames["window"].join(frames.pop("load"), on="window_id", how="left")
    frames["window"] = with_load.sort("started_at_s", "window_id", nulls_last=True)
    frames["baseline"] = frames["baseline"].sort("at_s", "window_id")
    return Run(
        directory=directory,
        manifest=manifest,
        study=study,
        samples=Samples({name: directory.window(name).table(tables.SERIES.name) for name in names}),
        other_problems=tuple(problems),
        **frames,
    )


def read_manifest(path: Path) -> Manifest | None:
    """A manifest; None where there is none that can be read.

    Raises UserError for one of another version, or of a plug-in that is not there.
    """
    try:
        return pieces.parse_manifest(path)
    except Damaged:
        return None


def read_rows(path: Path, table: Table) -> list[dict[str, Any]]:
    """The rows of one table's file, as mappings; none where it is missing or damaged."""
    frame = pieces.read_table(table, path, [])
    return [] if frame is None else frame.to_dicts()


def _read_one(table: Table, path: Path) -> "pl.DataFrame":
    """A file that most runs do not have; no rows where it is missing or damaged."""
    found = pieces.read_table(table, path, []) if path.exists() else None
    return make_empty_frame(table) if found is None else found


def _require_run(directory: RunDirectory) -> None:
    try:
        names = {path.name for path in directory.root.iterdir()}
    except FileNotFoundError:
        problem = "no such directory"
    except OSError as error:
        problem = give_reason(error)
    else:
        if names & {directory.manifest.name, directory.windows.name}:
            return
        problem = "not a run directory: it has neither manifest.json nor windows/"
    raise UserError(
        problem, where=str(directory.root), remedy="name a directory that `stithy run` wrote"
    )


def _read_study(path: Path, manifest: Manifest | None, problems: list[ReadProblem]) -> str | None:
    try:
        text = pieces.read_text(path)
        if manifest is not None and hash_text(text) != manifest.study_sha256:
            raise Damaged("not the study that was run (SHA-256)")
    except Damaged as damage:
        problems.append(ReadProblem(path, str(damage)))
        return None
    return text


def _read_frames(
    directory: RunDirectory,
    windows: Sequence[str],
    problems: list[ReadProblem],
    of_run: Sequence[Table],
) -> "dict[str, pl.DataFrame]":
    """Every table but the samples; conditions are those of the run, then those of the windows."""
    import polars as pl

    frames = {
        each.name: pieces.read_tables(
            each, [directory.table(each.name)] if each in of_run else [], problems
        )
        for each in RUN_TABLES
    }
    for table in list_window_tables():
        files = [directory.window(window).table(table.name) for window in windows]
        parts = [frames[table.name]] if table.name in frames else []
        only = pl.col("transaction") == ALL if table is tables.SECONDS else None
        frames[table.name] = pl.concat([*parts, pieces.read_tables(table, files, problems, only)])
    return frames


def _name_windows(directory: RunDirectory, problems: list[ReadProblem]) -> list[str]:
    """The windows that have a directory, by name; a run makes the folder with its first window."""
    try:
        return sorted(path.name for path in directory.windows.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(ReadProblem(directory.windows, give_reason(error)))
        return []
