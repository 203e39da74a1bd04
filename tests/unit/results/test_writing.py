"""Rows are held to the tables' declarations, and files are there whole or not at all."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.errors import InfrastructureError
from stithy.results import layout
from stithy.results.files import make_frame, write_json, write_table
from stithy.results.layout import (
    is_as_written,
    replace_folder,
    write_durably,
    write_pieces_durably,
    write_with_checksum,
)
from stithy.results.tables import RESTORES, Column, Table, make_empty_frame

COLUMNS = (
    Column("name", "text", "", "its name"),
    Column("size_bytes", "integer", "B", "its size"),
    Column("time_s", "real", "s", "its time", nullable=True),
    Column("good", "truth", "", "whether"),
)
TABLE = Table("things", "One row a thing.", COLUMNS)
ROW: dict[str, Any] = {"name": "a", "size_bytes": 1, "time_s": 0.5, "good": True}
RESTORE = {
    "window_id": "w", "candidate": "disk", "copy_s": 1.5, "verify_s": 1, "sync_s": 0.5,
    "files": 3, "size_bytes": 4096, "identical": True, "resident_bytes": None,
    "resident_note": "tmpfs cannot evict",
}  # fmt: skip


def test_a_row_that_is_not_as_declared_is_refused() -> None:
    """The message names row and column; what is declared keeps its types, in any order of keys."""
    frame = make_frame(TABLE, [dict(reversed(ROW.items())), ROW | {"time_s": None}])
    assert frame.schema == make_empty_frame(TABLE).schema
    for name, value, problem in (
        ("name", None, "row 0, column name: null"), ("name", 1, "kind 'text'"),
        ("size_bytes", 1.0, "kind 'integer'"), ("size_bytes", True, "kind 'integer'"),
        ("time_s", float("nan"), "kind 'real'"), ("time_s", float("inf"), "kind 'real'"),
        ("good", 1, "kind 'truth'"),
        ("more", 1, r"unknown \['more'\]"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            make_frame(TABLE, [ROW | {name: value}])
    with pytest.raises(ValueError, match=r"missing \['time_s'\]"):
        make_frame(TABLE, [{k: v for k, v in ROW.items() if k != "time_s"}])


def test_a_table_is_read_back_with_units_meanings_and_version(tmp_path: Path) -> None:
    """A reader needs nothing but the file; a bad row leaves none; JSON holds no NaN."""
    path = tmp_path / "restores.parquet"
    with pytest.raises(ValueError, match="restores, row 0, column copy_s"):
        write_table(path, RESTORES, [{**RESTORE, "copy_s": "fast"}])
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []
    write_table(path, RESTORES, [RESTORE])
    assert pl.read_parquet(path).to_dicts() == [RESTORE]
    metadata = pl.read_parquet_metadata(path)
    assert (metadata["stithy.table"], metadata["stithy.schema_version"]) == ("restores", "21")
    assert json.loads(metadata["stithy.columns"])["copy_s"]["unit"] == "s"


def test_checksums_are_those_that_other_programs_verify(tmp_path: Path) -> None:
    """One line a file, the last one written."""
    for name, content in (("a", b"1"), ("b c", b"2"), ("a", b"3")):
        write_with_checksum(tmp_path / name, content)
    found = [is_as_written(tmp_path / "a", each) for each in (b"3", b"1")]
    assert [*found, is_as_written(tmp_path / "other", b"1")] == [True, False, None]
    shown = subprocess.check_output(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, text=True
    )
    assert sorted(shown.splitlines()) == ["a: OK", "b c: OK"]


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_whoever_is_killed_while_writing_leaves_a_file_that_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Before and after each of its three writes."""
    path = tmp_path / "manifest.json"
    write_with_checksum(path, b"old")
    left, write = [writes], layout.write_durably

    def killed(place: Path, content: bytes) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(place, content)

    monkeypatch.setattr(layout, "write_durably", killed)
    with pytest.raises(KeyboardInterrupt):
        write_with_checksum(path, b"new")
    assert is_as_written(path, path.read_bytes()) is True
    monkeypatch.setattr(layout, "write_durably", write)
    write_with_checksum(path, b"newer")
    assert (is_as_written(path, b"newer"), is_as_written(path, b"old")) == (True, False)


def test_a_file_is_written_whole_or_the_old_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, who makes the pieces, or a place that refuses: nothing is left beside it."""
    path = tmp_path / "a/b.json"
    write_durably(path, b"one")
    write_pieces_durably(path, (b"o", b"ld"))

    def broken() -> Iterator[bytes]:
        yield b"three"
        raise KeyboardInterrupt

    def full(_descriptor: int) -> None:
        raise OSError(28, "no space left on device")

    with pytest.raises(KeyboardInterrupt):
        write_pieces_durably(path, broken())
    with pytest.raises(InfrastructureError, match="results could not be written"):
        write_durably(path / "c", b"one")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InfrastructureError, match="no space left on device"):
        write_durably(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def _fill(parent: Path, text: str, failure: BaseException | None = None) -> None:
    with replace_folder(parent, ("a", "b")) as place:
        (place / "a" / f"{text}.csv").write_text(text)
        if failure:
            raise failure
        (place / "b" / f"{text}.csv").write_text(text)


def test_folders_are_replaced_whole_or_the_old_ones_stay(tmp_path: Path) -> None:
    """What others have beside them, or behind a link, stays; what a kill left is no obstacle."""
    own, parent = tmp_path / "own", tmp_path / "report"
    for folder in (own, parent / ".new/a", parent / ".old/a"):
        folder.mkdir(parents=True)
        (folder / "half.csv").write_text("mine")
    (parent / "a").symlink_to(own)
    (parent / "notes.txt").write_text("mine")
    for text in ("one", "two"):
        _fill(parent, text)
    for failure in (OSError(28, "no space left on device"), KeyboardInterrupt()):
        with pytest.raises(type(failure)):
            _fill(parent, "three", failure)
    found = sorted(str(path.relative_to(parent)) for path in parent.rglob("*") if path.is_file())
    assert found == ["a/two.csv", "b/two.csv", "notes.txt"]
    assert {each.name for each in parent.iterdir()} == {"a", "b", "notes.txt"}
    assert (own / "half.csv").read_text() == "mine"
