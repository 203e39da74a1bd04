"""A single file of the results: used where it is whole, known and as declared, or told why not."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.errors import UserError
from stithy.results import seal
from stithy.results.layout import RunDirectory
from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.pieces import (
    VERSION_KEY,
    Damaged,
    content_of,
    is_current,
    manifest_of,
    table_of,
    text_of,
    version_of,
)
from stithy.results.tables import SECONDS, WINDOW
from support.older import as_version_1
from support.sample_run import Shape, build_run, window_id

NAME = window_id("disk", 1, 0)
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A short run."""
    return build_run(tmp_path / "run", Shape(users=(1,), duration_s=3, series=False))


def _damage(path: Path, change: Change) -> Path:
    """Write a table again after a change, as another program would: without its metadata."""
    change(pl.read_parquet(path)).write_parquet(path)
    return path


def test_a_table_is_read_as_declared_and_tells_its_version(run: RunDirectory) -> None:
    """That in which it was written; one without metadata is of the first."""
    path = run.window(NAME).table("window")
    assert table_of(path, WINDOW)["window_id"].to_list() == [NAME]
    assert (version_of(path), is_current(path.read_bytes())) == (SCHEMA_VERSION, True)
    _damage(path, lambda frame: frame)
    assert (version_of(path), is_current(path.read_bytes())) == (1, False)
    assert version_of(run.manifest) is None


def _with(column: str, value: object, kind: pl.DataType | None = None) -> Change:
    """A change that puts the value into every row of a column."""
    return lambda frame: frame.with_columns(pl.lit(value, kind).alias(column))


NO_NUMBER = "not a number, or infinite: tpm"

CHANGES: list[tuple[str, Change]] = [
    ("it has no column nopm, tpm", lambda frame: frame.drop("nopm", "tpm")),
    ("of another type than declared: users", _with("users", "1")),
    ("of another type than declared: nopm", _with("nopm", 1)),
    ("null where none may be: users", _with("users", None, pl.Int64())),
    (NO_NUMBER, _with("tpm", float("nan"))),
    (NO_NUMBER, _with("tpm", float("-inf"))),
    ("a level below 1: users", _with("users", 0, pl.Int64())),
    ("a level below 1: users", _with("users", -4, pl.Int64())),
    ("2 rows instead of one", lambda frame: pl.concat([frame, frame])),
    ("0 rows instead of one", lambda frame: frame.clear()),
    (f"rows of another window than {NAME}", _with("window_id", "w-other-u1-b0")),
]


@pytest.mark.parametrize(("problem", "change"), CHANGES, ids=[each for each, _ in CHANGES])
def test_a_table_that_is_not_as_declared_is_damaged(
    run: RunDirectory, problem: str, change: Change
) -> None:
    """No value is bent until it fits, and nothing that is no number is counted with."""
    path = _damage(run.window(NAME).table("window"), change)
    with pytest.raises(Damaged) as caught:
        table_of(path, WINDOW)
    assert str(caught.value) == problem


def test_a_column_more_changes_nothing(run: RunDirectory) -> None:
    """Somebody's own notes, for example."""
    path = run.window(NAME).table("window")
    _damage(path, lambda frame: frame.with_columns(pl.lit("mine").alias("note")))
    assert table_of(path, WINDOW).columns == [each.name for each in WINDOW.columns]


def test_a_table_that_was_changed_where_it_lies_is_damaged(run: RunDirectory) -> None:
    """Its metadata tell what it was."""
    path = run.window(NAME).table("seconds")
    content = path.read_bytes()
    changed = content.replace(b"committed", b"commuted!", 1)
    path.write_bytes(changed)
    with pytest.raises(Damaged, match="not what was written"):
        table_of(path, SECONDS)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100, b"\x00" * 5000])
def test_what_is_no_parquet_is_damaged(run: RunDirectory, content: bytes) -> None:
    """Whatever the reader makes of it."""
    path = run.window(NAME).table("seconds")
    path.write_bytes(content)
    with pytest.raises(Damaged, match="not Parquet"):
        table_of(path, SECONDS)


def _versioned(path: Path, version: str) -> None:
    pl.read_parquet(path).write_parquet(path, metadata={VERSION_KEY: version})


def test_a_table_of_a_newer_version_is_refused_with_both_versions(run: RunDirectory) -> None:
    """Also where only one file is newer."""
    path = run.window(NAME).table("window")
    _versioned(path, "3")
    with pytest.raises(UserError, match="schema version 3; this Stithy reads up to 2") as caught:
        table_of(path, WINDOW)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("version", ["0", "-1", "two", "²"])
def test_a_version_that_makes_no_sense_is_damage(run: RunDirectory, version: str) -> None:
    """Nobody ever wrote it."""
    path = run.window(NAME).table("window")
    _versioned(path, version)
    with pytest.raises(Damaged, match="no schema version that is known"):
        table_of(path, WINDOW)


def _rewritten(run: RunDirectory, **changes: Any) -> Path:
    document = {**json.loads(run.manifest.read_text()), **changes}
    run.manifest.write_text(json.dumps(document, indent=2))
    return run.manifest


def test_a_manifest_that_was_changed_is_damaged(run: RunDirectory) -> None:
    """A seed or a candidate's name would be told wrong."""
    with pytest.raises(Damaged, match="not what was written"):
        manifest_of(_rewritten(run, seed=2))


def test_a_manifest_without_its_digest_is_damaged(run: RunDirectory) -> None:
    """One of this version has it."""
    document = json.loads(run.manifest.read_text())
    del document["sha256"]
    run.manifest.write_text(json.dumps(document))
    with pytest.raises(Damaged, match="not what was written"):
        manifest_of(run.manifest)


def test_an_older_manifest_is_read(run: RunDirectory) -> None:
    """It has no digest, and keeps the version in which it was written."""
    as_version_1(run.root)
    assert manifest_of(run.manifest).schema_version == 1


@pytest.mark.parametrize("version", [None, 0, True, 1.5, "x", [], {}])
def test_a_manifest_without_a_version_that_makes_sense_is_damaged(
    run: RunDirectory, version: object
) -> None:
    """Nobody knows how to read it."""
    with pytest.raises(Damaged, match="no schema version that is known"):
        manifest_of(_rewritten(run, schema_version=version))


@pytest.mark.parametrize("version", [3, "3", 10**30])
def test_a_newer_manifest_is_refused_whatever_else_is_in_it(
    run: RunDirectory, version: object
) -> None:
    """Half-understood numbers would be worse than none."""
    path = _rewritten(run, schema_version=version, more={"nobody": "knows"})
    with pytest.raises(UserError, match=r"reads up to 2.*use the newer Stithy"):
        manifest_of(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"x"', "[" * 100_000, "\\", "{}"])
def test_what_is_no_manifest_is_damaged(run: RunDirectory, text: str) -> None:
    """Whatever JSON it is, or none."""
    run.manifest.write_text(text)
    with pytest.raises(Damaged):
        manifest_of(run.manifest)


def test_what_is_no_file_is_damaged_and_never_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to would be read for ever."""
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    told = []
    for path in (pipe, tmp_path, loop, tmp_path / "nothing", loop / "below"):
        with pytest.raises(Damaged) as caught:
            content_of(path)
        told.append(str(caught.value))
    assert told[:2] == ["not a file", "not a file"]
    assert told[3] == "missing"
    assert "symbolic links" in told[2]


def test_a_text_in_another_encoding_is_damaged(tmp_path: Path) -> None:
    """It would be shown with other letters than were written."""
    path = tmp_path / "study.yaml"
    path.write_bytes("für".encode("latin-1"))
    with pytest.raises(Damaged, match="not UTF-8: byte 1"):
        text_of(path)


def test_line_ends_of_a_text_stay(tmp_path: Path) -> None:
    """The study is what was run byte for byte."""
    path = tmp_path / "study.yaml"
    path.write_bytes(b"a\r\nb\n")
    assert text_of(path) == "a\r\nb\n"


def test_nothing_of_the_seal_reaches_the_manifest(run: RunDirectory) -> None:
    """It is the file's and not the run's."""
    assert seal.JSON_KEY not in manifest_of(run.manifest).model_dump()
