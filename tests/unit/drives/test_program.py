"""The drive program as a process: started, told, found again; nothing of it stays."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel

from fakes.drives import facts, serving
from fakes.program import AnsweringRunner
from stithy.drives import places, program
from stithy.drives.places import Entry
from stithy.drives.program import ERRORS, KILLED, all_drives, drive_named, start
from stithy.drives.spec import DriveSpec
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.processes import Identity, own_identity
from stithy.wire.drive.messages import DriveReady, Serving
from stithy.wire.messages import Failure, Started, Warning

SPEC = DriveSpec("data", None, 2**30)
STARTED = Started(wire=3, program="stithy-drive", at_s=1.0)
READY = DriveReady(**facts().model_dump())
FAILURE = Failure(
    code="no-fuse", problem="cannot be opened", where="/dev/fuse", remedy="run as root", exit=3
)
PROGRAM = Path("/bin/stithy-drive")


def started(folder: Path, messages: Sequence[BaseModel]) -> tuple[program.DriveProgram, str]:
    """A program that tells these messages, and the job that it was handed."""
    runner = AnsweringRunner(messages)
    up = start([SPEC], folder, runner=runner, program=PROGRAM)
    return up, runner.programs[0].input.text


def test_a_program_is_up_when_it_serves(tmp_path: Path) -> None:
    """Its drives, their devices and its warnings are known then; its folder is closed to others."""
    folder = tmp_path / "data"
    warned = Warning(code="host-not-prepared", text="timers are inexact")
    up, job = started(folder, [STARTED, warned, READY, Serving()])
    assert up.devices == {"data": "/dev/loop99"}
    assert up.warnings == ("timers are inexact",)
    assert up.control.path == folder / "control"
    assert json.loads(job)["control"] == "control"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert places.read_entry(folder) == places.Entry(
        None, ("data",), own_identity(), ("/dev/loop99",)
    )
    up.stop()
    assert not folder.exists()
    up.stop()


def test_what_the_program_refuses_is_raised_and_nothing_stays(tmp_path: Path) -> None:
    """Its own words, its own exit code."""
    with pytest.raises(PreconditionError, match="^/dev/fuse: cannot be opened: run as root$"):
        started(tmp_path / "data", [STARTED, FAILURE])
    assert not (tmp_path / "data").exists()


def test_a_program_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    """What it wrote to standard error says more than its end."""

    class Dying(AnsweringRunner):
        def start(self, command, *, stderr=None):  # type: ignore[no-untyped-def] # as above it
            stderr.write_text("thread 'main' panicked\n")
            return super().start(command, stderr=stderr)

    with pytest.raises(InfrastructureError, match="ended before its drives were up: thread 'main'"):
        start([SPEC], tmp_path / "data", runner=Dying([STARTED]), program=PROGRAM)
    assert not (tmp_path / "data" / ERRORS).exists()


def test_a_program_of_another_version_is_told(tmp_path: Path) -> None:
    """A line that is no message is quoted."""
    with pytest.raises(InfrastructureError, match="a line is not a message"):
        started(tmp_path / "data", [SPEC.on_wire()])


def test_a_name_is_given_once(tmp_path: Path) -> None:
    """The folder is the name; the program that has it is left alone."""
    up, _ = started(tmp_path / "data", [READY, Serving()])
    with pytest.raises(UserError, match="a drive of this name is up already"):
        started(tmp_path / "data", [READY, Serving()])
    assert up.folder.exists()


def test_a_program_is_found_by_its_folder_alone(tmp_path: Path) -> None:
    """Where nobody works in it there is none, whatever lies there."""
    up, _ = started(tmp_path / "data", [READY, Serving()])
    assert program.find(up.folder) is None
    program.repair(up.folder)


def test_the_program_of_a_device_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From what was written down when it came up."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    up, _ = started(places.folder_of("data"), [READY, Serving()])
    assert program.serving("/dev/loop99") == up.folder
    assert program.serving("/dev/loop98") is None


def test_a_user_without_rights_is_told_of_a_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories need no rights."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(PreconditionError, match="candidates of `path`"):
        program.need_root()


DEAD = Identity("another boot", 1, 1)


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A register of its own: a person's drive, and one of a run, both killed."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    places.make(places.folder_of("fast"), Entry(None, ("fast",), DEAD, ("/dev/loop98",)))
    places.make(places.folder_of("nvme", "r1"), Entry("r1", ("data", "log"), DEAD))


@pytest.mark.usefixtures("register")
def test_killed_drives_are_known_by_what_was_written() -> None:
    """A person's first; those of a run with their folder before them."""
    drives = all_drives()
    assert [each.full_name for each in drives] == ["fast", "r1.nvme/data", "r1.nvme/log"]
    assert {each.problem for each in drives} == {KILLED}
    assert [each.device for each in drives] == ["/dev/loop98", None, None]


@pytest.mark.usefixtures("register")
def test_a_drive_that_comes_up_is_not_called_killed() -> None:
    """Its program is on its way."""
    places.make(places.folder_of("new"), Entry(None, ("new",), own_identity()))
    assert drive_named("new").problem == "it is not up yet"


@pytest.mark.usefixtures("register")
def test_a_drive_that_is_up_tells_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from its program."""
    monkeypatch.setattr(program, "find", lambda folder: own_identity())
    with serving(places.folder_of("fast") / "control"):
        drive = all_drives()[0]
    assert (drive.name, drive.device, drive.problem) == ("data", "/dev/loop99", None)
    assert drive.facts is not None
    assert drive.facts.profile == "generic-nvme"


@pytest.mark.usefixtures("register")
def test_a_name_is_enough_where_only_one_has_it() -> None:
    """The full name always is."""
    assert drive_named("log").full_name == "r1.nvme/log"
    assert drive_named("r1.nvme/data").name == "data"
    places.make(places.folder_of("sata", "r1"), Entry("r1", ("log",), DEAD))
    with pytest.raises(UserError, match="several drives have this name: give one of r1.nvme/log,"):
        drive_named("log")


@pytest.mark.usefixtures("register")
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
