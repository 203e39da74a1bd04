"""An array that is a file system: btrfs over several devices, with checksums and compression.

Source of the levels: mkfs.btrfs(8), section PROFILES. Levels 5 and 6 keep their metadata in two or
three copies, as btrfs(5) recommends (RAID56 STATUS AND RECOMMENDED PRACTICES), and come with its
warning.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Runner
from stithy.needs import KernelFileSystem, Program
from stithy.storage import extents
from stithy.storage.layer import LayerKind, Task, rule
from stithy.storage.raid import COPIES, MEMBERS, PARITY, Level, bytes_for_one
from stithy.storage.space import Usage

FILESYSTEM = "btrfs"
METADATA: dict[Level, Level] = {"raid5": "raid1", "raid6": "raid1c3"}
"""Of levels with parity; of the others it has the level of the data."""
STRIPED = frozenset({"raid0", "raid10"})

COMPRESSION = re.compile(r"none|lzo|zlib(:[1-9])?|zstd(:([1-9]|1[0-5]))?")
"""Source: btrfs(5), section COMPRESSION."""
TIMEOUT_S = 60


def _compression(value: str) -> str:
    if COMPRESSION.fullmatch(value) is None:
        right = "none, lzo, zlib or zstd, the last two also with a level such as zstd:1"
        raise rule("not a compression of btrfs", right)
    return value


class Spec(BaseModel):
    """An array of btrfs, which is the file system, too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    compression: Annotated[str, AfterValidator(_compression)] = Field(
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
    def _compressed_data_have_checksums(self) -> Self:
        if self.compression != "none" and not self.checksum:
            right = "leave out `checksum: false`, or `compression`"
            raise rule("btrfs compresses only what it keeps checksums of", right)
        return self


def members(spec: Spec) -> tuple[int, int | None]:
    """By the level; there is no greatest number."""
    return MEMBERS[spec.level][0], None


def capacity_bytes(spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """What the copies leave: no two lie on one device, and stripes end with the smallest."""
    ordered = sorted(sizes_bytes)
    if spec.level in PARITY:
        return (len(ordered) - PARITY[spec.level]) * ordered[0]
    copies = COPIES.get(spec.level, 1)
    if spec.level in STRIPED:
        return len(ordered) * ordered[0] // copies
    # The largest devices can hold no more than what the others hold the further copies of.
    return min(
        sum(ordered[: len(ordered) - larger]) // (copies - larger) for larger in range(copies)
    )


def redundancy(spec: Spec, count: int) -> float:
    """By the level."""
    return bytes_for_one(spec.level, count)


def cautions(spec: Spec) -> tuple[str, ...]:
    """What its manual page and tests warn of."""
    found = []
    if spec.level in PARITY:
        found.append(
            f"btrfs {spec.level} may lose data after a crash on a degraded array: its manual page "
            "advises against it for other uses than tests"
        )
    if not spec.checksum and spec.level in (*COPIES, *PARITY):
        found.append(
            f"btrfs {spec.level} without checksums may return old data after a device missed a "
            "write for a moment; nothing notices"
        )
    return tuple(found)


def mount_options(spec: Spec) -> tuple[str, ...]:
    """Compression and missing checksums are mount options, which hold for all files."""
    compressed = () if spec.compression == "none" else (f"compress-force={spec.compression}",)
    return (*compressed, *(() if spec.checksum else ("nodatasum",)))


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Make the file system over all devices; the kernel finds the others by the first."""
    levels = ("-d", spec.level, "-m", METADATA.get(spec.level, spec.level))
    filesystems.make(
        devices[0], FILESYSTEM, uuid=task.identifier, options=levels, others=devices[1:],
        runner=task.runner,
    )  # fmt: skip
    return devices[0]


def usage(mount_point: Path, runner: Runner) -> Usage:
    """What all files take, by `btrfs filesystem usage`; root alone sees levels with parity."""
    program = filesystems.program_path("btrfs", filesystems.KINDS[FILESYSTEM].package)
    argv = (program, "filesystem", "usage", "-b", str(mount_point))
    finished = runner.run(
        Command(argv=argv, environment={"LC_ALL": "C"}), timeout_s=TIMEOUT_S
    )  # fmt: skip
    if finished.code != 0:
        raise InfrastructureError(
            f"its space cannot be read: {finished.stderr.strip() or 'btrfs says nothing'}",
            where=str(mount_point),
            remedy="try it by hand, as root: btrfs filesystem usage " + str(mount_point),
        )
    return parse_usage(finished.stdout)


stored_below = extents.stored_bytes


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
        raw = sum(int(each[1]) for each in _ON_DEVICE.finditer(text, group.end(), end))
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
        keys=Spec,
        members=members,
        capacity_bytes=capacity_bytes,
        redundancy=redundancy,
        build=build,
        mount_options=mount_options,
        cautions=cautions,
        usage=usage,
        stored_below=stored_below,
        needs=(
            Program(
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
