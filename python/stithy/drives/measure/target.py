"""What a person names as TARGET, and what the machine tells of it; nothing is opened for writing.

A device is read as it is. A file is read, and must have been written from end to end. In a
directory a scratch file without a name is measured: whatever happens, nothing is left of it.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from stithy.drives.measure.measurement import TargetFacts, WriteCache
from stithy.errors import PreconditionError, UserError, give_reason
from stithy.hosts.devices import devices_under, mount_of, mounts, text_of, whole_disk
from stithy.units import format_size

SPARE_SHARE = 0.05
"""Share of a file system that is never taken: a full one is slow, and a trouble to others."""


@contextmanager
def scratch_file(directory: Path, size_bytes: int) -> Iterator[str]:
    """A path by which this process's children open a nameless file of `size_bytes`.

    Raises PreconditionError where there is no room or no right to write.
    """
    need_room(directory, size_bytes)
    try:
        # It goes with this process, also when that is killed.
        made = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 closed below
    except OSError as error:
        raise PreconditionError(
            f"no file can be made there: {give_reason(error)}",
            where=str(directory),
            remedy="name a directory that this user may write to",
        ) from error
    with made as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        except OSError as error:
            raise PreconditionError(
                f"a scratch file of {format_size(size_bytes)} cannot be made: {give_reason(error)}",
                where=str(directory),
                remedy="give a smaller --size, or make room",
            ) from error
        yield f"/proc/{os.getpid()}/fd/{file.fileno()}"


def need_room(directory: Path, size_bytes: int) -> None:
    """Raise PreconditionError where `size_bytes` would not leave a share of the room free."""
    space = os.statvfs(directory)
    free_bytes = space.f_bavail * space.f_frsize
    spare_bytes = SPARE_SHARE * space.f_blocks * space.f_frsize
    if size_bytes > free_bytes - spare_bytes:
        raise PreconditionError(
            f"a scratch file of {format_size(size_bytes)} does not fit: "
            f"{format_size(free_bytes)} are free, of which {format_size(spare_bytes)} stay free",
            where=str(directory),
            remedy="give a smaller --size, or make room",
        )


IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
SPAN_BYTES_LEAST = 64 * 2**20
SECTOR_BYTES = 512
"""The unit of `size` in /sys, whatever the device's own sectors are.
Source: block/genhd.c of the kernel."""


@dataclass(frozen=True)
class Target:
    """A target as it was found; `device` is the lowest one under it, None where there is none.

    `size_bytes` is of the device or file; of a directory's file system.
    """

    path: Path
    kind: Literal["device", "file", "directory"]
    size_bytes: int
    device: str | None
    file_system: str | None
    mounted_at: Path | None


def inspect(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Target:
    """What `path` is. Raises UserError or PreconditionError for what cannot be measured."""
    try:
        found = path.stat()
    except OSError as error:
        raise UserError(
            f"there is no such target: {give_reason(error)}",
            where=str(path),
            remedy="name a block device such as /dev/nvme0n1, a file, or a directory",
        ) from error
    if stat.S_ISBLK(found.st_mode):
        return _find_device(path.resolve(), proc, sys)
    if stat.S_ISREG(found.st_mode):
        _need_written(path, found.st_size)
        return _on_file_system(path, "file", found.st_size, proc, sys)
    if stat.S_ISDIR(found.st_mode):
        space = os.statvfs(path)
        return _on_file_system(path, "directory", space.f_blocks * space.f_frsize, proc, sys)
    raise UserError(
        "it is neither a block device nor a file nor a directory",
        where=str(path),
        remedy="name a block device such as /dev/nvme0n1, a file, or a directory",
    )


def _find_device(path: Path, proc: Path, sys: Path) -> Target:
    place = sys / "class" / "block" / path.name
    size_bytes = int(text_of(place / "size") or 0) * SECTOR_BYTES
    if size_bytes < SPAN_BYTES_LEAST:
        raise PreconditionError(
            f"it holds {size_bytes} bytes: too little to measure",
            where=str(path),
            remedy="name a device with a medium in it",
        )
    if not os.access(path, os.R_OK):
        raise PreconditionError(
            "this user may not read it", where=str(path), remedy="run as root, with sudo"
        )
    number = text_of(place / "dev")
    mounted = next((each.point for each in mounts(proc) if each.number == number), None)
    return Target(path, "device", size_bytes, path.name, None, mounted)


def _on_file_system(
    path: Path, kind: Literal["file", "directory"], size_bytes: int, proc: Path, sys: Path
) -> Target:
    mount = mount_of(path, proc)
    if mount.kind in IN_MEMORY:
        raise PreconditionError(
            f"it is in memory ({mount.kind}), not on a drive",
            where=str(path),
            remedy="name a place on a drive, such as a directory in /var/tmp",
        )
    under = devices_under(path, proc, sys)
    return Target(path, kind, size_bytes, under[-1] if under else None, mount.kind, mount.point)


def _need_written(path: Path, size_bytes: int) -> None:
    """Raise where parts of a file were never written: they are read from nowhere, and at once."""
    if size_bytes < SPAN_BYTES_LEAST:
        raise PreconditionError(
            f"it holds {size_bytes} bytes: too little to measure",
            where=str(path),
            remedy=f"name a file of at least {SPAN_BYTES_LEAST // 2**20} MiB, or a directory",
        )
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise PreconditionError(
            f"it cannot be read: {give_reason(error)}",
            where=str(path),
            remedy="name a file that this user may read, or use sudo",
        ) from error
    try:
        hole = os.lseek(handle, 0, os.SEEK_HOLE)
    finally:
        os.close(handle)
    if hole < size_bytes:
        raise PreconditionError(
            f"it was never written at byte {hole}, so reading it would not reach the device",
            where=str(path),
            remedy="name a file that was written from end to end, or a directory",
        )


def facts(
    target: Target, span_bytes: int, proc: Path = Path("/proc"), sys: Path = Path("/sys")
) -> TargetFacts:
    """What is kept of a target; what the machine does not tell is None."""
    queue = whole_disk(sys / "class" / "block" / (target.device or "-")) / "queue"
    shown = text_of(queue / "write_cache")
    rotates = text_of(queue / "rotational")
    return TargetFacts(
        kind=target.kind,
        name=target.device or target.path.name,
        model=text_of(queue.parent / "device" / "model") or None,
        size_bytes=target.size_bytes,
        span_bytes=span_bytes,
        file_system=target.file_system,
        rotates=rotates == "1" if rotates else None,
        write_cache=next((each for each in get_args(WriteCache) if each == shown), None),
        in_virtual_machine=" hypervisor" in text_of(proc / "cpuinfo"),
    )
