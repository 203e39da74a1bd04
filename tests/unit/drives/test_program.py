"""Drive programs and those of file systems: started, asked, found again, and what is refused.

tests/real/drives has them at work.
"""

import gc
import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from fakes.clock import HurriedClock
from fakes.drives import refused, serving
from fakes.program import AnsweringRunner, EndingRunner
from stithy.drives import control, filesystems, program
from stithy.drives import control as places
from stithy.drives.control import Control, DriveEntry, DriveSpec, Mounting
from stithy.drives.power_cut import check
from stithy.drives.program import KILLED, find_drive, list_drives
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.hosts.processes import get_identity
from stithy.hosts.runner import Command, LocalRunner
from stithy.storage.emulation import suspend_pacing
from stithy.wire import messages
from support.examples import DEAD

ENTRY = DriveEntry("r1", ("data", "log"), DEAD)
PLAIN: dict[str, Any] = {"name": "data", "profile": None, "size_bytes": 2**30}
STARTED = messages.Started(wire=3, program="stithy-drive", at_s=1.0)


def test_a_refusal_or_no_answer_becomes_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Problem, place, remedy and exit code are the program's; its socket may lie far down."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    monkeypatch.chdir(folder)
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="has ended"):
            Control(folder / "control").list()
        Path("control").touch()
    Path("control").unlink()
    invalid = "the answer of the drive program is not valid"
    answers: tuple[tuple[Any, type[StithyError], str], ...] = (
        (refused(2), UserError, "^/dev/loop99: the drive is mounted: unmount it first$"),
        (refused(3), PreconditionError, "the drive is mounted"),
        (refused(4), InfrastructureError, "the drive is mounted"),
        (b"", InfrastructureError, "has ended, and its drives with it"),
        (b'{"answer":"maybe"}\n', InfrastructureError, invalid),
        (b'{"answer":"done"}\n', InfrastructureError, invalid),
    )
    for answer, kind, shown in answers:
        said = partial(lambda answer, _: answer, answer)
        with serving(Path("control"), said), pytest.raises(kind, match=shown):
            Control(folder / "control").list()


def test_a_folder_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk takes no name; what is not understood is not ours, and not emptied."""
    folder = tmp_path / "x/data"

    def full(folder: Path, entry: DriveEntry) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(places, "write_entry", full)
        with pytest.raises(PreconditionError, match="no space left on device"):
            places.make(folder, ENTRY)
    assert not folder.exists()
    places.make(folder, ENTRY)
    with pytest.raises(UserError, match="data: a drive of this name is already up, or was killed"):
        places.make(folder, ENTRY)
    places.add_devices(folder, ["/dev/loop1"])
    mounting = Mounting("/dev/loop1", Path("/mnt/a b"), made_folder=True)
    places.add_mount(folder, mounting)
    written = DriveEntry("r1", ("data", "log"), DEAD, ("/dev/loop1",), (mounting,))
    assert places.read_entry(folder) == written
    assert (folder / places.ENTRY).stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        places.forget(folder)
    assert list(folder.parent.iterdir()) == []
    for text in ("", "{}", "[]", '{"stithy_drives": 99}', '{"stithy_drives": 1, "run_id": null}'):
        (tmp_path / places.ENTRY).write_text(text)
        assert places.read_entry(tmp_path) is None
        places.forget(tmp_path)
        assert (tmp_path / places.ENTRY).exists()


def test_what_no_drive_can_be_is_refused() -> None:
    """With the value and what would be right."""
    names = ("", ".", "..", "a/b", "-a", "a b", "ä", "a\n", "a;rm", "x" * 65, "\0")
    wrongs: tuple[tuple[dict[str, Any], str], ...] = (
        *(({"name": name}, "cannot be the name of a drive: give letters") for name in names),
        ({"size_bytes": 0}, "a drive of 0 bytes cannot be: give a size from"),
        ({"size_bytes": 2**60}, "cannot be: give a size from 1 MiB to 8192 TiB"),
        ({"size_bytes": 10_000}, "not a multiple of the sector, 4096 bytes: give 8192B"),
        ({"sector_bytes": 1024}, "sectors of 1024 bytes cannot be: give 512 or 4096"),
        ({"scale": 0.125}, "a scale of 0.125 divides nothing: give 1 or more"),
        ({"scale": float("nan")}, "a scale of nan divides nothing"),
        ({"seed": -1}, "-1 cannot be a seed"),
        ({"seed": 2**64}, "cannot be a seed"),
    )
    for wrong, words in wrongs:
        with pytest.raises(UserError, match=words):
            DriveSpec(**PLAIN | wrong)


def _started(folder: Path, *shown: BaseModel) -> tuple[program.DriveProgram, str]:
    class Talking(AnsweringRunner):
        def start(self, command, *, stderr=None):  # type: ignore[no-untyped-def] # as above it
            stderr.write_text("thread 'main' panicked\n")
            return super().start(command, stderr=stderr)

    runner = Talking(shown)
    up = program.start([DriveSpec(**PLAIN)], folder, runner=runner, program=Path("/bin/drive"))
    return up, runner.programs[0].input.text


def test_a_program_that_does_not_come_up_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    """In its own words, or with its last ones."""
    failed = messages.Failure(code="x", problem="shut", where="/dev/fuse", remedy="open it", exit=3)
    wrong = failed.model_copy(update={"exit": 2})
    cases: tuple[tuple[Sequence[BaseModel], type[StithyError], str], ...] = (
        ((STARTED, failed), PreconditionError, "^/dev/fuse: shut: open it$"),
        ((STARTED,), InfrastructureError, "its drives were up with code 0: thread 'main'"),
        ((wrong, STARTED), UserError, "shut: open it"),
        ((DriveSpec(**PLAIN).make_wire_spec(),), InfrastructureError, "a line is not a message"),
    )
    for shown, kind, words in cases:
        with pytest.raises(kind, match=words):
            _started(tmp_path / "data", *shown)
        assert not (tmp_path / "data").exists()


def test_a_program_that_has_ended_is_told_with_its_signal_and_last_words(tmp_path: Path) -> None:
    """Its folder, where they are, is removed before anybody could look."""
    killed = LocalRunner().start(Command(["sh", "-c", "kill -9 $$"], detached=True))
    control.remember_program(tmp_path, killed)
    (tmp_path / control.ERRORS).write_text("first\n" * 9 + "cannot write the image\n")
    said = "with it by SIGKILL: first: first: first: first: cannot write the image"
    with pytest.raises(InfrastructureError, match=said):
        Control(tmp_path / "control").list()
    assert killed.poll() == -9
    control.reap_programs()


def test_the_next_program_of_a_folder_is_told_apart_from_the_last(tmp_path: Path) -> None:
    """The last one may still be going when the next begins, and is waited for all the same."""
    going, dead = (LocalRunner().start(Command(words, detached=True))
                   for words in (["sleep", "60"], ["sh", "-c", "exit 3"]))  # fmt: skip
    control.remember_program(tmp_path, going)
    control.remember_program(tmp_path, dead)
    assert control.describe_end(tmp_path) == " with code 3"
    gc.collect()  # a process that nobody waits for would be warned of
    os.kill(going.pid, signal.SIGKILL)
    going.wait(10)
    control.reap_programs()


def test_drives_that_go_meanwhile_are_told_with_what_failed(tmp_path: Path) -> None:
    """And a failure of another cause is told as it is."""
    drive: Any = SimpleNamespace(name="data", control=tmp_path / "control")
    failed = InfrastructureError("it is too small", where="mkfs.ext4", remedy="enlarge it")
    both = "has ended, and its drives with it; meanwhile: mkfs.ext4: it is too small"
    alone = pytest.raises(InfrastructureError, match="^mkfs.ext4: it is too small")
    with serving(drive.control), alone, suspend_pacing([drive]):
        raise failed
    gone = pytest.raises(InfrastructureError, match=both)
    with serving(drive.control), gone, suspend_pacing([drive]):
        drive.control.unlink()
        raise failed


def test_drives_are_known_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's first; a short name is enough where only one has it; killed ones say so."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    with pytest.raises(UserError, match="bring it up with `stithy drive up`; none is up"):
        find_drive("fast")
    places.make(places.get_folder("nvme", "r1"), ENTRY)
    places.make(places.get_folder("fast"), DriveEntry(None, ("fast",), DEAD, ("/dev/loop98",)))
    (places.get_home() / "else").mkdir()
    assert [(drive.full_name, drive.device, drive.problem) for drive in list_drives()] == [
        ("fast", "/dev/loop98", KILLED),
        ("r1.nvme/data", None, KILLED),
        ("r1.nvme/log", None, KILLED),
    ]
    places.make(places.get_folder("new"), DriveEntry(None, ("new",), get_identity()))
    assert find_drive("new").problem == "it is not up yet"
    assert find_drive("log").full_name == "r1.nvme/log"
    places.make(places.get_folder("sata", "r1"), DriveEntry("r1", ("log",), DEAD))
    for name, shown in (
        ("log", "several drives have this name: give one of r1.nvme/log,"),
        ("fats", "'fats': no drive of this name is up: did you mean fast?"),
    ):
        with pytest.raises(UserError, match=shown):
            find_drive(name)
    monkeypatch.setattr(program, "find", lambda folder: get_identity())
    with serving(places.get_folder("fast") / "control"):
        drive = list_drives()[0]
    assert (drive.name, drive.device, drive.problem) == ("data", "/dev/loop99", None)
    assert drive.facts is not None


def test_refusals_of_mkfs_and_mount_are_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are handed over one by one; an empty device is no unreadable one."""
    for name in ("mkfs.xfs", "xfs_repair", "mount", "umount", "blkid"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    device, root, good = "/dev/loop9", Path("/a b"), EndingRunner()
    filesystems.mount(device, root, "xfs", options=["noatime"], runner=good)
    assert good.asked[0][1:] == ["-t", "xfs", "-o", "noatime", "--", device, "/a b"]
    shown = EndingRunner(1, stderr="mkfs: reading\n  too small.\n\n")
    assert not check(device, "xfs", runner=shown).clean
    assert filesystems.read_tag(device, "TYPE", runner=EndingRunner(2)) is None
    with pytest.raises(PreconditionError, match=r"mkfs\.ext4 was not found: apt-get install e2fs"):
        filesystems.need_tools("ext4")
    with pytest.raises(UserError, match="'ext5' is not a file system.*give one of ext4, xfs, btr"):
        filesystems.make(device, "ext5")
    with pytest.raises(InfrastructureError, match="loop9: xfs could not be created: too small: "):
        filesystems.make(device, "xfs", runner=shown)
    with pytest.raises(InfrastructureError, match="could not be mounted: it ended with code 32"):
        filesystems.mount(device, root, "xfs", runner=EndingRunner(32))
    failed = EndingRunner(8, stderr="blkid: input/output error\n")
    with pytest.raises(InfrastructureError, match="cannot be identified: blkid: input/output err"):
        filesystems.read_tag(device, "TYPE", runner=failed)
    busy = EndingRunner(32, stderr="umount: target is busy.\n")
    for path, its in ((tmp_path, []), (tmp_path / "none", [device]), (Path("/proc"), [device])):
        filesystems.unmount(path, devices=its, runner=busy)
    assert busy.asked == [], "nothing is mounted there, or another device that a person mounted"
    with pytest.raises(PreconditionError, match="could not be unmounted: umount: target is busy"):
        filesystems.unmount(Path("/proc"), runner=busy, clock=HurriedClock())
