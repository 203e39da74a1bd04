"""A cluster is removed: from the block device down to the network, whatever of it is there."""

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from stithy.cluster import admin, daemons, network
from stithy.cluster.layout import read_entry
from stithy.cluster.tools import tool
from stithy.hosts.processes import end, pids_inside, pids_within
from stithy.hosts.runner import Command, LocalRunner

BLOCK = Path("/sys/block")


def remove(folder: Path) -> None:
    """End and remove all that belongs to the cluster in `folder`. Idempotent.

    Its data are lost: nothing is shut down in order, but what the kernel holds is let go first.
    """
    entry = read_entry(folder)
    if entry is None:
        return
    for pid in pids_within(folder):  # one that a fault holds could not answer the last requests
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    detach(folder)
    end(pids_within(folder), signal.SIGKILL)
    daemons.reap()
    network.remove(entry)
    shutil.rmtree(folder, ignore_errors=True)


def serving(device: str) -> Path | None:
    """The folder of the cluster whose image is this block device."""
    name = Path(device).name
    with suppress(OSError):
        folder = Path((BLOCK / name / "loop/backing_file").read_text().strip()).parent
        return folder if read_entry(folder) is not None else None
    return None


def unblock(folder: Path) -> None:
    """End what would hold requests of the image back for ever; to be called before unmounting.

    Where an OSD does not serve, the image is cut off: its requests then fail at once.
    """
    processes = pids_within(folder)
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    entry = read_entry(folder)
    osds = [f"osd.{osd}" for osd, _ in entry.osds] if entry else []
    if entry is not None and not network.all_plugged(entry):
        osds = []
    states = [admin.try_ask(folder, osd, "status") for osd in osds]
    if not states or any(each is None or each.get("state") != "active" for each in states):
        for program in ("qemu-storage-daemon", "nbdfuse"):
            end(pids_inside(folder, program), signal.SIGKILL)


def detach(folder: Path) -> None:
    """Take the block device of the folder's image away. Idempotent."""
    file = folder / "device"
    for device in _loops(file):
        LocalRunner().run(Command(argv=[tool("losetup"), "-d", device]), timeout_s=30)
    if _is_mounted(file):
        LocalRunner().run(Command(argv=[tool("umount"), "--lazy", str(file)]), timeout_s=30)


def _loops(file: Path) -> list[str]:
    found = []
    for each in BLOCK.glob("loop*/loop/backing_file"):
        with suppress(OSError):
            if each.read_text().strip() == str(file):
                found.append(f"/dev/{each.parent.parent.name}")
    return found


def _is_mounted(file: Path) -> bool:
    return f" {file} " in Path("/proc/self/mountinfo").read_text()
