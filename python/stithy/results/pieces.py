"""Reading tables and manifest back: whole, known and as declared, or `Damaged` with the reason.

One file, many files of a table at once, and the samples a few windows at a time: those are nearly
all bytes of a run and would not fit into memory. Results of another schema version are refused.
"""

import io
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from stithy.activity import get_factor, map_factors
from stithy.errors import UserError, give_reason
from stithy.point import Point
from stithy.registry import plugins
from stithy.results.layout import CHECKSUMS, WINDOWS, is_as_written
from stithy.results.manifest import NOT_THERE, SCHEMA_VERSION, Manifest
from stithy.results.tables import SERIES, WINDOW, Table, make_empty_frame, make_schema
from stithy.study.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

CHANGED = f"its content is not what was written ({CHECKSUMS})"
UNKNOWN = f"{CHECKSUMS} beside it has no checksum of it"

VERSION_KEY = "stithy.schema_version"
"""In the metadata of a Parquet file."""


class Damaged(Exception):
    """Why a file cannot be used."""


def read_content(path: Path) -> bytes:
    """The bytes of a file. Raises Damaged where it is missing, no file, or cannot be read."""
    try:
        # Nobody writes to a pipe that lies among results: reading it would never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise Damaged("not a file")
        return path.read_bytes()
    except FileNotFoundError:
        raise Damaged("missing") from None
    except OSError as error:
        raise Damaged(give_reason(error)) from error


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, line ends as they are. Raises Damaged."""
    try:
        return read_content(path).decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"not UTF-8: byte {error.start}") from error


def parse_manifest(path: Path) -> Manifest:
    """A manifest. Raises Damaged, and UserError for another version or a plug-in that is gone."""
    text = read_text(path)
    known = is_as_written(path, text.encode())
    if known is False:
        raise Damaged(CHANGED)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged("not JSON") from error
    _require_version(document.get("schema_version") if isinstance(document, dict) else None, path)
    if known is None:
        raise Damaged(UNKNOWN)
    try:
        manifest = Manifest.model_validate(document)
    except ValidationError as error:
        if gone := [each["msg"] for each in error.errors() if each["type"] == NOT_THERE]:
            raise make_missing_plugin_error(gone[0], path) from error
        raise Damaged(_find_impossible_fact(error)) from error
    if (scenario := manifest.scenario.partition(" ")[0]) not in plugins(Scenario):
        raise make_missing_plugin_error(f"scenario {scenario}", path)
    return manifest


def make_missing_plugin_error(what: str, path: Path) -> UserError:
    """Why results are not read: they are whole, but nobody knows what a part of them means."""
    problem = f"this run used a plug-in that is not there ({what})"
    return UserError(problem, where=str(path), remedy="set STITHY_PLUGINS as for the run")


def find_window(path: Path) -> str | None:
    """The id of the window in whose folder a file lies; None for files of the run."""
    return path.parent.name if path.parent.parent.name == WINDOWS else None


def find_table(path: Path, table: Table) -> "pl.DataFrame":
    """A table of the run or of a window, with exactly the declared columns.

    Raises Damaged, and UserError for results of another version.
    """
    import polars as pl

    content = read_content(path)
    known = is_as_written(path, content)
    if known is False:
        raise Damaged(CHANGED)
    try:
        _require_version(pl.read_parquet_metadata(io.BytesIO(content)).get(VERSION_KEY), path)
        if known is None:
            raise Damaged(UNKNOWN)
        frame = pl.read_parquet(content)
    # What a reader makes of bytes that are no Parquet is of any kind, a panic included.
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise Damaged("not Parquet") from error
    return _select_declared(frame, table, find_window(path))


def _require_version(found: object, path: Path) -> None:
    """That it is of the present schema. Raises Damaged without a version, UserError for another."""
    if isinstance(found, bool) or not re.fullmatch(r"[0-9]{1,9}", str(found)):
        raise Damaged("it has no schema version")
    if int(str(found)) != SCHEMA_VERSION:
        raise UserError(
            f"these results are of another version: schema {found}, this Stithy reads "
            f"{SCHEMA_VERSION}",
            where=str(path),
            remedy="read them with the Stithy that wrote them, or run the study again",
        )


def _select_declared(frame: "pl.DataFrame", table: Table, window_id: str | None) -> "pl.DataFrame":
    """The declared columns, with values that may be there. Raises Damaged."""
    types = make_schema(table)
    if lacking := [name for name in types if name not in frame.columns]:
        raise Damaged(f"it has no column {', '.join(lacking)}")
    if other := [name for name, dtype in types.items() if frame.schema[name] != dtype]:
        raise Damaged(f"of another type than declared: {', '.join(other)}")
    frame = frame.select(list(types))
    if problem := find_impossible_column(frame, table):
        raise Damaged(problem)
    # Rows of another window, as a copied folder has them; a window has one row of its own.
    if window_id and not (frame["window_id"] == window_id).fill_null(value=False).all():
        raise Damaged(f"rows of another window than {window_id}")
    if window_id and table.name == WINDOW.name and frame.height != 1:
        raise Damaged(f"{frame.height} rows instead of one")
    return frame


def find_impossible_column(frame: "pl.DataFrame", table: Table) -> str | None:
    """What of a table's values cannot be, in words; None where all can."""
    levels = {name for name, each in map_factors().items() if each.counts}
    for column in table.columns:
        values = frame[column.name]
        if not column.nullable and values.null_count():
            return f"null where none may be: {column.name}"
        if column.kind == "real" and not values.is_finite().all():
            return f"not a number, or infinite: {column.name}"
        if column.name in levels and (values < 1).any():
            return f"a level below 1: {column.name}"
        if column.name == "point":
            for text in values.unique().to_list():
                if not _is_point(text):
                    return f"no point of a study: {text!r:.40}"
    return None


def _is_point(text: str) -> bool:
    try:
        counted = [each for name, each in Point.parse(text).factors if get_factor(name).counts]
    except ValueError:
        return False
    return all(isinstance(each, int) and each > 0 for each in counted)


def _find_impossible_fact(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(each) for each in first["loc"])
    shown = f"{where}: {first['msg'].removeprefix('Value error, ')}"
    if first["type"] in ("missing", "extra_forbidden", "value_error"):
        return shown
    return f"{shown}, and not {repr(first['input'])[:40]}"


MISSING = "missing"

FILES_TOGETHER = 256
"""Files read at once: few enough for memory, many enough to take no longer."""

_FILE = "stithy.file"
"""A column for the path of each row; no table has one of this name."""


@dataclass(frozen=True)
class ReadProblem:
    """A piece of a run directory that could not be read, and why."""

    path: Path
    text: str


def read_tables(
    table: Table, paths: Sequence[Path], problems: list[ReadProblem], only: "pl.Expr | None" = None
) -> "pl.DataFrame":
    """The rows of all these files of a table, in their order; what cannot be read is reported.

    `only`: which rows are kept, None: all. Raises UserError for results of another version.
    """
    import polars as pl

    there = [path for path in paths if os.path.lexists(path)]
    problems += [ReadProblem(path, MISSING) for path in paths if not os.path.lexists(path)]
    frames = [make_empty_frame(table)]
    for at in range(0, len(there), FILES_TOGETHER):
        some = there[at : at + FILES_TOGETHER]
        whole = _read_at_once(table, some)
        each = (read_table(table, path, problems) for path in some)
        parts = [part for part in each if part is not None] if whole is None else [whole]
        frames += parts if only is None else [part.filter(only) for part in parts]
    return pl.concat(frames)


def _read_at_once(table: Table, paths: Sequence[Path]) -> "pl.DataFrame | None":
    """All files in one go, which takes a fraction of the time; None unless all are as they must be.

    Whatever is wrong is found again by who reads them one by one.
    """
    import polars as pl

    wanted = make_schema(table)
    try:
        for path in paths:
            content = read_content(path)
            version = pl.read_parquet_metadata(io.BytesIO(content)).get(VERSION_KEY)
            if version != str(SCHEMA_VERSION) or not is_as_written(path, content):
                return None
        scan = pl.scan_parquet(list(paths), glob=False, include_file_paths=_FILE)
        frame = scan.select(*wanted, _FILE).collect()
    # Polars takes no path that is not UTF-8, and says so by a TypeError.
    except (Damaged, OSError, TypeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    whole = frame.drop(_FILE)
    if (
        whole.schema != wanted
        or find_impossible_column(whole, table)
        or _is_misplaced(frame, table, paths)
    ):
        return None
    return whole


def _is_misplaced(frame: "pl.DataFrame", table: Table, paths: Sequence[Path]) -> bool:
    """Whether a file has rows of another window than its folder, or a window not one row."""
    if table is WINDOW and not frame.height == frame[_FILE].n_unique() == len(paths):
        return True
    owners = {str(path): find_window(path) for path in paths}
    pairs = frame.select("window_id", _FILE).unique().iter_rows()
    return any(owners[file] not in (None, window_id) for window_id, file in pairs)


def read_table(table: Table, path: Path, problems: list[ReadProblem]) -> "pl.DataFrame | None":
    """One file of a table; None, and the problem told, where it cannot be read."""
    try:
        return find_table(path, table)
    except Damaged as damage:
        problems.append(ReadProblem(path, str(damage)))
        return None


WINDOWS_TOGETHER = 8
"""Windows whose samples are read at once: few enough for memory, enough for all CPUs to help."""


class Samples:
    """The table `series` of the windows of a run; files are read anew each time."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """`files`: by the window's id, in the order in which they are read."""
        self._files = files
        self._problems: tuple[ReadProblem, ...] | None = None

    @property
    def problems(self) -> tuple[ReadProblem, ...]:
        """What is wrong with the files; all are read for it where that was not done yet."""
        if self._problems is None:
            for _ in self.parts():
                pass
        return self._problems or ()

    def parts(self) -> Iterator["pl.DataFrame"]:
        """Some windows at a time, with all columns; together they are all of them."""
        problems: list[ReadProblem] = []
        paths = list(self._files.values())
        for at in range(0, len(paths), WINDOWS_TOGETHER):
            yield read_tables(SERIES, paths[at : at + WINDOWS_TOGETHER], problems)
        self._problems = tuple(problems)

    def whole(self) -> "pl.DataFrame":
        """All of them; of a large study more than fits into memory."""
        import polars as pl

        return pl.concat([make_empty_frame(SERIES), *self.parts()])

    def of(
        self, collector: str, metrics: Collection[str], windows: Collection[str] | None = None
    ) -> "pl.DataFrame":
        """Those of some metrics that have a value, of these windows; None: of all.

        None of them is of one tenant alone.
        """
        import polars as pl

        wanted = pl.col("value").is_not_null() & pl.col("metric").is_in(list(metrics))
        chosen = wanted & (pl.col("collector") == collector) & (pl.col("instance") == "")
        files = self._files.items()
        known = {name: file for name, file in files if windows is None or name in windows}
        parts = (part.filter(chosen) for part in Samples(known).parts())
        return pl.concat([make_empty_frame(SERIES), *parts])
