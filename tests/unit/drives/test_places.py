"""Folders of drive programs: taken once, written whole, removed only where they are Stithy's."""

from pathlib import Path

import pytest

from stithy.drives import places
from stithy.drives.places import Entry, Mounting
from stithy.errors import PreconditionError, UserError
from stithy.hosts.processes import Identity, own_identity

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
