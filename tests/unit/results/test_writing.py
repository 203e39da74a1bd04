"""Rows are held to the tables' declarations, and reach the disk with them and their checksum."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.results import files
from stithy.results.files import is_as_written, write_with_checksum
from stithy.results.tables import RESTORES, TABLES, Column, Table, empty_frame
from stithy.results.write import frame_of, write_json, write_table

TABLE = Table(
    "things",
    "One row a thing.",
    (
        Column("name", "text", "", "its name"),
        Column("size_bytes", "integer", "B", "its size"),
        Column("time_s", "real", "s", "its time", nullable=True),
        Column("good", "truth", "", "whether"),
        Column("notes", "texts", "", "notes"),
    ),
)
RESTORE = {
    "window_id": "w", "candidate": "disk", "copy_s": 1.5, "verify_s": 1, "sync_s": 0.5,
    "files": 3, "size_bytes": 4096, "identical": True, "resident_bytes": None,
    "resident_note": "tmpfs cannot evict",
}  # fmt: skip


def row(**changes: Any) -> dict[str, Any]:
    """A row that is as declared, but for `changes`."""
    plain = {"name": "a", "size_bytes": 1, "time_s": 0.5, "good": True, "notes": ["x"]}
    return {**plain, **changes}


@dataclass(frozen=True)
class Thing:
    """A row whose fields are the columns."""

    name: str = "a"
    size_bytes: int = 1
    time_s: float | None = 5
    good: bool = True
    notes: tuple[str, ...] = ()


def test_a_frame_has_exactly_the_declared_columns_and_types() -> None:
    """Whatever the order of a row's keys; a whole number is a real one."""
    frame = frame_of(TABLE, [dict(reversed(row().items())), row(time_s=None, notes=()), Thing()])
    assert frame.schema == empty_frame(TABLE).schema
    assert frame.columns == ["name", "size_bytes", "time_s", "good", "notes"]
    assert frame["time_s"].to_list() == [0.5, None, 5.0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": None}, "row 0, column name: null"),
        ({"name": 1}, "kind 'text'"),
        ({"size_bytes": 1.0}, "kind 'integer'"),
        ({"size_bytes": True}, "kind 'integer'"),
        ({"time_s": float("nan")}, "kind 'real'"),
        ({"time_s": float("inf")}, "kind 'real'"),
        ({"good": 1}, "kind 'truth'"),
        ({"notes": "x"}, "kind 'texts'"),
        ({"more": 1}, r"unknown \['more'\]"),
    ],
)
def test_a_row_that_is_not_as_declared_is_refused(changes: dict[str, Any], problem: str) -> None:
    """The message names table, row and column; a missing column is named too."""
    with pytest.raises(ValueError, match=problem):
        frame_of(TABLE, [row(**changes)])
    with pytest.raises(ValueError, match=r"missing \['time_s'\]"):
        frame_of(TABLE, [{k: v for k, v in row().items() if k != "time_s"}])


def test_every_declared_table_has_a_schema_and_meanings() -> None:
    """Names are unique, each column says what it means."""
    assert len({table.name for table in TABLES}) == len(TABLES)
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert all(column.meaning for column in table.columns)
        assert empty_frame(table).columns == names


def test_a_table_is_read_back_with_units_meanings_and_version(tmp_path: Path) -> None:
    """A reader needs nothing but the file."""
    path = tmp_path / "restores.parquet"
    write_table(path, RESTORES, [RESTORE])
    assert pl.read_parquet(path).to_dicts() == [RESTORE]
    metadata = pl.read_parquet_metadata(path)
    assert metadata["stithy.table"] == "restores"
    assert metadata["stithy.schema_version"] == "3"
    assert json.loads(metadata["stithy.columns"])["copy_s"]["unit"] == "s"


def test_a_bad_row_leaves_no_file(tmp_path: Path) -> None:
    """A table is whole or not there."""
    with pytest.raises(ValueError, match="restores, row 0, column copy_s"):
        write_table(tmp_path / "restores.parquet", RESTORES, [{**RESTORE, "copy_s": "fast"}])
    assert list(tmp_path.iterdir()) == []


def test_json_holds_no_nan(tmp_path: Path) -> None:
    """NaN is not JSON; what is missing is null."""
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    write_json(tmp_path / "a.json", {"x": "ä"})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": "ä"}


def test_checksums_are_those_that_other_programs_verify(tmp_path: Path) -> None:
    """One line a file, the last one written."""
    for name, content in (("a", b"1"), ("b c", b"2"), ("a", b"3")):
        write_with_checksum(tmp_path / name, content)
    assert is_as_written(tmp_path / "a", b"3") is True
    assert is_as_written(tmp_path / "a", b"1") is False
    assert is_as_written(tmp_path / "other", b"1") is None
    program = shutil.which("sha256sum")
    assert program is not None
    done = subprocess.run(
        [program, "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True, text=True,
        capture_output=True,
    )  # fmt: skip
    assert sorted(done.stdout.splitlines()) == ["a: OK", "b c: OK"]


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_whoever_is_killed_while_writing_leaves_a_file_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Before and after each of its three writes."""
    path = tmp_path / "manifest.json"
    write_with_checksum(path, b"old")
    left, write = [writes], files.write_durably

    def killed(place: Path, content: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(place, content)

    monkeypatch.setattr(files, "write_durably", killed)
    with pytest.raises(KeyboardInterrupt):
        write_with_checksum(path, b"new")
    assert is_as_written(path, path.read_bytes()) is True
    monkeypatch.setattr(files, "write_durably", write)
    write_with_checksum(path, b"newer")
    assert is_as_written(path, b"newer") is True
    assert is_as_written(path, b"old") is False
