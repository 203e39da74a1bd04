"""A cluster is removed: from the block device down to the daemons, whatever of it is there."""

import shutil
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from stithy.cluster import daemons
from stithy.cluster.image import devices as list_devices
from stithy.cluster.image import unmap
from stithy.cluster.layout import ENTRY, IMAGE, Entry, all_folders, read_entry
from stithy.cluster.tools import PACKAGES, Access, tool
from stithy.errors import InfrastructureError
from stithy.hosts.devices import mounts, text_of
from stithy.hosts.processes import DELETED, end, pids_inside, pids_within, programs_of, wake
from stithy.hosts.runner import Command, LocalRunner

BLOCK = Path("/sys/block")
ANSWER_S = 10.0
PLACE_PREFIX = "stithy-drives-"
"""How the names of folders begin in which volumes are mounted."""

IMAGE_PROGRAMS = ("qemu-storage-daemon", "nbdfuse")


def remove(folder: Path) -> None:
    """End and remove all that belongs to the cluster in `folder`. Idempotent.

    It may have no entry, or be gone already. Its data are lost: nothing is shut down in order, but
    what the kernel holds is let go first.
    """
    entry, folder = read_entry(folder), folder.resolve()
    tags = {tag for tag, of in daemons.tags().items() if of == folder}
    if entry is not None:
        tags.add(entry.tag)
    wake(pids_of(folder))  # one that a fault holds could not answer the last requests
    images = {f"{IMAGE}-{tag}" for tag in tags} | ({entry.image} if entry else set())
    detach(folder, images)
    if entry is not None and entry.access:  # it says goodbye to a cluster that goes on
        end(pids_inside(folder, IMAGE_PROGRAMS[0]), signal.SIGTERM)
    end(pids_of(folder), signal.SIGKILL)
    daemons.reap()
    for tag in tags:
        daemons.remove(tag)
    _forget(folder)


def is_alive(folder: Path) -> bool:
    """Whether the cluster's monitor, or what serves its image, is there."""
    return any(pids_inside(folder, each) for each in ("ceph-mon", *IMAGE_PROGRAMS))


def pids_of(folder: Path) -> list[int]:
    """All processes of the cluster, also where its folder was deleted under them.

    A person's shell may work there, too: whatever is no program of a cluster is left alone.
    """
    within = [*pids_within(folder), *pids_within(Path(f"{folder}{DELETED}"))]
    return [pid for pid in within if not PACKAGES.keys().isdisjoint(programs_of(pid))]


def _forget(folder: Path) -> None:
    """Remove the folder, its entry last: whoever is killed meanwhile leaves what can be found."""
    with suppress(FileNotFoundError):
        for each in folder.iterdir():
            if each.name != ENTRY:
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
        shutil.rmtree(folder)


def serving(device: str) -> Path | None:
    """The folder of the cluster whose image is this block device."""
    name = Path(device).name
    if backing := text_of(BLOCK / name / "loop/backing_file"):
        folder = Path(backing).parent
        return folder if read_entry(folder) is not None else None
    for folder in all_folders():
        if (entry := read_entry(folder)) and device in dict(list_devices(entry.image)).values():
            return folder
    return None


def unblock(folder: Path) -> None:
    """End what would hold requests of the image back for ever; to be called before unmounting.

    Where an OSD does not serve, the image is cut off: its requests then fail at once.
    """
    wake(pids_of(folder))
    entry = read_entry(folder)
    if entry is None or not _answers(folder, entry):
        for program in IMAGE_PROGRAMS:
            end(pids_inside(folder, program), signal.SIGKILL)
        if entry is not None:
            unmap(entry.image)


def _answers(folder: Path, entry: Entry) -> bool:
    """Whether requests of the image are served now."""
    if entry.access:
        words = Access(**entry.access).rbd("ls", entry.pool)
        with suppress(InfrastructureError):
            return LocalRunner().run(Command(argv=words), timeout_s=ANSWER_S).code == 0
        return False
    if not daemons.all_plugged(entry):
        return False
    return all(daemons.serves(folder, osd) for osd, _ in entry.osds)


def detach(folder: Path, images: Iterable[str]) -> None:
    """Take the block devices of these images of the folder away. Idempotent."""
    for image in images:
        for _, device in list_devices(image):
            _unmount_all(device)
        unmap(image)
    file = folder / "device"
    for device in loops(file):
        _unmount_all(device)
        LocalRunner().run(Command(argv=[tool("losetup"), "-d", device]), timeout_s=30)
    if any(file in (Path(mount.source), mount.point) for mount in mounts()):
        _unmount(file)


def _unmount_all(device: str) -> None:
    """Unmount a device everywhere; a mount point in a folder of Stithy's own goes with it."""
    for each in [mount for mount in mounts() if mount.source == device]:
        _unmount(each.point)
        if each.point.parent.name.startswith(PLACE_PREFIX):
            with suppress(OSError):  # whatever else is in it is somebody's
                each.point.rmdir()
                each.point.parent.rmdir()


def _unmount(point: Path) -> None:
    """Without waiting: what lies below may not answer any more."""
    LocalRunner().run(Command(argv=[tool("umount"), "--lazy", str(point)]), timeout_s=30)


def loops(file: Path) -> list[str]:
    """The block devices that a file is, by what the kernel says."""
    files = BLOCK.glob("loop*/loop/backing_file")
    own = [each for each in files if text_of(each) == str(file)]
    return [f"/dev/{each.parent.parent.name}" for each in own]
