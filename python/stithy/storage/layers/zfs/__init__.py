"""An array that is a file system: ZFS over several devices, with checksums, compression, dedup.

Source of levels and properties: zpoolconcepts(7), zpoolprops(7), zfsprops(7). What a pool keeps for
itself: spa_get_slop_space and vdev_metaslab_set_size of OpenZFS.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from stithy.hosts.runner import LocalRunner
from stithy.needs import DeviceNeed, ProgramNeed
from stithy.storage import layer
from stithy.storage.layer import COPIES, LEVELS, PARITY, LayerKind, Level, Task, power_of_two, rule
from stithy.storage.layers.zfs import pool
from stithy.storage.sizes import MIB
from stithy.units import parse_size

MEMBERS: dict[Level, tuple[int, int | None]] = {**layer.MEMBERS, "single": (1, 1)}
COMPRESSION = re.compile(r"none|lz4|zstd(:([1-9]|1[0-9]))?")
RECORD_BYTES_MAX = MIB
SECTOR_BYTES = 4096
"""What a pool is made for, whatever its devices say: `ashift=12`."""

BLOCKS_FEW = 4
"""A record of so few blocks shrinks in large steps."""

LABEL_BYTES = 16 * MIB
"""Labels and boot area of a device, and its second partition if it is a whole disk."""

METASLAB_SHARE = 15 / 16
"""Space is handed out in pieces, of which a small device has 16; what is left over is not used."""

SLOP_SHARE, SLOP_BYTES_MIN = 1 / 32, 128 * MIB
METADATA_SHARE = 0.03
"""A block pointer of 128 bytes in two copies for each record of 8 KiB."""

WHY = "arrays of ZFS"


def _compression(value: str) -> str:
    if COMPRESSION.fullmatch(value) is None:
        raise rule("not a compression of ZFS", "none, lz4 or zstd, this also as zstd:1 to zstd:19")
    return value


class Spec(BaseModel):
    """An array of ZFS, which is the file system, too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level = Field(
        default="raid1",
        description=f"{LEVELS} Parity is raidz1 or raidz2; `single` takes one device.",
        examples=["single"],
    )
    compression: Annotated[str, AfterValidator(_compression)] = Field(
        default="none",
        description="What compresses all records: `lz4`, or `zstd`, also with a level: `zstd:3`.",
        examples=["lz4"],
    )
    checksum: bool = Field(
        default=True,
        description=(
            "Whether data have checksums, by which a mirror or parity repairs what a device "
            "returns wrongly."
        ),
        examples=[True],
    )
    deduplication: bool = Field(
        default=False,
        description="Whether equal records are stored once. The table of all records is in memory.",
        examples=[False],
    )
    recordsize: Annotated[
        str, AfterValidator(lambda value: power_of_two(value, RECORD_BYTES_MAX))
    ] = Field(
        default="8 KiB",
        description=(
            "How large the records of files are: as large as a page of the database. A smaller "
            "write reads and writes a whole record."
        ),
        examples=["8 KiB"],
    )

    @model_validator(mode="after")
    def _duplicates_are_found_by_checksums(self) -> Self:
        if self.deduplication and not self.checksum:
            raise rule("ZFS finds duplicates by checksums", "leave out `checksum: false`")
        return self

    @property
    def record_bytes(self) -> int:
        """Of `recordsize`."""
        return parse_size(self.recordsize)


def members(spec: Spec) -> tuple[int, int | None]:
    """By the level."""
    return MEMBERS[spec.level]


def capacity_bytes(spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """What copies, parity and the pool itself leave; each is as large as the smallest."""
    count = len(sizes_bytes)
    raw = METASLAB_SHARE * max(0, min(sizes_bytes) - LABEL_BYTES) * count
    share = redundancy(spec, count)
    # Of mirrors the pool sees one copy.
    copies = 1.0 if spec.level in PARITY else share
    slop = max(raw / copies * SLOP_SHARE, min(raw / copies / 2, SLOP_BYTES_MIN)) * copies
    return int((raw - slop) * (1 - METADATA_SHARE) / share)


def redundancy(spec: Spec, count: int) -> float:
    """Copies; with parity by the record, which has parity of its own in whole sectors.

    A record of two sectors has a third of parity under raidz1, and is filled up to four.
    Source: vdev_raidz_asize of OpenZFS.
    """
    if spec.level not in PARITY:
        return count / len(_mirrors(spec.level, ["device"] * count)) if spec.level in COPIES else 1
    parity, sectors = PARITY[spec.level], spec.record_bytes // SECTOR_BYTES
    taken = sectors + parity * -(-sectors // (count - parity))
    return -(-taken // (parity + 1)) * (parity + 1) / sectors


def _mirrors(level: Level, devices: Sequence[str]) -> list[Sequence[str]]:
    """The devices of each mirror; an odd one is a third copy in the last of a RAID 10."""
    if level != "raid10":
        return [devices]
    last = len(devices) // 2 - 1
    pairs = [devices[2 * each : 2 * each + 2] for each in range(last)]
    return [*pairs, devices[2 * last :]]


def cautions(spec: Spec) -> tuple[str, ...]:
    """Its cache, and what its records cost."""
    found = [
        "ZFS reads through its own cache (ARC), which the database's memory limit does not count: "
        "limit it by zfs_arc_max in /sys/module/zfs/parameters, else it may take half of the "
        "memory, from OpenZFS 2.3 on all but 1 GiB of it"
    ]
    copies = 1 + PARITY.get(spec.level, 0)
    if spec.level in PARITY and redundancy(spec, 1 + copies) >= copies:
        found.append(
            f"ZFS {spec.level} with records of {spec.recordsize} takes about as much space as "
            f"{copies} copies: each record has parity of its own"
        )
    if spec.compression != "none" and spec.record_bytes <= BLOCKS_FEW * SECTOR_BYTES:
        found.append(
            f"ZFS stores whole blocks of 4 KiB: of each record of {spec.recordsize} compression "
            "saves such blocks or nothing"
        )
    if spec.deduplication:
        found.append("ZFS keeps a table of all records in memory, to find equal ones")
    if not spec.checksum and spec.level in (*COPIES, *PARITY):
        found.append(
            f"ZFS {spec.level} without checksums may return old data after a device missed a "
            "write for a moment; nothing notices"
        )
    return tuple(found)


def create_words(spec: Spec, devices: Sequence[str], name: str) -> list[str]:
    """The words of `zpool` that make the pool, whose only file system is mounted as any other."""
    on = {True: "on", False: "off"}
    of_pool = {"ashift": f"{SECTOR_BYTES.bit_length() - 1}", "cachefile": "none",
               "failmode": "continue"}  # fmt: skip
    of_files = {
        "mountpoint": "legacy", "atime": "off", "recordsize": str(spec.record_bytes),
        "compression": {"none": "off"}.get(spec.compression, spec.compression.replace(":", "-")),
        "checksum": on[spec.checksum], "dedup": on[spec.deduplication],
    }  # fmt: skip
    words = ["create", "-f"]
    for option, properties in (("-o", of_pool), ("-O", of_files)):
        words += [word for key, value in properties.items() for word in (option, f"{key}={value}")]
    return [*words, name, *_vdevs(spec.level, devices)]


def _vdevs(level: Level, devices: Sequence[str]) -> list[str]:
    if level in PARITY:
        return [f"raidz{PARITY[level]}", *devices]
    if level in COPIES:
        return [word for each in _mirrors(level, devices) for word in ("mirror", *each)]
    return list(devices)


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Make the pool; what is mounted is its root file system, which has its name."""
    name = f"stithy-{task.identifier}"
    task.record("zfs", {"pool": name, "devices": " ".join(devices)})
    pool.done("zpool", create_words(spec, devices, name), name, task.runner)
    return name


usage = pool.usage


def _remove(facts: Mapping[str, str]) -> None:
    pool.remove(facts["pool"], facts["devices"].split(), LocalRunner())


PLUGINS = (
    LayerKind(
        name="zfs",
        keys=Spec,
        members=members,
        capacity_bytes=capacity_bytes,
        redundancy=redundancy,
        build=build,
        cautions=cautions,
        usage=usage,
        needs=(
            ProgramNeed(name="zpool", package=pool.PACKAGE, asked=("--version",), why=WHY),
            DeviceNeed(path="/dev/zfs", module="zfs", why=WHY),
        ),
        filesystem="zfs",
        handlers={"zfs": _remove},
    ),
)
