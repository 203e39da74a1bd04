"""A volume on emulated drives is mirrored to another drive by QEMU while files are written."""

import hashlib
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.clock import SystemClock
from stithy.drives import bridge
from stithy.drives.control import Control
from stithy.hosts.runner import LocalRunner
from stithy.scenarios.migration.way import Move, UnfinishedError
from stithy.scenarios.migration.ways.block_mirror import BlockMirror
from stithy.storage.provider import Role, Volume
from stithy.storage.providers.drive import DriveKeys, EmulatedStorage
from stithy.wire.drive.jobs import Gone
from support.arrays import MIB, Recorder, make_site, provisioned

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive, pytest.mark.needs_ceph]

FILES = 8


@contextmanager
def written(folder: Path) -> Iterator[dict[Path, str]]:
    """Inside, files are written and synced one after the other; afterwards their checksums."""
    sums, stop = dict[Path, str](), threading.Event()

    def write() -> None:
        for number in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            path, content = folder / f"file-{number % FILES}", os.urandom(2**18)
            with path.open("wb", buffering=0) as file:
                file.write(content)
                os.fsync(file.fileno())
            sums[path] = hashlib.sha256(content).hexdigest()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield sums
        writer.join(0.5)
    finally:
        stop.set()
        writer.join()


@contextmanager
def a_move(
    place: Path, filesystem: str, drive: str = "generic-nvme"
) -> Iterator[tuple[Move, Recorder]]:
    """Lend a move of a volume to a larger drive; what a run of Stithy gives it is made up."""
    sizes: dict[Role, str] = {"data": "640 MiB", "target": "704 MiB"}
    drives = {
        role: DriveKeys.model_validate(
            {"drive": drive, "layer": {"qemu": {}}, "filesystem": filesystem, "size": size}
        )
        for role, size in sizes.items()
    }  # fmt: skip
    session = SimpleNamespace(
        stop=SimpleNamespace(check=lambda: None, asked=threading.Event()),
        clock=SystemClock(), host=SimpleNamespace(runner=LocalRunner()),
    )  # fmt: skip
    context: Any = SimpleNamespace(session=session, volumes=SimpleNamespace(moved=set()))
    window: Any = SimpleNamespace(id="w", candidate="a")
    storage = EmulatedStorage(drives, "a", make_site(place, needed_bytes=MIB))
    storage.check()
    with provisioned(storage) as (volume, recorder):
        yield Move(context, window, volume, volume.get_part("target"), 1e12), recorder


def read_back(volume: Volume) -> dict[Path, str]:
    """The checksums of all files, from the drive."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    files = volume.path.glob("file-*")
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(("filesystem", "damaged"), [("ext4", 0), ("btrfs", 1)])
def test_a_volume_moves_below_its_users(place: Path, filesystem: str, damaged: int) -> None:
    """All files are at the target as they were written, also once the source has gone.

    Blocks are equal but for those written since, and one that is not is found.
    """
    way = BlockMirror()
    with a_move(place, filesystem) as (of, recorder):
        with written(of.source.path) as sums:
            way.move(of)
        drive = of.source.emulated[0]
        assert (of.moved_bytes or 0) >= drive.size_bytes
        assert 0 < (of.ended_s or 0) - of.marks[-1][1] < 10
        if damaged:
            with Path(drive.device).open("r+b", buffering=0) as device:
                device.seek(-4096, os.SEEK_END)
                device.write(os.urandom(4096))
                os.fsync(device.fileno())
        assert way.count_damage(of) == damaged
        Control(drive.control).set_fault(drive.name, Gone())
        assert len(sums) == FILES
        assert read_back(of.source) == sums
        folders = [Path(each.facts["folder"]) for each in recorder.resources
                   if each.kind == "bridge"]  # fmt: skip
        assert [folder.exists() for folder in folders] == [True, False]
    assert not any(folder.exists() or bridge.list_loops(folder / "device") for folder in folders)


def test_a_mirror_that_is_cancelled_leaves_the_source(place: Path) -> None:
    """Users go on there, and nothing of the mirror reaches the target any more."""
    with a_move(place, "ext4", "generic-7200") as (of, _):
        of.ends_s = of.context.session.clock.now_s() + 1  # the copy takes four
        with written(of.source.path) as sums, pytest.raises(UnfinishedError):
            BlockMirror().move(of)
        drive = of.target.emulated[0]
        Control(drive.control).set_fault(drive.name, Gone())
        assert read_back(of.source) == sums
