"""What lies under a directory, and which directories of this machine are open to a candidate.

File system, mount, devices and room are read from the mount table and statvfs; nothing is made.
Removing what Stithy put there is here too; consent is not. Not open is what a database cannot live
on, what is read-only, what this user may not use or the user of the server not enter, and what
emulated drives have mounted.
"""

import errno
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.devices import Mount, find_mount, list_devices_under, list_mounts
from stithy.hosts.facts import read_storage_facts
from stithy.results.manifest import Fact
from stithy.storage.consent import may_empty, may_use
from stithy.storage.provider import Room, Volume
from stithy.units import format_size

MEMORY_BACKED = frozenset({"tmpfs", "ramfs"})


def find_existing_part(path: Path) -> Path:
    """`path`, or its nearest parent that exists."""
    return next(parent for parent in (path, *path.parents) if os.path.exists(parent))


def describe(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Volume:
    """The volume that the directory `path` is."""
    mount = find_mount(path, proc)
    return Volume(
        path=path,
        filesystem=mount.kind,
        mount_point=mount.point,
        mount_options=mount.options,
        devices=list_devices_under(path, proc, sys),
        memory_backed=mount.kind in MEMORY_BACKED,
    )


def list_volume_facts(
    volume: Volume, proc: Path = Path("/proc"), sys: Path = Path("/sys")
) -> dict[str, Fact]:
    """Facts of what a candidate's volume is on, as `storage_facts` tells them.

    Devices under the volumes of other roles are `role.log.devices` and `role.log.device.…`. What is
    emulated says more of itself.
    """
    found = read_storage_facts(volume.path, proc, sys, volume.devices)
    for role, part in volume.others.items():
        if not part.emulated:
            known = read_storage_facts(part.path, proc, sys, part.devices)
            own = [name for name in known if name == "devices" or name.startswith("device.")]
            found |= {f"role.{role}.{name}": known[name] for name in own}
    return found


def measure_room(path: Path, proc: Path = Path("/proc")) -> Room:
    """How much can still be written below `path`, and what that is shared with."""
    there = find_existing_part(path)
    mount = find_mount(there, proc)
    space = os.statvfs(there)
    return Room(
        filesystem_id=mount.number,
        free_bytes=space.f_bavail * space.f_frsize,
        memory_backed=mount.kind in MEMORY_BACKED,
        mount_point=mount.point,
    )


def describe_storage(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> str:
    """The file system that holds `path`, where it is mounted, and the devices under it.

    Without their names, which change from boot to boot.
    """
    facts = {name: fact.value for name, fact in read_storage_facts(path, proc, sys).items()}
    names = facts["devices"]
    devices = [_find_device(facts, name) for name in (names if isinstance(names, tuple) else ())]
    under = f" on {', '.join(devices)}" if devices else ""
    return f"{facts['filesystem']} at {facts['mount_point']}{under}"


def _find_device(facts: Mapping[str, object], name: object) -> str:
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
        for mount in list_mounts(proc):
            if mount.point.is_relative_to(path.resolve()):
                what = f"something is mounted inside, at {mount.point}"
                raise OSError(errno.EBUSY, what, str(path))
        shutil.rmtree(path)


OPEN_NAME = "stithy"
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
    for mount in list_mounts(proc):
        if _has_files(mount) and (place := _place_on(mount, proc, home)):
            # Two mounts of one file system are one place, and so are two subvolumes of a btrfs.
            found.setdefault(place.devices or place.filesystem_id, place)
    return tuple(sorted(found.values(), key=lambda each: (each.memory_backed, -each.free_bytes)))


def _has_files(mount: Mount) -> bool:
    if any(str(mount.point).startswith(str(place)) for place in SYSTEM):
        return False
    if mount.kind in MEMORY_BACKED:
        return mount.point == SHARED_MEMORY
    if mount.kind in WITHOUT_OWNERS:
        return False
    has_device = Path("/sys/dev/block", mount.number).exists()
    return has_device or mount.kind in WITHOUT_DEVICE or mount.kind.startswith("fuse.")


def _place_on(mount: Mount, proc: Path, home: Path | None) -> OpenPlace | None:
    """The first directory on a mount that may be used; None where none may."""
    usual = [Path("/var/tmp"), Path("/tmp"), *([home] if home else [])]
    own = [] if mount.point == Path("/") else [mount.point]
    for folder in (*own, *usual):
        path = folder / OPEN_NAME
        is_on_it = os.path.isdir(folder) and find_mount(folder, proc).point == mount.point
        if is_on_it and _is_open(path):
            room = measure_room(path, proc)
            return OpenPlace(
                path=path,
                mount_point=mount.point,
                filesystem=mount.kind,
                filesystem_id=room.filesystem_id,
                free_bytes=room.free_bytes or 0,
                memory_backed=room.memory_backed,
                devices=list_devices_under(folder, proc),
            )
    return None


def _is_open(path: Path) -> bool:
    try:
        may_use(path, str(path))
    except (PreconditionError, OSError):
        return False
    # The server's own user, where Stithy is root, must be able to go through all of them.
    return os.geteuid() != 0 or all(each.stat().st_mode & stat.S_IXOTH for each in path.parents)
