"""What cannot be a drive is refused before a program hears of it."""

from pathlib import Path
from typing import Any

import pytest

from stithy.drives.spec import DriveSpec, File
from stithy.errors import UserError
from stithy.wire.drive.jobs import FromProfile, InFile, InMemory

PLAIN: dict[str, Any] = {"name": "data", "profile": None, "size_bytes": 2**30}


def test_a_drive_is_told_to_the_program_with_its_defaults() -> None:
    """In memory, whole, with what its profile says of its cache."""
    told = DriveSpec(**PLAIN).on_wire()
    assert (told.backing, told.volatile, told.scale) == (InMemory(), FromProfile(), 1.0)
    assert (told.sector_bytes, told.transport_s, told.hlog_stem) == (4096, None, None)


def test_paths_are_told_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program works in another folder than the person."""
    monkeypatch.chdir(tmp_path)
    told = DriveSpec(**PLAIN, backing=File(Path("a.img")), hlog_stem=Path("x/data")).on_wire()
    assert told.backing == InFile(path=str(tmp_path / "a.img"))
    assert told.hlog_stem == str(tmp_path / "x/data")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "-a", "a b", "ä", "a\n", "a;rm", "x" * 65, "\0"]
)
def test_a_name_that_could_be_something_else_is_refused(name: str) -> None:
    """A name becomes a folder's, and is written in tables."""
    with pytest.raises(UserError, match="cannot be the name of a drive: give letters"):
        DriveSpec(**PLAIN | {"name": name})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"size_bytes": 0}, "a drive of 0 bytes cannot be: give a size from"),
        ({"size_bytes": -4096}, "a drive of -4096 bytes cannot be"),
        ({"size_bytes": 2**60}, "cannot be: give a size from 1 MiB to 8192 TiB"),
        ({"size_bytes": 10_000}, "no whole number of sectors of 4096 bytes: give 8192 bytes"),
        ({"sector_bytes": 0}, "sectors of 0 bytes cannot be: give 512 or 4096"),
        ({"sector_bytes": 1024}, "sectors of 1024 bytes cannot be"),
        ({"scale": 0.125}, "a scale of 0.125 divides nothing: give 1 or more"),
        ({"scale": float("nan")}, "a scale of nan divides nothing"),
        ({"seed": -1}, "-1 cannot be a seed"),
        ({"seed": 2**64}, "cannot be a seed"),
    ],
)
def test_numbers_that_no_drive_has_are_refused(wrong: dict[str, Any], words: str) -> None:
    """With the drive, the value and what would be right."""
    with pytest.raises(UserError, match="^drive data: ") as caught:
        DriveSpec(**PLAIN | wrong)
    assert words in str(caught.value)
