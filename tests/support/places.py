"""Directories in which real servers of tests may work."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOM_BYTES = 4 * 2**30
DISK = Path("/var/tmp")
LEAVE_DRIVES = (
    """for at in $(awk '$1 ~ "^/dev/loop" {print $2}' /proc/mounts); do umount -l "$at"; done; """
)
"""In a new mount namespace, whose copies of mounts would hold the drives of other tests."""


def quick_parent() -> Path:
    """Where directories for tests go: memory where there is room, because disks are slow."""
    memory = Path("/dev/shm")
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_BYTES:
        return memory
    return DISK


@contextmanager
def a_place(parent: Path | None = None) -> Iterator[Path]:
    """A new directory that the server's user can reach, as pytest's own cannot; then removed."""
    path = Path(tempfile.mkdtemp(prefix="stithy-test-", dir=parent or quick_parent()))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)
