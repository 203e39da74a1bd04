"""The drives of this machine: which there are, and which one a name means."""

from pathlib import Path

import pytest

from fakes.drives import serving
from stithy.drives import found, places
from stithy.drives.found import KILLED, all_drives, drive_named
from stithy.drives.places import Entry
from stithy.errors import UserError
from stithy.hosts.processes import Identity, own_identity

DEAD = Identity("another boot", 1, 1)


@pytest.fixture(autouse=True)
def _register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A register of its own: a person's drive, and one of a run, both killed."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD, ("/dev/loop98",)))
    places.make(places.folder_of("nvme", "r1"), Entry("r1", ("data", "log"), DEAD))


def test_killed_drives_are_known_by_what_was_written() -> None:
    """A person's first; those of a run with their folder before them."""
    drives = all_drives()
    assert [each.full_name for each in drives] == ["fast", "r1.nvme/data", "r1.nvme/log"]
    assert {each.problem for each in drives} == {KILLED}
    assert [each.device for each in drives] == ["/dev/loop98", None, None]


def test_a_drive_that_comes_up_is_not_called_killed() -> None:
    """Its program is on its way."""
    places.make(places.folder_of("new"), Entry(None, ("new",), own_identity()))
    assert drive_named("new").problem == "it is not up yet"


def test_a_drive_that_is_up_tells_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from its program."""
    monkeypatch.setattr(found, "find", lambda folder: own_identity())
    with serving(places.folder_of("fast") / "control"):
        drive = all_drives()[0]
    assert (drive.name, drive.device, drive.problem) == ("data", "/dev/loop99", None)
    assert drive.facts is not None
    assert drive.facts.profile == "generic-nvme"


def test_a_name_is_enough_where_only_one_has_it() -> None:
    """The full name always is."""
    assert drive_named("log").full_name == "r1.nvme/log"
    assert drive_named("r1.nvme/data").name == "data"
    places.make(places.folder_of("sata", "r1"), Entry("r1", ("log",), DEAD))
    with pytest.raises(UserError, match="several drives have this name: give one of r1.nvme/log,"):
        drive_named("log")


def test_an_unknown_drive_is_refused_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Or with all; or with how to bring one up."""
    with pytest.raises(UserError, match="'fats': no drive of this name is up: did you mean fast?"):
        drive_named("fats")
    with pytest.raises(UserError, match="give one of fast, r1.nvme/data, r1.nvme/log"):
        drive_named("zzzzzz")
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "empty"))
    with pytest.raises(UserError, match="bring it up with `stithy drive up`; none is up"):
        drive_named("fast")
