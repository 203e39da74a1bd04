"""Files are there whole or not at all."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.results.files import alone, replaced, write_durably, write_pieces_durably


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


def _fill(parent: Path, text: str) -> None:
    with replaced(parent, ("a", "b")) as place:
        (place / "a" / f"{text}.csv").write_text(text)
        (place / "b" / f"{text}.csv").write_text(text)


def _files(parent: Path) -> list[str]:
    return sorted(str(each.relative_to(parent)) for each in parent.rglob("*") if each.is_file())


def test_folders_are_replaced_whole_and_others_beside_them_stay(tmp_path: Path) -> None:
    """What was in the old ones is gone, and nothing is left beside the new ones."""
    (tmp_path / "notes.txt").write_text("mine")
    _fill(tmp_path, "one")
    _fill(tmp_path, "two")
    assert _files(tmp_path) == ["a/two.csv", "b/two.csv", "notes.txt"]
    assert {each.name for each in tmp_path.iterdir()} == {"a", "b", "notes.txt"}


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_folders_that_could_not_be_filled_leave_the_old_ones(
    tmp_path: Path, failure: BaseException
) -> None:
    """A full disk, or a person who stopped it."""
    _fill(tmp_path, "one")

    def half() -> None:
        with replaced(tmp_path, ("a", "b")) as place:
            (place / "a" / "two.csv").write_text("two")
            raise failure

    with pytest.raises(type(failure)):
        half()
    assert _files(tmp_path) == ["a/one.csv", "b/one.csv"]
    assert {each.name for each in tmp_path.iterdir()} == {"a", "b"}


def test_what_a_killed_process_left_is_no_obstacle(tmp_path: Path) -> None:
    """Half a new folder and an old one that was moved away."""
    for name in (".new/a", ".old/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "half.csv").write_text("half")
    _fill(tmp_path, "one")
    assert _files(tmp_path) == ["a/one.csv", "b/one.csv"]


def test_a_link_in_the_place_of_a_folder_goes_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    """A person's own folder is not ours to empty."""
    own, parent = tmp_path / "own", tmp_path / "report"
    own.mkdir()
    parent.mkdir()
    (own / "thesis.csv").write_text("mine")
    (parent / "a").symlink_to(own)
    _fill(parent, "one")
    assert (own / "thesis.csv").read_text() == "mine"
    assert not (parent / "a").is_symlink()


def test_one_waits_for_the_other(tmp_path: Path) -> None:
    """Two who hold the same folder come one after the other."""
    came: list[str] = []
    begun = threading.Event()

    def second() -> None:
        begun.set()
        with alone(tmp_path / "report"):
            came.append("second")

    with alone(tmp_path / "report"):
        other = threading.Thread(target=second)
        other.start()
        begun.wait()
        came.append("first")
    other.join()
    assert came == ["first", "second"]
