"""An array that is a file system: btrfs over several devices, with checksums and compression.

Source of the levels: mkfs.btrfs(8), section PROFILES. Levels 5 and 6 keep their metadata in two or
three copies, as btrfs(5) recommends (RAID56 STATUS AND RECOMMENDED PRACTICES), and come with its
warning.

What single files take on a btrfs after compression, from the file system's own tree.
`stat` tells lengths before compression, and the books of a btrfs are of all its files together. The
tree has for each extent how many bytes it takes. Root alone may read it.
Source: linux/btrfs.h and linux/btrfs_tree.h: BTRFS_IOC_TREE_SEARCH_V2, btrfs_file_extent_item.
"""

import fcntl
import os
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Finished, Runner
from stithy.needs import KernelFileSystem, ProgramNeed
from stithy.storage.layer import COPIES, MEMBERS, PARITY, BuildTask, LayerKind, Level, LevelKeys
from stithy.storage.space import Usage
from stithy.units import make_rule_error, require

TREE_SEARCH_V2 = 0xC0709411
"""_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2), which has 112 bytes before its buffer."""

_KEY = struct.Struct("<7Q4I4QQ")
"""Tree, lowest and highest object, offset and transaction; types; items; unused; buffer's size."""

_HEADER = struct.Struct("<QQQII")
_EXTENT = struct.Struct("<QQBBHB")
"""Generation, length in memory, compression, encryption, other encoding, kind."""

_PLACE = struct.Struct("<QQ")
EXTENT_DATA = 108
INLINE = 0
BUFFER_BYTES = 65536
ALL = 2**64 - 1


def count_stored_bytes(folder: Path) -> int:
    """What the extents of all files below `folder` take, one copy, each extent once.

    Raises OSError where this is no btrfs, or the user may not look.
    """
    inline, extents = 0, {}
    device = folder.lstat().st_dev
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for place, _, files in os.walk(folder):
            for name in files:
                status = os.lstat(os.path.join(place, name))
                if status.st_dev != device:
                    continue
                for at, size_bytes in _read_extents(descriptor, status.st_ino):
                    if at is None:
                        inline += size_bytes
                    else:
                        extents[at] = size_bytes
    finally:
        os.close(descriptor)
    return inline + sum(extents.values())


def _read_extents(descriptor: int, inode: int) -> Iterator[tuple[int | None, int]]:
    """Where each extent of a file lies, None within the tree, and its bytes; holes have none."""
    offset = 0
    while True:
        count, buffer = _search(descriptor, inode, offset)
        position, last = 0, None
        for _ in range(count):
            _, _, last, _, length = _HEADER.unpack_from(buffer, position)
            position += _HEADER.size
            yield from _parse_extent(buffer[position : position + length])
            position += length
        if last is None or last == ALL:
            return
        offset = last + 1


def _search(descriptor: int, inode: int, offset: int) -> tuple[int, bytes]:
    """How many items there are in the answer, and the answer."""
    key = _KEY.pack(
        0, inode, inode, offset, ALL, 0, ALL, EXTENT_DATA, EXTENT_DATA, 2**32 - 1, 0,
        0, 0, 0, 0, BUFFER_BYTES,
    )  # fmt: skip
    buffer = bytearray(key + bytes(BUFFER_BYTES))
    fcntl.ioctl(descriptor, TREE_SEARCH_V2, buffer)
    return _KEY.unpack_from(buffer)[9], bytes(buffer[_KEY.size :])


def _parse_extent(item: bytes) -> Iterator[tuple[int | None, int]]:
    kind = _EXTENT.unpack_from(item)[5]
    if kind == INLINE:
        yield None, len(item) - _EXTENT.size
        return
    at, size_bytes = _PLACE.unpack_from(item, _EXTENT.size)
    if at:
        yield at, size_bytes


FILESYSTEM = "btrfs"
METADATA: dict[Level, Level] = {"raid5": "raid1", "raid6": "raid1c3"}
"""Of levels with parity; of the others it has the level of the data."""
STRIPED = frozenset({"raid0", "raid10"})

COMPRESSION = re.compile(r"none|lzo|zlib(:[1-9])?|zstd(:([1-9]|1[0-5]))?")
"""Source: btrfs(5), section COMPRESSION."""
_IS_COMPRESSION = require(
    COMPRESSION.fullmatch,
    "not a compression of btrfs",
    "none, lzo, zlib or zstd, the last two also with a level such as zstd:1",
)
TIMEOUT_S = 60
SCRUB_TIMEOUT_S = 3600.0
TOP_LEVEL = "0/5"
"""The quota group of a file system's root. Source: btrfs-qgroup(8)."""


class BtrfsKeys(LevelKeys):
    """An array of btrfs, which is the file system, too."""

    level: Level = Field(
        default="raid1",
        description=(
            "How data lie on the devices: one after the other (`single`), striped (`raid0`), in "
            "two or three copies (`raid1`, `raid1c3`), striped over pairs of copies (`raid10`), "
            "striped with parity (`raid5`, `raid6`). Metadata have the same level; with parity "
            "they have two or three copies."
        ),
        examples=["single"],
    )
    compression: Annotated[str, _IS_COMPRESSION] = Field(
        default="none",
        description=(
            "What compresses all data before they reach the devices: `lzo`, `zlib` or `zstd`, the "
            "last two also with a level, such as `zstd:1`."
        ),
        examples=["zstd:1"],
    )
    checksum: bool = Field(
        default=True,
        description=(
            "Whether data have checksums. Without them a mirror that missed a write may return "
            "the old data, and nothing notices; with them btrfs writes through the page cache "
            "what a database writes with direct I/O."
        ),
        examples=[True],
    )

    @model_validator(mode="after")
    def _refuse_compression_without_checksums(self) -> Self:
        if self.compression != "none" and not self.checksum:
            right = "leave out `checksum: false`, or `compression`"
            raise make_rule_error("btrfs compresses only what it keeps checksums of", right)
        return self

    def limit_members(self) -> tuple[int, int | None]:
        return MEMBERS[self.level][0], None

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count what copies leave: no two lie on one device, stripes end with the smallest."""
        ordered = sorted(sizes_bytes)
        if self.level in PARITY:
            return (len(ordered) - PARITY[self.level]) * ordered[0]
        copies = COPIES.get(self.level, 1)
        if self.level in STRIPED:
            return len(ordered) * ordered[0] // copies
        # The largest devices can hold no more than what the others hold the further copies of.
        return min(
            sum(ordered[: len(ordered) - larger]) // (copies - larger) for larger in range(copies)
        )

    def count_survived(self) -> int:
        return PARITY.get(self.level, COPIES.get(self.level, 1) - 1)

    def finds_corruption(self) -> bool:
        return self.checksum

    def list_cautions(self) -> tuple[str, ...]:
        cautions = []
        if self.level in PARITY:
            cautions.append(
                f"btrfs {self.level} may lose data after a crash on a degraded array: its manual "
                "page advises against it for other uses than tests"
            )
        if not self.checksum and self.level in (*COPIES, *PARITY):
            cautions.append(
                f"btrfs {self.level} without checksums may return old data after a device missed "
                "a write for a moment; nothing notices"
            )
        return tuple(cautions)

    def list_mount_options(self) -> tuple[str, ...]:
        """Compression and missing checksums are mount options, which hold for all files."""
        compressed = () if self.compression == "none" else (f"compress-force={self.compression}",)
        return (*compressed, *(() if self.checksum else ("nodatasum",)))

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Make the file system over all devices; the kernel finds the others by the first."""
        levels = ("-d", self.level, "-m", METADATA.get(self.level, self.level))
        filesystems.make(
            devices[0], FILESYSTEM, uuid=task.identifier, options=levels, others=devices[1:],
            runner=task.runner,
        )  # fmt: skip
        return devices[0]


def read_usage(mount_point: Path, runner: Runner) -> Usage:
    """What all files take, by `btrfs filesystem usage`; root alone sees levels with parity."""
    words = ("filesystem", "usage", "-b", str(mount_point))
    finished = _run(runner, words, TIMEOUT_S)
    if finished.code != 0:
        raise InfrastructureError(
            f"its space cannot be read: {finished.stderr.strip() or 'btrfs says nothing'}",
            where=str(mount_point),
            remedy="try it by hand, as root: btrfs filesystem usage " + str(mount_point),
        )
    return parse_usage(finished.stdout)


def scrub(mount_point: Path, runner: Runner) -> int:
    """Repair what a device missed, by `btrfs scrub`; count the errors that it corrected.

    Raises InfrastructureError for errors that it could not correct.
    """
    corrected, uncorrectable = _scrub(mount_point, runner)
    if uncorrectable:
        raise _make_scrub_error(mount_point, f"errors without a right copy: {uncorrectable:,}")
    return corrected


def count_damage(mount_point: Path, runner: Runner) -> int:
    """Read all, and count the blocks that are not as their checksums say, any copy of them."""
    return sum(_scrub(mount_point, runner))


def _scrub(mount_point: Path, runner: Runner) -> tuple[int, int]:
    """Read all, and correct what another copy has; count errors: corrected, and the others."""
    # It reads what the last commit has: what was written since has to be in it.
    _run(runner, ("filesystem", "sync", str(mount_point)), SCRUB_TIMEOUT_S)
    words = ("scrub", "start", "-B", "-R", str(mount_point))
    finished = _run(runner, words, SCRUB_TIMEOUT_S)
    counts = {name: int(value) for name, _, value in
              (line.strip().partition(": ") for line in finished.stdout.splitlines())
              if value.isdigit()}  # fmt: skip
    if "corrected_errors" not in counts:
        raise _make_scrub_error(mount_point, (finished.stderr or finished.stdout).strip())
    return counts["corrected_errors"], counts.get("uncorrectable_errors", 0)


def _make_scrub_error(mount_point: Path, text: str) -> InfrastructureError:
    return InfrastructureError(
        f"the scrub of btrfs failed: {text}", where=str(mount_point),
        remedy="read the kernel log (dmesg) for what is lost",
    )  # fmt: skip


def replace_device(mount_point: Path, lost: int, new: str, runner: Runner) -> None:
    """Rebuild on a new device what a lost one held, of which nothing is read that others have.

    `lost`: its number, from 1, in the order in which the array was made.

    Raises InfrastructureError where it fails.
    """
    words = ("replace", "start", "-B", "-f", "-r", str(lost), new, str(mount_point))
    finished = _run(runner, words, SCRUB_TIMEOUT_S)
    if finished.code != 0:
        raise InfrastructureError(
            f"the array could not be rebuilt: {(finished.stderr or finished.stdout).strip()}",
            where=str(mount_point),
            remedy="give its drives a larger `size` where no space is left: btrfs needs room for "
            "new chunks; else read the kernel log (dmesg)",
        )


def use_up_quota(mount_point: Path, runner: Runner) -> None:
    """Let files take no more than they do now. Raises InfrastructureError."""
    place = str(mount_point)
    _ask_quota(runner, "quota", "enable", place)
    _ask_quota(runner, "quota", "rescan", "-w", place)
    shown = _ask_quota(runner, "qgroup", "show", "--raw", "--sync", place)
    if (taken := re.search(rf"^{TOP_LEVEL}\s+(\d+)", shown, re.MULTILINE)) is None:
        raise _make_quota_error(place, f"it does not name {TOP_LEVEL}")
    _ask_quota(runner, "qgroup", "limit", taken.group(1), TOP_LEVEL, place)


def lift_quota(mount_point: Path, runner: Runner) -> None:
    """Let files take all room again. Idempotent. Raises InfrastructureError."""
    _ask_quota(runner, "quota", "disable", str(mount_point))


def _ask_quota(runner: Runner, *words: str) -> str:
    finished = _run(runner, words, SCRUB_TIMEOUT_S)
    if finished.code != 0:
        raise _make_quota_error(words[-1], finished.stderr.strip())
    return finished.stdout


def _make_quota_error(place: str, text: str) -> InfrastructureError:
    remedy = "read the kernel log (dmesg); a btrfs without errors has quotas"
    return InfrastructureError(f"the quota of btrfs failed: {text}", where=place, remedy=remedy)


def make_command(*words: str) -> Command:
    """Make a command of `btrfs`."""
    program = filesystems.find_program("btrfs", filesystems.KINDS[FILESYSTEM].package)
    return filesystems.make_tool_command((program, *words))


def _run(runner: Runner, words: Sequence[str], timeout_s: float) -> Finished:
    return runner.run(make_command(*words), timeout_s=timeout_s)


_GROUP = re.compile(r"^(Data|Metadata|System),[^:]+: Size:(\d+), Used:(\d+)", re.MULTILINE)
_ON_DEVICE = re.compile(r"^\s+\S+\s+(\d+)$", re.MULTILINE)


def parse_usage(text: str) -> Usage:
    """The groups of `btrfs filesystem usage -b`: sizes without copies, and below them by device.

    A group such as `Data,RAID5: Size:300, Used:42 (14.00%)` is followed by `   /dev/loop0  100`
    and the like, which with copies and parity add up to more than its size. There may be several
    groups of data, after a change of the level.
    """
    stored = physical = on_devices = size_of_data = 0
    found = list(_GROUP.finditer(text))
    ends = [*(each.start() for each in found[1:]), text.find("\nUnallocated")]
    for group, end in zip(found, ends, strict=False):
        kind, size, used = group[1], int(group[2]), int(group[3])
        raw = sum(int(match[1]) for match in _ON_DEVICE.finditer(text, group.end(), end))
        physical += round(used * raw / size) if size else 0
        if kind == "Data":
            stored += used
            on_devices += raw
            size_of_data += size
    if not size_of_data:
        raise InfrastructureError(
            "`btrfs filesystem usage` says nothing of data",
            where="btrfs",
            remedy="use the btrfs-progs of this distribution",
        )
    return Usage(stored, physical, on_devices / size_of_data)


PLUGINS = (
    LayerKind(
        name="btrfs",
        keys=BtrfsKeys,
        usage=read_usage,
        repair=scrub,
        exchange=replace_device,
        stored_below=count_stored_bytes,
        needs=(
            ProgramNeed(
                name="mkfs.btrfs",
                package=filesystems.KINDS[FILESYSTEM].package,
                asked=("-V",),
                why="arrays of btrfs",
            ),
            KernelFileSystem(name=FILESYSTEM, why="arrays of btrfs"),
        ),
        filesystem=FILESYSTEM,
    ),
)
