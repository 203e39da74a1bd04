"""A cluster is removed: from the block device down to the network, whatever of it is there."""

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from stithy.cluster import daemons, network
from stithy.cluster.layout import read_entry
from stithy.cluster.tools import tool
from stithy.hosts.processes import end, pids_within
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


def detach(folder: Path) -> None:
    """Take the block device of the folder's image away. Idempotent."""
    file = folder / "device"
    for device in _loops(file):
        LocalRunner().run(Command(argv=[tool("losetup"), "-d", device]), timeout_s=30)
    if os.path.lexists(file) and _is_mounted(file):
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
