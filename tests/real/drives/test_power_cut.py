"""The power cut of a machine on real drives: what memory still held never reaches them.

A cut that is done in the wrong way is caught.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stithy.drives import filesystems, power_cut, program
from stithy.drives.control import Control, DriveSpec
from stithy.drives.power_cut import (
    CutRule,
    MountedDrive,
    check_file_system,
    cut_power,
    restore_power,
)
from stithy.errors import InfrastructureError, PreconditionError
from stithy.storage.copy import sync_filesystem
from stithy.wire.drive import jobs
from stithy.wire.drive.jobs import VolatileBytes
from stithy.wire.drive.messages import AnswerPowerCut

pytestmark = pytest.mark.needs_drive

MIB = 2**20
LOSE_ALL = CutRule(seed=1, lost_share=1.0, torn_share=0.0)
CONTENT = b"stithy\n" * 100_000

WRITER = """
import os, sys
for number in range(10**9):
    with open(f"{sys.argv[1]}/{number % 50}", "wb") as file:
        file.write(os.urandom(50_000))
        if number % 10 == 0:
            file.flush()
            os.fsync(file.fileno())
"""
"""A process that always has something dirty, and something under way; it syncs no others' files."""


COUNTER = """
import os, sys
files = [os.open(f"{folder}/count", os.O_WRONLY | os.O_DSYNC) for folder in sys.argv[1:]]
for number in range(10**9):
    for file in files:
        os.pwrite(file, b"%020d" % number, 0)
    if number == 20:
        open(f"{sys.argv[1]}/20", "w").close()
"""
"""A process that counts in a file of one drive, then in one of another; both are synced."""


@dataclass(frozen=True)
class Bench:
    """A mounted drive whose image can be read past it."""

    mounted: MountedDrive
    image: Path

    def digest(self) -> str:
        """What is in the image."""
        with self.image.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def write(self, name: str, *, sync: bool) -> None:
        """Make a file."""
        path = self.mounted.folder / name
        path.write_bytes(CONTENT)
        for each in (path, path.parent) if sync else ():
            descriptor = os.open(each, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    def holds(self, name: str) -> bool:
        """Whether a file is there and whole."""
        path = self.mounted.folder / name
        return path.exists() and path.read_bytes() == CONTENT


@contextmanager
def benches(place: Path, kind: str, *names: str) -> Iterator[list[Bench]]:
    """Drives of one program, each with a file system, until the end of the block.

    Over files that are large enough for every kind of file system.
    """
    images = {name: place / f"{name}.image" for name in names}
    volatile = VolatileBytes(limit_bytes=2**30)
    specs = [DriveSpec(name, None, 400 * MIB, backing=image, volatile=volatile)
             for name, image in images.items()]  # fmt: skip
    drives = program.start(specs, place / "drives", hold_off_idle=False)
    made = []
    try:
        for name, device in drives.devices.items():
            (place / name).mkdir()
            filesystems.make(device, kind)
            filesystems.mount(device, place / name, kind)
            mounted = MountedDrive(drives.control, name, device, place / name, kind)
            made.append(Bench(mounted, images[name]))
        yield made
    finally:
        for each in made:
            filesystems.unmount(each.mounted.folder)
        drives.stop()


@contextmanager
def working(program: str, until: Path, *folders: Path) -> Iterator[Callable[[], list[int]]]:
    """A process that writes until the end of the block, which begins when there is `until`.

    Gives what tells its process id as long as it lives.
    """
    words = [sys.executable, "-c", program, *(str(folder) for folder in folders)]
    process = subprocess.Popen(words, cwd=folders[0])
    try:
        while not until.exists():
            time.sleep(0.01)
        yield lambda: [process.pid] if process.poll() is None else []
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["ext4", "xfs", "btrfs"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each file system of which the programs are there."""
    try:
        filesystems.need_tools(request.param)
    except PreconditionError as error:
        pytest.skip(str(error))
    return str(request.param)


def test_no_dirty_page_reaches_a_drive_after_the_cut(kind: str, disk_place: Path) -> None:
    """Under load the image is the same, byte for byte, from the stop until the power comes back.

    What was synced is there, what was only in memory is not, and the file system is clean.
    """
    digests: list[str] = []
    with benches(disk_place, kind, "disk") as [bench]:
        bench.write("synced", sync=True)
        folder = bench.mounted.folder
        with working(WRITER, folder / "20", folder) as pids:
            bench.write("unsynced", sync=False)

            def at_the_stop() -> list[int]:
                # Asked first when the drives have stopped and nothing is killed yet.
                digests.append("" if digests else bench.digest())
                return pids()

            [cut] = cut_power([bench.mounted], LOSE_ALL, at_the_stop)
            assert pids() == []
        assert bench.digest() == digests[0]
        assert cut.shut_down == (kind != "btrfs" or _knows_btrfs_shutdown())
        restore_power([bench.mounted])
        assert bench.holds("synced")
        assert not bench.holds("unsynced")
        assert check_file_system(bench.mounted).clean
        assert bench.holds("synced")


def test_a_torn_superblock_is_repaired(disk_place: Path) -> None:
    """The kernel mounts no ext4 without its checksum; the journal has what was synced."""
    with benches(disk_place, "ext4", "disk") as [bench]:
        bench.write("synced", sync=True)
        cut_power([bench.mounted], LOSE_ALL, list)
        with bench.image.open("r+b") as file:
            file.seek(1024 + 1020)
            file.write(b"torn")
        [text] = restore_power([bench.mounted])
        assert "FILE SYSTEM WAS MODIFIED" in text
        assert bench.holds("synced")
        assert check_file_system(bench.mounted).clean


def test_a_cut_of_two_drives_is_one_moment(disk_place: Path) -> None:
    """What was written to the second drive after the first had answered is never there alone."""
    with benches(disk_place, "ext4", "log", "data") as both:
        log, data = (each.mounted for each in both)
        files = [each.folder / "count" for each in (log, data)]
        for file in files:
            file.write_text("0" * 20)
            sync_filesystem(file)
        for _ in range(3):
            begun = log.folder / "20"
            begun.unlink(missing_ok=True)
            with working(COUNTER, begun, log.folder, data.folder) as pids:
                cut_power([log, data], LOSE_ALL, pids)
            restore_power([log, data])
            counted = [int(file.read_text()) for file in files]
            assert counted[0] - counted[1] in (0, 1)
            assert counted[0] >= 20


def _knows_btrfs_shutdown() -> bool:
    """Linux 6.19 and later."""
    major, minor = (int(part) for part in os.uname().release.split(".")[:2])
    return (major, minor) >= (6, 19)


class Forgetful(Control):
    """A control that says that the power is cut, and cuts nothing: a mistake to be found."""

    def set_fault(self, name: str, fault: jobs.AnyFault) -> AnswerPowerCut | None:
        """Do all but the cut."""
        if isinstance(fault, jobs.PowerCut):
            return AnswerPowerCut(kept=0, torn=0, lost=0)
        return super().set_fault(name, fault)


def test_a_cut_with_dirty_pages_is_caught(
    disk_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the counters, and by the image: both see what the unmounting wrote."""
    with benches(disk_place, "ext4", "disk") as [bench]:
        bench.write("unsynced", sync=False)
        wrong = replace(bench.mounted, control=Forgetful(bench.mounted.control.path))
        before = bench.digest()
        monkeypatch.setattr(power_cut, "shut_down", lambda folder: None)
        with pytest.raises(InfrastructureError, match="reached the drive after its power was cut"):
            cut_power([wrong], LOSE_ALL, list)
        monkeypatch.undo()
        assert bench.digest() != before


def test_the_order_of_a_plain_crash_is_no_power_cut(disk_place: Path) -> None:
    """The mistake of many test beds: kill, unmount, cut. What was never synced is there."""
    with benches(disk_place, "ext4", "disk") as [bench]:
        bench.write("unsynced", sync=False)
        filesystems.unmount(bench.mounted.folder)
        cut = jobs.PowerCut(seed=1, lost_share=1.0, torn_share=0.0, unit_bytes=512)
        bench.mounted.control.set_fault("disk", cut)
        restore_power([bench.mounted])
        assert bench.holds("unsynced")
