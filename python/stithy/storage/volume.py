"""What lies under a directory: its file system, its mount, its devices, the room that is left.

Read from the mount table and statvfs. Removing what Stithy put there is here too; consent is not.
"""

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.hosts.devices import devices_under, mount_of, mounts
from stithy.hosts.facts import storage_facts
from stithy.storage.consent import may_empty
from stithy.storage.provider import Room, Volume
from stithy.units import format_size

MEMORY_BACKED = frozenset({"tmpfs", "ramfs"})


def existing_part(path: Path) -> Path:
    """`path`, or its nearest parent that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def describe(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Volume:
    """The volume that the directory `path` is."""
    mount = mount_of(path, proc)
    return Volume(
        path=path,
        filesystem=mount.kind,
        mount_point=mount.point,
        mount_options=mount.options,
        devices=devices_under(path, proc, sys),
        memory_backed=mount.kind in MEMORY_BACKED,
    )


def room_of(path: Path, proc: Path = Path("/proc")) -> Room:
    """How much can still be written below `path`, and what that is shared with."""
    there = existing_part(path)
    mount = mount_of(there, proc)
    space = os.statvfs(there)
    return Room(
        filesystem_id=mount.number,
        free_bytes=space.f_bavail * space.f_frsize,
        memory_backed=mount.kind in MEMORY_BACKED,
        mount_point=mount.point,
    )


def storage_in_words(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> str:
    """The file system that holds `path`, where it is mounted, and the devices under it.

    Without their names, which change from boot to boot.
    """
    facts = {name: fact.value for name, fact in storage_facts(path, proc, sys).items()}
    names = facts["devices"]
    devices = [_device(facts, name) for name in (names if isinstance(names, tuple) else ())]
    under = f" on {', '.join(devices)}" if devices else ""
    return f"{facts['filesystem']} at {facts['mount_point']}{under}"


def _device(facts: Mapping[str, object], name: object) -> str:
    size = facts[f"device.{name}.size_bytes"]
    text = str(facts[f"device.{name}.model"] or "a device")
    return f"{text} of {format_size(size)}" if isinstance(size, int) else text


def remove_own(directory: Path, names: Sequence[str], run_id: str) -> None:
    """Remove entries that Stithy put into `directory`, if the directory is this run's. Idempotent.

    Does nothing where the mark is missing or another run's. Never follows symbolic links.
    """
    if not may_empty(directory, run_id):
        return
    for name in names:
        remove_tree(directory / name)


def remove_tree(path: Path, proc: Path = Path("/proc")) -> None:
    """Remove a directory with all it holds, a file, or a link (not what it points to).

    Raises OSError, and removes nothing, where something is mounted inside: that is not Stithy's.
    """
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.exists():
        if (foreign := mounted_inside(path, proc)) is not None:
            raise OSError(errno.EBUSY, f"something is mounted inside, at {foreign}", str(path))
        shutil.rmtree(path)


def mounted_inside(path: Path, proc: Path = Path("/proc")) -> Path | None:
    """A mount point at or below `path`; None where there is none."""
    real = path.resolve()
    points = (mount.point for mount in mounts(proc))
    return next((point for point in points if point.is_relative_to(real)), None)
