"""When a device may be overwritten: hardly ever."""

import os
import stat
from pathlib import Path

import pytest

from fakes.fio import FioRunner
from stithy.errors import PreconditionError
from stithy.hosts.runner import Command, Finished
from stithy.storage.erase import may_erase, stable_ids


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
