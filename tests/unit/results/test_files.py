"""Files are there whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.results.files import write_durably, write_pieces_durably


def test_a_file_is_written_with_its_parents_and_leaves_nothing_beside(tmp_path: Path) -> None:
    """Only the file itself is there afterwards."""
    path = tmp_path / "a" / "b.json"
    write_durably(path, b"one")
    write_durably(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_a_place_that_refuses_is_named_with_a_remedy(tmp_path: Path) -> None:
    """A parent that is a file cannot hold results; the same message tells of a full disk."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="results could not be written"):
        write_durably(tmp_path / "file" / "b.json", b"one")


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up in the middle does not cost what was there."""
    path = tmp_path / "b.json"
    write_durably(path, b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InfrastructureError, match="No space left on device"):
        write_durably(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_pieces_are_one_file_and_a_failure_on_the_way_leaves_the_old_one(tmp_path: Path) -> None:
    """Also where it is not the disk that fails, but who makes the pieces."""
    path = tmp_path / "b.txt"
    write_pieces_durably(path, (b"one", b"two"))

    def broken() -> Iterator[bytes]:
        yield b"three"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_pieces_durably(path, broken())
    assert path.read_bytes() == b"onetwo"
    assert list(tmp_path.iterdir()) == [path]
