"""Folders of drive programs are taken once; what cannot be a drive is refused before."""

from pathlib import Path
from typing import Any

import pytest

from stithy.drives import places
from stithy.drives.places import Entry, Mounting
from stithy.drives.spec import DriveSpec, File
from stithy.errors import PreconditionError, UserError
from stithy.hosts.processes import Identity, own_identity
from stithy.wire.drive.jobs import FromProfile, InFile, InMemory

DEAD = Identity("another boot", 1, 1)
ENTRY = Entry("r1", ("data", "log"), DEAD)


def test_an_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Mounts and devices are added later."""
    folder = tmp_path / "x/data"
    places.make(folder, ENTRY)
    places.add_devices(folder, ["/dev/loop1"])
    mounting = Mounting("/dev/loop1", Path("/mnt/a b"), made_folder=True)
    places.add_mount(folder, mounting)
    assert places.read_entry(folder) == Entry(
        "r1", ("data", "log"), DEAD, ("/dev/loop1",), (mounting,)
    )
    assert (folder / places.ENTRY).stat().st_mode & 0o777 == 0o600


def test_a_folder_is_taken_once(tmp_path: Path) -> None:
    """Whoever makes it has the name."""
    places.make(tmp_path / "data", ENTRY)
    with pytest.raises(UserError, match="data: a drive of this name is up already, or was killed"):
        places.make(tmp_path / "data", ENTRY)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With the variable that names another."""
    (tmp_path / "file").touch()
    with pytest.raises(PreconditionError, match="STITHY_STATE"):
        places.make(tmp_path / "file/data", ENTRY)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"stithy_drives": 99}', '{"stithy_drives": 1, "run_id": null}']
)
def test_a_folder_that_is_not_understood_is_not_ours(tmp_path: Path, text: str) -> None:
    """Neither shown nor emptied."""
    (tmp_path / places.ENTRY).write_text(text)
    assert places.read_entry(tmp_path) is None
    places.forget(tmp_path)
    assert (tmp_path / places.ENTRY).exists()


def test_folders_with_an_entry_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else lies there is left out; where nothing was ever made there are none."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    assert places.all_folders() == []
    places.make(places.folder_of("log"), ENTRY)
    places.make(places.folder_of("data", "r1"), ENTRY)
    (places.home() / "else").mkdir()
    assert [each.name for each in places.all_folders()] == ["log", "r1.data"]


def test_a_folder_is_forgotten_twice_without_harm(tmp_path: Path) -> None:
    """With whatever the program left in it."""
    places.make(tmp_path / "a", ENTRY)
    (tmp_path / "a/control").touch()
    for _ in range(2):
        places.forget(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_takes_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left that would hold the name without an entry that could be cleaned."""

    def full(folder: Path, entry: Entry) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(places, "write_entry", full)
        with pytest.raises(PreconditionError, match="No space left on device"):
            places.make(tmp_path / "data", ENTRY)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "data").mkdir()
    places.make(tmp_path / "data", ENTRY)


def test_a_program_may_still_come_while_its_starter_lives() -> None:
    """So nobody removes its folder meanwhile."""
    assert Entry(None, ("data",), own_identity()).is_starting
    assert not Entry(None, ("data",), own_identity(), ("/dev/loop1",)).is_starting
    assert not ENTRY.is_starting


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
