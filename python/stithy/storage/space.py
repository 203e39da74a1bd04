"""The space of a volume: what its files hold, what drives hold for that, and what lies between.

From the files outwards: their lengths (logical), without holes (written), after compression
(stored), and with all copies, parity and the file system's own data on all drives (physical). A
file system that compresses or keeps copies reads its own books: the layer that is this file system
has a `usage(mount_point, runner)`. A layer that compresses below a file system has a
`usage_below(device, redundancy, runner)`. Copies that lie below what this machine sees, in a RAID
controller or another host, are the provider's to add.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stithy.errors import InfrastructureError
from stithy.hosts.devices import find_mount
from stithy.hosts.runner import Command, Runner
from stithy.registry import plugins
from stithy.storage.copy import sync_filesystem
from stithy.storage.layer import LayerKind
from stithy.storage.provider import Volume

BLOCK_BYTES = 512
"""The unit of `st_blocks`. Source: stat(2)."""

SHARED = "other files lie on this file system, and its books do not tell them apart"


@dataclass(frozen=True)
class Usage:
    """What the books of a file system, or of a layer below it, say of all its files.

    `stored_bytes`: one copy of their data, compressed. `physical_bytes`: all copies, parity and the
    file system's own data, on all drives. `redundancy`: bytes on drives for a byte of data.
    `written_bytes`: their data before compression; None where the blocks of each file say that.
    """

    stored_bytes: int
    physical_bytes: int
    redundancy: float
    written_bytes: int | None = None


@dataclass(frozen=True)
class Space:
    """The space that a volume takes now; None where `missing` says why.

    `logical_bytes`: lengths of all files; `written_bytes`: without their holes, before compression.
    `stored_bytes`: one copy, after compression and deduplication. `physical_bytes`: on all drives.
    `redundancy`: bytes on drives for a byte stored. `provisioned_bytes`: what is set aside for the
    volume, or promised to it; `allocated_bytes`: what of the storage is taken by it now, all that
    is provisioned unless the storage is thin. `below`: something below the file system compresses,
    and does not tell files apart. `log_written_bytes` and `log_stored_bytes`: what of it is the
    database's write-ahead log, whose files are used again, zeroed or half full.
    `native_reduction`: bytes of the database's pages for a byte of its files, where it compresses.
    """

    logical_bytes: int
    written_bytes: int
    stored_bytes: int | None = None
    physical_bytes: int | None = None
    redundancy: float | None = None
    provisioned_bytes: int | None = None
    allocated_bytes: int | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    below: bool = False
    log_written_bytes: int = 0
    log_stored_bytes: int | None = 0
    native_reduction: float | None = None

    @property
    def reduction(self) -> float | None:
        """Bytes written for a byte stored: by how much compression and the like shrink them.

        Of all but the write-ahead log: what was zeroed would count as what compresses well.
        """
        if self.stored_bytes is None or self.log_stored_bytes is None:
            return None
        stored = self.stored_bytes - self.log_stored_bytes
        return (self.written_bytes - self.log_written_bytes) / stored if stored > 0 else None

    @property
    def thin(self) -> bool | None:
        """Whether the storage holds less for the volume than it promised."""
        if self.provisioned_bytes is None or self.allocated_bytes is None:
            return None
        return self.allocated_bytes < self.provisioned_bytes


def measure_files(folder: Path) -> tuple[int, int]:
    """Lengths of all files below a folder, and what of them is written; a hard link counts once.

    A file that goes meanwhile counts nothing. Mounts inside are not entered.
    """
    logical, written, seen = 0, 0, set()
    device = folder.lstat().st_dev
    todo = [folder]
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.is_dir(follow_symlinks=False):
                if status.st_dev == device:
                    todo.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and status.st_ino not in seen:
                seen.add(status.st_ino)
                logical += status.st_size
                written += status.st_blocks * BLOCK_BYTES
    return logical, written


def measure_space(
    volume: Volume, runner: Runner, *, devices_bytes: Sequence[int] | None = None
) -> Space:
    """The space of a volume with a file system, or of a directory.

    `devices_bytes`: sizes of the devices that are this volume's alone; None where its file system
    is not its own. It is synced before: what is not on drives yet is in nobody's books.
    """
    sync_filesystem(volume.path)
    logical, written = measure_files(volume.path)
    if devices_bytes is None:
        return _measure_directory(logical, written, _find_books(volume.filesystem), volume)
    below = plugins(LayerKind).get(volume.array.layer) if volume.array else None
    below = below if below and below.usage_below else None
    if below is not None:
        give_back(volume.mount_point, runner)
    used = _read_usage(volume, written, below, runner)
    provisioned = sum(devices_bytes)
    return Space(
        logical, written if used.written_bytes is None else used.written_bytes, used.stored_bytes,
        used.physical_bytes, used.redundancy, provisioned_bytes=provisioned,
        allocated_bytes=provisioned, below=below is not None,
    )  # fmt: skip


def _read_usage(volume: Volume, written: int, below: LayerKind | None, runner: Runner) -> Usage:
    """By the books of the file system or of the layer below it; else by what its files have."""
    redundancy = volume.array.redundancy if volume.array else 1.0
    if (module := _find_books(volume.filesystem)) is not None and module.usage is not None:
        return module.usage(volume.mount_point, runner)
    if below is not None and below.usage_below is not None:
        return below.usage_below(find_mount(volume.mount_point).source, redundancy, runner)
    books = os.statvfs(volume.mount_point)
    taken_bytes = (books.f_blocks - books.f_bfree) * books.f_frsize
    return Usage(written, round(taken_bytes * redundancy), redundancy)


def give_back(mount_point: Path, runner: Runner) -> None:
    """Discard what no file uses any more: thin storage holds it until it is told.

    A journal lets go of blocks only when it is written.
    """
    sync_filesystem(mount_point)
    finished = runner.run(Command(argv=("fstrim", str(mount_point))))
    if finished.code != 0:
        raise InfrastructureError(
            f"its free blocks cannot be given back: {finished.stderr.strip() or 'fstrim failed'}",
            where=str(mount_point),
            remedy=f"try it by hand, as root: fstrim {mount_point}",
        )


def _measure_directory(
    logical: int, written: int, module: LayerKind | None, volume: Volume
) -> Space:
    missing = {"provisioned_bytes": SHARED, "allocated_bytes": SHARED}
    if module is not None or volume.memory_backed:
        why = SHARED if module is not None else "its pages are memory"
        missing |= dict.fromkeys(("stored_bytes", "physical_bytes", "redundancy"), why)
        return Space(logical, written, missing=missing)
    return Space(logical, written, written, written, 1.0, missing=missing)


def drop_figures(space: Space, why: str, *names: str) -> Space:
    """The same without these, and why."""
    gone: dict[str, Any] = dict.fromkeys(names)
    return replace(space, missing={**space.missing, **dict.fromkeys(names, why)}, **gone)


NOT_TOLD_APART = (
    "what compresses does not tell the write-ahead log from data: give it a volume of its own "
    "(`roles`)"
)


def add_log(space: Space, volume: Volume, folders: Sequence[Path]) -> Space:
    """The same with what of it is the write-ahead log in these folders. Raises OSError."""
    found = [measure_files(folder) for folder in folders]
    written = sum(each for _, each in found)
    if not written:
        return space
    module = _find_books(volume.filesystem)
    if module is not None and module.stored_below is not None:
        stored = sum(map(module.stored_below, folders))
    elif space.below or module is not None:
        missing = {**space.missing, "reduction": NOT_TOLD_APART}
        # What blocks of a file are, a file system that compresses alone knows.
        known = written if module is None else sum(length for length, _ in found)
        return replace(space, log_written_bytes=known, log_stored_bytes=None, missing=missing)
    else:
        stored = written
    return replace(space, log_written_bytes=written, log_stored_bytes=stored)


def _find_books(filesystem: str) -> LayerKind | None:
    layers = plugins(LayerKind).values()
    return next((kind for kind in layers if kind.usage and kind.filesystem == filesystem), None)
