"""What may be used, emptied or overwritten, and everything that may not."""

import os
import stat
from pathlib import Path

import pytest

from fakes.fio import FioRunner
from stithy.errors import PreconditionError
from stithy.hosts.processes import Identity, own_identity
from stithy.hosts.runner import Command, Finished
from stithy.storage.consent import (
    DATA,
    MARK,
    MASTER,
    Mark,
    Use,
    foreign_entries,
    held_bytes,
    may_empty,
    may_erase,
    may_use,
    stable_ids,
    write_mark,
)

DEAD = Identity("another boot", 1, 1)


def refusal(path: Path) -> str:
    """The message with which `path` is refused."""
    with pytest.raises(PreconditionError) as caught:
        may_use(path, "candidate disk")
    return str(caught.value)


def test_a_missing_directory_may_be_made(tmp_path: Path) -> None:
    """Its parent is there and writable."""
    assert may_use(tmp_path / "new", "candidate disk") is Use.MISSING


def test_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    """Nothing in it can be lost."""
    assert may_use(tmp_path, "candidate disk") is Use.EMPTY


def test_a_directory_left_by_a_dead_run_may_be_used_again(tmp_path: Path) -> None:
    """The mark says whose it was, and that process is gone."""
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=DEAD))
    (tmp_path / "data").mkdir()
    assert may_use(tmp_path, "candidate disk") is Use.OURS


def test_only_what_lies_in_our_own_directories_is_counted_as_held(tmp_path: Path) -> None:
    """Without the mark nothing is ours, and a file beside them never is."""
    for name in (DATA, MASTER, "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_bytes(b"x" * 40_000)
    assert held_bytes(tmp_path) == 0
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=DEAD))
    files = [tmp_path / name / "rows" for name in (DATA, MASTER)]
    assert held_bytes(tmp_path) == sum(each.stat().st_blocks * 512 for each in files) > 0


def test_a_missing_parent_is_an_error_with_the_command_that_mends_it(tmp_path: Path) -> None:
    """Only one level is ever made."""
    assert refusal(tmp_path / "a/b") == (
        f"candidate disk: {tmp_path}/a does not exist: make it: mkdir -p {tmp_path}/a"
    )


def test_a_directory_with_files_of_the_user_is_refused(tmp_path: Path) -> None:
    """One of the files is named."""
    (tmp_path / "thesis.tex").touch()
    assert "it holds 'thesis.tex', not Stithy's" in refusal(tmp_path)
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=DEAD))
    assert "it holds 'thesis.tex', not Stithy's" in refusal(tmp_path)


def test_a_directory_that_only_looks_like_ours_is_refused(tmp_path: Path) -> None:
    """A name such as `data` proves nothing without the mark."""
    (tmp_path / "data").mkdir()
    assert "it holds 'data', without Stithy's mark" in refusal(tmp_path)


def test_a_mark_that_cannot_be_read_is_no_mark(tmp_path: Path) -> None:
    """Whatever wrote it, it gives no consent."""
    (tmp_path / MARK).write_text('{"stithy_mark": 1, "run_id"')
    assert "without Stithy's mark" in refusal(tmp_path)
    assert not may_empty(tmp_path, "r1")


def test_a_directory_of_a_living_run_is_refused(tmp_path: Path) -> None:
    """So is one that was kept."""
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=own_identity()))
    assert "is in use by run r1" in refusal(tmp_path)
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=None))
    assert "stithy clean" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", "is the root of the machine"),
        ("/tmp", "is shared by all users"),
        ("/etc/passwd", "is not a directory"),
        ("relative/path", "is a relative path"),
        ("/etc/passwd/below", "/etc/passwd is not a directory: name another directory"),
        ("/proc", "it holds"),
    ],
)
def test_places_that_are_never_right_are_refused(path: str, reason: str) -> None:
    """Each with its own reason."""
    assert reason in refusal(Path(path))


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    """Making its target would surprise."""
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert "points to nothing" in refusal(tmp_path / "link")


def test_a_link_to_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    """Links to storage are common."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert may_use(tmp_path / "link", "candidate disk") is Use.EMPTY


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_is_not_writable_is_refused(tmp_path: Path) -> None:
    """Before anything starts."""
    tmp_path.chmod(0o555)
    assert "is not writable for this user" in refusal(tmp_path)


def test_only_the_run_on_the_mark_may_empty_a_directory(tmp_path: Path) -> None:
    """Another run's directory is not ours to empty."""
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=DEAD))
    assert may_empty(tmp_path, "r1")
    assert not may_empty(tmp_path, "r2")


def test_lost_and_found_counts_as_empty_only_at_a_mount_point(tmp_path: Path) -> None:
    """In a plain directory it is the user's."""
    (tmp_path / "lost+found").mkdir()
    assert foreign_entries(tmp_path) == ["lost+found"]


def test_a_link_that_took_the_place_of_a_directory_is_not_emptied(tmp_path: Path) -> None:
    """Even where what it points to bears the run's mark: it is a copy that somebody made."""
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=None))
    (tmp_path / "link").symlink_to(tmp_path)
    assert may_empty(tmp_path, "r1")
    assert not may_empty(tmp_path / "link", "r1")


class Wipefs(FioRunner):
    """A seam's stand-in: what `wipefs` finds on the device."""

    found = ""

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """The kinds of signatures, a line each."""
        assert "--no-act" in command.argv
        return Finished(0, self.found, "")


class Machine:
    """A device `sdq` as /sys, /proc and udev would show it, in a directory of the test's."""

    def __init__(self, root: Path) -> None:
        self.by_id, self.proc, self.sys = root / "by-id", root / "proc", root / "sys"
        self.device = root / "sdq"
        self.place = self.sys / "class" / "block" / "sdq"
        for folder in (self.by_id, self.proc / "self", self.place / "holders"):
            folder.mkdir(parents=True)
        self.device.touch()
        (self.by_id / "wwn-0x5000").symlink_to(self.device)
        (self.by_id / "wwn-other").symlink_to(root / "other")
        (self.place / "serial").write_text("S1234\n")
        (self.place / "dev").write_text("65:0\n")
        (self.proc / "swaps").write_text("Filename Type\n")
        self.mounts("8:0 / / rw - ext4 /dev/sda rw")

    def mounts(self, *lines: str) -> None:
        """What is mounted."""
        text = "".join(f"{i} 1 {line}\n" for i, line in enumerate(lines, 20))
        (self.proc / "self" / "mountinfo").write_text(text)

    def ask(self, named: str = "wwn-0x5000", found: str = "") -> None:
        """Whether it may be erased."""
        runner = Wipefs()
        runner.found = found
        may_erase(self.device, named, runner, by_id=self.by_id, proc=self.proc, sys=self.sys)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty device that nothing uses."""
    return Machine(tmp_path.resolve())


def test_an_empty_device_named_by_a_stable_id_may_be_erased(machine: Machine) -> None:
    """By udev's name or its serial number."""
    machine.ask("wwn-0x5000")
    machine.ask("S1234")
    ids = stable_ids(machine.device, by_id=machine.by_id, sys=machine.sys)
    assert ids == ("wwn-0x5000", "S1234")


@pytest.mark.parametrize("named", ["sdq", "/dev/sdq", "wwn-other", "", "yes"])
def test_a_name_that_may_move_is_no_consent(machine: Machine, named: str) -> None:
    """Nor is the id of another device; the right ones are told."""
    with pytest.raises(PreconditionError, match="does not name this device") as refused:
        machine.ask(named)
    assert "wwn-0x5000, S1234" in refused.value.remedy


def test_what_is_on_a_device_protects_it(machine: Machine) -> None:
    """A file system, a partition, a mount, swap, an array."""
    with pytest.raises(PreconditionError, match="something on it: ext4"):
        machine.ask(found="ext4\n")
    (machine.proc / "swaps").write_text(f"Filename Type\n{machine.device} partition\n")
    with pytest.raises(PreconditionError, match="it is swap space"):
        machine.ask()
    (machine.place / "holders" / "md0").mkdir()
    (machine.proc / "swaps").write_text("Filename Type\n")
    with pytest.raises(PreconditionError, match="it is used by md0"):
        machine.ask()
    machine.mounts("65:0 / /precious rw - xfs /dev/sdq rw")
    with pytest.raises(PreconditionError, match="it is mounted at /precious"):
        machine.ask()
    (machine.place / "sdq1").mkdir()
    (machine.place / "sdq1" / "partition").write_text("1\n")
    with pytest.raises(PreconditionError, match="it has partitions: sdq1"):
        machine.ask()


def test_a_device_that_cannot_be_had_alone_is_refused(machine: Machine) -> None:
    """Whatever uses it, the kernel knows; here it is not there any more."""
    assert not stat.S_ISBLK(os.stat(machine.device).st_mode)
    machine.device.unlink()
    with pytest.raises(PreconditionError, match="it cannot be had alone: No such file"):
        machine.ask()
