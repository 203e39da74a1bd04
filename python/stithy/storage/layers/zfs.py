"""An array that is a file system: ZFS over several devices, with checksums, compression, dedup.

Source of levels and properties: zpoolconcepts(7), zpoolprops(7), zfsprops(7). What a pool keeps for
itself: spa_get_slop_space and vdev_metaslab_set_size of OpenZFS.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from stithy.drives import filesystems
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.devices import find_mount
from stithy.hosts.runner import LocalRunner, Runner
from stithy.needs import DeviceNeed, Package, ProgramNeed
from stithy.storage.formatted import wipe_ends
from stithy.storage.layer import (
    COPIES,
    LEVELS,
    MEMBERS,
    PARITY,
    BuildTask,
    LayerKind,
    Level,
    LevelKeys,
    check_power_of_two,
)
from stithy.storage.provider import MIB
from stithy.storage.space import Usage
from stithy.units import make_rule_error, parse_size, require

PACKAGE = Package(
    "zfs-dkms zfsutils-linux",
    "zfs",
    found_in="Debian: of the component contrib; Fedora: from OpenZFS's own repository",
)
TIMEOUT_S = 600.0
CLASS = Path("/sys/class/block")
CONTROL = Path("/dev/zfs")
MIRROR_NAME, PARITY_NAME = re.compile(r"mirror-\d+"), re.compile(r"raidz\d-\d+")
PROPERTIES = ("used", "logicalused", "compressratio")


def run_checked(program: str, words: Sequence[str], name: str, runner: Runner) -> str:
    """What a program wrote about a pool. Raises InfrastructureError where it failed."""
    ended = filesystems.run_tool(runner, PACKAGE, program, *words, timeout_s=TIMEOUT_S)
    if ended.code == 0:
        return ended.stdout
    said = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
    raise InfrastructureError(
        f"`{program} {words[0]}` failed: {'; '.join(said) or 'no reason given'}",
        where=name,
        remedy="check the kernel log (dmesg), `zpool status`, and that its devices are empty",
    )


def read_usage(mount_point: Path, runner: Runner) -> Usage:
    """What all files of a pool take, by its own books, once all of it is written."""
    name = find_mount(mount_point).source.partition("/")[0]
    run_checked("zpool", ["sync", name], name, runner)
    asked = ["get", "-Hp", "-o", "property,value", ",".join(PROPERTIES), name]
    properties = run_checked("zfs", asked, name, runner)
    return parse_usage(run_checked("zpool", ["list", "-Hpv", name], name, runner), properties)


def parse_usage(listed: str, properties: str) -> Usage:
    r"""The books of `zpool list -Hpv` and `zfs get -Hp`: a line each, its words set apart by tabs.

    The pool is the first line, such as `tank 960 96 …`, with `dedupratio` as its ninth word. Those
    below begin with a tab: `mirror-0 480 48 …` counts one copy, `raidz1-0 …` parity, too, and
    devices without such a group what they hold.
    """
    head, *below = listed.splitlines()
    deduplicated = float(head.split("\t")[8].removesuffix("x"))
    told = dict(line.split("\t") for line in properties.splitlines())
    written, ratio = int(told["logicalused"]), float(told["compressratio"].removesuffix("x"))
    physical, one_copy, parity = 0, 0, False
    for group, allocated, count in _list_groups(below):
        parity = parity or bool(PARITY_NAME.fullmatch(group))
        physical += allocated * (count if MIRROR_NAME.fullmatch(group) else 1)
        one_copy += allocated
    # What `used` says of parity is a guess from large records.
    stored = round((written / ratio if parity else int(told["used"])) / deduplicated)
    redundancy = physical / (stored if parity else one_copy) if physical else 1.0
    return Usage(stored, physical, redundancy, written)


def _list_groups(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each group of devices: its name, what is allocated of it, and how many devices it has."""
    rows = [line.strip("\t").split("\t") for line in lines]
    heads = [at for at, row in enumerate(rows) if row[2] != "-"]
    for at, end in zip(heads, [*heads[1:], len(rows)], strict=True):
        yield rows[at][0], int(rows[at][2]), end - at - 1


def remove(name: str, devices: Sequence[str], runner: Runner, blocks: Path = CLASS) -> None:
    """Destroy the pool if the kernel has it, and erase its labels wherever they lie.

    Only what carries its name is touched, which no other pool has.
    """
    health = _read_health(runner)
    if health.get(name) == "SUSPENDED":
        raise InfrastructureError(
            "too many of its drives have failed, and ZFS does not let go of it",
            where=name,
            remedy="restart this machine, and clean up again",
        )
    if name in health:
        run_checked("zpool", ["destroy", "-f", name], name, runner)
    for device in map(Path, devices):
        if device.is_block_device():
            erase_labels(name, device.resolve(), runner, blocks)


def _read_health(runner: Runner) -> dict[str, str]:
    """The pools that the kernel has; none where it has no ZFS, nor any program to ask."""
    try:
        told = filesystems.run_tool(runner, PACKAGE, "zpool", "list", "-H", "-o", "name,health")
    except PreconditionError:
        if CONTROL.exists():
            raise
        return {}
    return {} if told.code else dict(line.split("\t") for line in told.stdout.splitlines())


def erase_labels(name: str, device: Path, runner: Runner, blocks: Path) -> None:
    """Erase the labels of a pool on a device; `zpool` makes partitions of a whole disk."""
    if filesystems.read_tag(str(device), "LABEL", runner=runner) == name:
        wipe_ends(device)
    for part in sorted((blocks / device.name).glob("*/partition")):
        node = device.parent / part.parent.name
        if filesystems.read_tag(str(node), "LABEL", runner=runner) == name:
            for each in (node, device):
                wipe_ends(each)
            run_checked("blockdev", ["--rereadpt", str(device)], name, runner)


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
_IS_COMPRESSION = require(
    COMPRESSION.fullmatch,
    "not a compression of ZFS",
    "none, lz4 or zstd, this also as zstd:1 to zstd:19",
)


class ZfsKeys(LevelKeys):
    """An array of ZFS, which is the file system, too."""

    level: Level = Field(
        default="raid1",
        description=f"{LEVELS} Parity is raidz1 or raidz2; `single` takes one device.",
        examples=["single"],
    )
    compression: Annotated[str, _IS_COMPRESSION] = Field(
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
        str, AfterValidator(lambda value: check_power_of_two(value, RECORD_BYTES_MAX))
    ] = Field(
        default="8 KiB",
        description=(
            "How large the records of files are: as large as a page of the database. A smaller "
            "write reads and writes a whole record."
        ),
        examples=["8 KiB"],
    )

    @model_validator(mode="after")
    def _refuse_deduplication_without_checksums(self) -> Self:
        if self.deduplication and not self.checksum:
            raise make_rule_error(
                "ZFS finds duplicates by checksums", "leave out `checksum: false`"
            )
        return self

    @property
    def record_bytes(self) -> int:
        """Of `recordsize`."""
        return parse_size(self.recordsize)

    def limit_members(self) -> tuple[int, int | None]:
        return (1, 1) if self.level == "single" else MEMBERS[self.level]

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count what copies, parity and the pool leave; each is as large as the smallest."""
        count = len(sizes_bytes)
        raw = METASLAB_SHARE * max(0, min(sizes_bytes) - LABEL_BYTES) * count
        share = self.count_redundancy(count)
        # Of mirrors the pool sees one copy.
        copies = 1.0 if self.level in PARITY else share
        slop = max(raw / copies * SLOP_SHARE, min(raw / copies / 2, SLOP_BYTES_MIN)) * copies
        return int((raw - slop) * (1 - METADATA_SHARE) / share)

    def count_redundancy(self, count: int) -> float:
        """Count copies; with parity by the record, which has parity of its own in whole sectors.

        A record of two sectors has a third of parity under raidz1, and is filled up to four.
        Source: vdev_raidz_asize of OpenZFS.
        """
        if self.level in COPIES:
            return count / len(_group_mirrors(self.level, ["device"] * count))
        if self.level not in PARITY:
            return 1.0
        parity, sectors = PARITY[self.level], self.record_bytes // SECTOR_BYTES
        taken = sectors + parity * -(-sectors // (count - parity))
        return -(-taken // (parity + 1)) * (parity + 1) / sectors

    def list_cautions(self) -> tuple[str, ...]:
        found = [
            "ZFS reads through its own cache (ARC), which the database's memory limit does not "
            "count: limit it by zfs_arc_max in /sys/module/zfs/parameters, else it may take half "
            "of the memory, from OpenZFS 2.3 on all but 1 GiB of it"
        ]
        copies = 1 + PARITY.get(self.level, 0)
        if self.level in PARITY and self.count_redundancy(1 + copies) >= copies:
            found.append(
                f"ZFS {self.level} with records of {self.recordsize} takes about as much space as "
                f"{copies} copies: each record has parity of its own"
            )
        if self.compression != "none" and self.record_bytes <= BLOCKS_FEW * SECTOR_BYTES:
            found.append(
                f"ZFS stores whole blocks of 4 KiB: of each record of {self.recordsize} "
                "compression saves such blocks or nothing"
            )
        if self.deduplication:
            found.append("ZFS keeps a table of all records in memory, to find equal ones")
        if not self.checksum and self.level in (*COPIES, *PARITY):
            found.append(
                f"ZFS {self.level} without checksums may return old data after a device missed a "
                "write for a moment; nothing notices"
            )
        return tuple(found)

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Make the pool; what is mounted is its root file system, which has its name."""
        name = f"stithy-{task.identifier}"
        task.record("zfs", {"pool": name, "devices": " ".join(devices)})
        run_checked("zpool", create_words(self, devices, name), name, task.runner)
        return name


def _group_mirrors(level: Level, devices: Sequence[str]) -> list[Sequence[str]]:
    """The devices of each mirror; an odd one is a third copy in the last of a RAID 10."""
    if level != "raid10":
        return [devices]
    last = len(devices) // 2 - 1
    pairs = [devices[2 * index : 2 * index + 2] for index in range(last)]
    return [*pairs, devices[2 * last :]]


def create_words(spec: ZfsKeys, devices: Sequence[str], name: str) -> list[str]:
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
    members = list(devices)
    if spec.level in PARITY:
        members = [f"raidz{PARITY[spec.level]}", *devices]
    elif spec.level in COPIES:
        mirrors = _group_mirrors(spec.level, devices)
        members = [word for mirror in mirrors for word in ("mirror", *mirror)]
    return [*words, name, *members]


PLUGINS = (
    LayerKind(
        name="zfs",
        keys=ZfsKeys,
        usage=read_usage,
        needs=(
            ProgramNeed(name="zpool", package=PACKAGE, asked=("--version",), why=WHY),
            DeviceNeed(path="/dev/zfs", module="zfs", why=WHY),
        ),
        filesystem="zfs",
        handlers={
            "zfs": lambda facts: remove(facts["pool"], facts["devices"].split(), LocalRunner())
        },
    ),
)
