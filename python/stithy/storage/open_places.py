"""Which places of this machine are open to a candidate: one directory a file system with room.

Nothing is made. Left out is what a database cannot live on, what is read-only, what this user may
not use or the server's user not enter, and what emulated drives have mounted.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.devices import Mount, devices_under, mount_of, mounts
from stithy.storage.consent import may_use
from stithy.storage.volume import MEMORY_BACKED, room_of

NAME = "stithy"
SHARED_MEMORY = Path("/dev/shm")
WITHOUT_OWNERS = frozenset({"vfat", "msdos", "exfat", "ntfs", "ntfs3", "iso9660", "udf"})
"""A database server wants files of its own that nobody else may read."""

WITHOUT_DEVICE = frozenset(
    {"overlay", "btrfs", "zfs", "nfs", "nfs4", "cifs", "smb3", "ceph", "virtiofs", "9p", "lustre"}
)
"""Kinds that hold files though no block device has their number. FUSE's are recognised by name."""

SYSTEM = tuple(map(Path, ("/boot", "/efi", "/proc", "/sys", "/snap", "/run/stithy-drives-")))


@dataclass(frozen=True)
class OpenPlace:
    """A directory that a candidate may have; it is made when the candidate is.

    `filesystem_id` as in `provider.Room`; `devices` are those under it, by kernel name.
    """

    path: Path
    mount_point: Path
    filesystem: str
    filesystem_id: str
    free_bytes: int
    memory_backed: bool
    devices: tuple[str, ...]


def open_places(proc: Path = Path("/proc"), home: Path | None = None) -> tuple[OpenPlace, ...]:
    """One place a file system, most room first, memory last; `home` is tried for it as well."""
    found: dict[object, OpenPlace] = {}
    for mount in mounts(proc):
        if _holds_files(mount) and (place := _place_on(mount, proc, home)):
            # Two mounts of one file system are one place, and so are two subvolumes of a btrfs.
            found.setdefault(place.devices or place.filesystem_id, place)
    return tuple(sorted(found.values(), key=lambda each: (each.memory_backed, -each.free_bytes)))


def _holds_files(mount: Mount) -> bool:
    if any(str(mount.point).startswith(str(each)) for each in SYSTEM):
        return False
    if mount.kind in MEMORY_BACKED:
        return mount.point == SHARED_MEMORY
    if mount.kind in WITHOUT_OWNERS:
        return False
    has_device = Path("/sys/dev/block", mount.number).exists()
    return has_device or mount.kind in WITHOUT_DEVICE or mount.kind.startswith("fuse.")


def _place_on(mount: Mount, proc: Path, home: Path | None) -> OpenPlace | None:
    """The first directory on a mount that may be used; None where none may."""
    for folder in _folders(mount, proc, home):
        path = folder / NAME
        if _is_open(path):
            room = room_of(path, proc)
            return OpenPlace(
                path=path,
                mount_point=mount.point,
                filesystem=mount.kind,
                filesystem_id=room.filesystem_id,
                free_bytes=room.free_bytes or 0,
                memory_backed=room.memory_backed,
                devices=devices_under(folder, proc),
            )
    return None


def _folders(mount: Mount, proc: Path, home: Path | None) -> Iterator[Path]:
    """Directories on the mount, best first: of the root's file system not the root itself."""
    usual = [Path("/var/tmp"), Path("/tmp"), *([home] if home else [])]
    own = [] if mount.point == Path("/") else [mount.point]
    for folder in (*own, *usual):
        if folder.is_dir() and mount_of(folder, proc).point == mount.point:
            yield folder


def _is_open(path: Path) -> bool:
    try:
        may_use(path, str(path))
    except (PreconditionError, OSError):
        return False
    return os.geteuid() != 0 or all(_may_be_entered(each) for each in path.parents)


def _may_be_entered(folder: Path) -> bool:
    """Whether a user without rights may go through it: the server's own, where Stithy is root."""
    return bool(folder.stat().st_mode & stat.S_IXOTH)
