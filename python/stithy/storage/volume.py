"""What lies under a directory: its file system, its mount, its devices, the room that is left.

Read from /proc/self/mountinfo and statvfs; nothing is changed.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.storage.consent import may_empty
from stithy.storage.provider import Room, Volume

MEMORY_BACKED = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True)
class Mount:
    """One mounted file system, as the kernel tells it; `device` is its major:minor."""

    point: Path
    filesystem: str
    options: str
    source: str
    device: str


def mount_of(path: Path, proc: Path = Path("/proc")) -> Mount:
    """The mount that `path` (or, where it is missing, its nearest existing parent) lies on."""
    real = existing_part(path).resolve()
    best = Mount(Path("/"), "unknown", "", "", "")
    for mount in read_mounts(proc):
        # Of mounts on the same point the last one is what one sees.
        if real.is_relative_to(mount.point) and len(mount.point.parts) >= len(best.point.parts):
            best = mount
    return best


def read_mounts(proc: Path) -> list[Mount]:
    """All mounts, in the kernel's order."""
    found = []
    for line in (proc / "self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, source, special) = before.split(), after.split(maxsplit=2)
        options = ",".join(dict.fromkeys([*fields[5].split(","), *special.split(",")]))
        found.append(Mount(Path(_unescape(fields[4])), kind, options, source, fields[2]))
    return found


def _unescape(text: str) -> str:
    """Blanks and backslashes are written as octal numbers there."""
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape")


def existing_part(path: Path) -> Path:
    """`path`, or its nearest parent that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def describe(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Volume:
    """The volume that the directory `path` is."""
    mount = mount_of(path, proc)
    return Volume(
        path=path,
        filesystem=mount.filesystem,
        mount_point=mount.point,
        mount_options=mount.options,
        devices=devices_of(mount, sys),
        memory_backed=mount.filesystem in MEMORY_BACKED,
    )


def devices_of(mount: Mount, sys: Path = Path("/sys")) -> tuple[str, ...]:
    """Kernel names of the block devices right under a mount; empty where there are none."""
    link = sys / "dev/block" / mount.device
    if link.exists():
        return (link.resolve().name,)
    source = Path(mount.source)
    # btrfs and others show a device number of their own; their source names one of their devices.
    if source.is_absolute() and source.is_block_device():
        return (source.resolve().name,)
    return ()


def room_of(path: Path, proc: Path = Path("/proc")) -> Room:
    """How much can still be written below `path`, and what that is shared with."""
    mount = mount_of(path, proc)
    space = os.statvfs(existing_part(path))
    return Room(
        filesystem_id=f"{mount.device} {mount.point}",
        free_bytes=space.f_bavail * space.f_frsize,
        memory_backed=mount.filesystem in MEMORY_BACKED,
        mount_point=mount.point,
    )


def remove_own(directory: Path, names: Sequence[str], run_id: str) -> None:
    """Remove entries that Stithy put into `directory`, if the directory is this run's. Idempotent.

    Does nothing where the mark is missing or another run's. Never follows symbolic links.
    """
    if not may_empty(directory, run_id):
        return
    for name in names:
        remove_tree(directory / name)


def remove_tree(path: Path) -> None:
    """Remove a directory with all it holds, a file, or a link (not what it points to)."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.exists():
        shutil.rmtree(path)
