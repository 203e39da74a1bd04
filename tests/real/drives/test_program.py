"""Real drives from Python: up, used, broken, found again, and gone with all that they made."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from stithy.drives import control as places
from stithy.drives import filesystems, program
from stithy.drives.control import DriveSpec
from stithy.drives.power_cut import check
from stithy.drives.program import DriveProgram, find, remove, start
from stithy.errors import PreconditionError, UserError
from stithy.hosts.devices import list_mounts
from stithy.hosts.processes import read_stat
from stithy.wire.drive.jobs import StallFault

pytestmark = pytest.mark.needs_drive

SIZE_BYTES = 512 * 2**20


@pytest.fixture
def place(disk_place: Path) -> Iterator[Path]:
    """A directory; whatever program works below it is ended, whatever happens."""
    yield disk_place
    for entry in list(disk_place.rglob(places.ENTRY)):
        for mount in list_mounts():
            if mount.point.is_relative_to(disk_place):
                filesystems.unmount(mount.point)
        remove(entry.parent)


def up(place: Path, *names: str) -> DriveProgram:
    """A program with drives of these names, which take no time."""
    return start([DriveSpec(name, None, SIZE_BYTES) for name in names], place / "drives")


def mounted(program_up: DriveProgram, point: Path, kind: str) -> None:
    """Put a file system on its first drive and mount it."""
    device = program_up.drives[0].device
    point.mkdir(exist_ok=True)
    filesystems.make(device, kind)
    filesystems.mount(device, point, kind)


def test_drives_are_block_devices_that_come_and_go_with_their_program(place: Path) -> None:
    """The program is alone in its session, carries no mark of a run, and outlives nobody's wish."""
    program_up = up(place, "data", "log")
    assert list(program_up.devices) == ["data", "log"]
    assert all(Path(device).is_block_device() for device in program_up.devices.values())
    assert find(program_up.folder) == program_up.identity
    assert os.getsid(program_up.identity.pid) == program_up.identity.pid
    assert (program_up.folder / "control").stat().st_mode & 0o777 == 0o600
    control = program_up.control
    control.take_down("log")
    with pytest.raises(UserError, match="no drive of this name is up: give one that is up: data"):
        control.read_counters("log")
    control.add_drive(DriveSpec("log", None, SIZE_BYTES))
    assert [each.drive for each in control.list()] == ["data", "log"]
    with pytest.raises(UserError, match="a drive of this name is already up"):
        control.add_drive(DriveSpec("log", None, SIZE_BYTES))
    program_up.stop()
    assert not program_up.is_alive
    assert not program_up.folder.exists()
    program_up.stop()


@pytest.mark.parametrize("kind", filesystems.KINDS)
def test_file_systems_are_made_and_clean(
    kind: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is mounted the drive does not go down; who keeps it busy is named."""
    monkeypatch.setattr(filesystems, "BUSY_PATIENCE_S", 0.0)
    program_up, point = up(place, "data"), place / "mnt"
    mounted(program_up, point, kind)
    with (point / "file").open("w") as file:
        file.write("kept")
        with pytest.raises(PreconditionError, match=rf"\({os.getpid()}\)|end what uses it"):
            filesystems.unmount(point)
    monkeypatch.undo()
    with pytest.raises(PreconditionError, match="mounted or held"):
        program_up.stop()
    assert program_up.is_alive
    filesystems.unmount(point, devices=[program_up.drives[0].device])
    assert check(program_up.drives[0].device, kind).clean
    program_up.stop()


@pytest.mark.parametrize("held", [False, True])
def test_a_stalled_drive_is_unmounted(held: bool, place: Path) -> None:
    """A stall of an hour, or a program that a signal holds, would hold the unmounting for ever."""
    program_up, point = up(place, "data"), place / "mnt"
    mounted(program_up, point, "ext4")
    (point / "file").write_text("dirty")
    program_up.control.set_fault("data", StallFault(duration_s=3600.0))
    if held:
        os.kill(program_up.identity.pid, signal.SIGSTOP)
    program.repair(program_up.folder)
    filesystems.unmount(point, devices=[program_up.drives[0].device])
    program_up.stop()
    assert not program_up.is_alive


READ = """import mmap, os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL | os.O_DIRECT)
os.preadv(descriptor, [mmap.mmap(-1, 4096)], 0)
"""


def test_a_stalled_drive_is_removed_from_under_who_was_killed(place: Path) -> None:
    """Such as an OSD in a power cut: it holds the device until its last request is answered."""
    program_up = up(place, "data")
    program_up.control.set_fault("data", StallFault(duration_s=3600.0))
    reader = Popen([sys.executable, "-c", READ, program_up.drives[0].device])
    while (found := read_stat(Path(f"/proc/{reader.pid}"))) and found.fields[0] != "D":
        time.sleep(0.01)
    reader.kill()
    remove(program_up.folder)
    reader.wait()
    assert not program_up.is_alive
    assert not program_up.folder.exists()
