"""Arrays of LVM: the kernel's RAID by device-mapper, checksums where asked, and a cache of writes.

Levels and options as in lvmraid(7). Mirrors begin as if they were in sync: what was never written
may differ between copies, and nobody reads it. Levels with parity, and those with checksums, are
synchronised before they are used. A device with a faster one in front of it is dm-writecache, as in
lvmcache(7): what is written is acknowledged by the faster device, and moves on later; reads of what
is not in the cache come from the slower one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self
from uuid import UUID, uuid5

from pydantic import Field, model_validator

from stithy.clock import SystemClock
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Finished, LocalRunner, Runner
from stithy.needs import DeviceNeed, Need, Package, ProgramNeed
from stithy.storage import layer
from stithy.storage.layer import (
    COPIES,
    PARITY,
    STRIPED,
    BuildTask,
    Chunk,
    LayerKeys,
    LayerKind,
    Level,
    RaidKeys,
    make_chunk_field,
)
from stithy.units import make_rule_error, parse_size

MIB = 2**20
EXTENT_BYTES = 4 * MIB
HEADER_BYTES = MIB
"""What LVM keeps of each device before its first extent."""
VOLUME = "array"
CACHE = "cache"
BLOCKS = Path("/sys/block")
SYNC_TIMEOUT_S = 24 * 3600.0
SYNC_POLL_S = 0.2
TIMEOUT_S = 1800.0
"""Removing a cache writes what is in it to its slow device."""
SETTINGS = (
    "activation/monitoring=0 backup/backup=0 backup/archive=0 activation/verify_udev_operations=1"
)
"""Nothing watches the array or remembers it, and its device is there also where udev is not."""
PACKAGE, MAPPER = Package("lvm2", "lvm2"), Package("dmsetup", "device-mapper")


def list_needs(why: str) -> tuple[Need, ...]:
    """What groups take of a machine."""
    return (
        ProgramNeed(name="lvm", package=PACKAGE, asked=("version",), why=why),
        DeviceNeed(path="/dev/mapper/control", module="dm_mod", why=why),
    )


def count_extents(size_bytes: int) -> int:
    """How many a device of this size has."""
    return max(0, (size_bytes - HEADER_BYTES) // EXTENT_BYTES)


class VolumeGroup:
    """A group of devices, known by an identifier; its volume is the array."""

    def __init__(self, devices: Sequence[str], identifier: str, runner: Runner) -> None:
        self.name = f"stithy_{identifier[:8]}"
        self._devices = devices
        self._identifier = identifier
        self._runner = runner

    @property
    def volume(self) -> str:
        """The array, as LVM calls it."""
        return f"{self.name}/{VOLUME}"

    @property
    def device(self) -> str:
        """The array, as a block device."""
        return f"/dev/mapper/{self.name}-{VOLUME}"

    @property
    def facts(self) -> dict[str, str]:
        """What `remove` needs to know."""
        return {"devices": " ".join(self._devices), "uuid": self._identifier}

    def make(self) -> Sequence[int]:
        """Make it of empty devices; their sizes, bytes."""
        for number, device in enumerate(self._devices):
            name = _name_member(self._identifier, number)
            self.run_checked("pvcreate", "--yes", "--uuid", name, "--norestorefile", device)
        size = f"{EXTENT_BYTES}b"
        self.run_checked("vgcreate", "--physicalextentsize", size, self.name, *self._devices)
        told = self.run_checked(
            "pvs", "--noheadings", "--nosuffix", "--units", "b", "-o", "dev_size"
        )
        return [int(part) for part in told.split()]

    def run_checked(self, command: str, *words: str) -> str:
        """What a command wrote. Raises InfrastructureError where it failed."""
        ended = self._run(command, *words)
        if ended.code == 0:
            return ended.stdout
        lines = (line.strip() for line in ended.stderr.splitlines())
        said = [line for line in lines if line and not line.startswith("WARNING")]
        raise InfrastructureError(
            f"`{command}` failed: {said[-1] if said else 'no reason given'}",
            where=", ".join(self._devices),
            remedy="check the kernel log (dmesg), and that its devices are empty",
        )

    def wait_in_sync(self) -> None:
        """Wait until the array is synchronised, and so are the checksums of each device."""
        clock = SystemClock()
        until_s = clock.monotonic_s() + SYNC_TIMEOUT_S
        while clock.monotonic_s() < until_s:
            told = self.run_checked("lvs", "--all", "--noheadings", "-o", "sync_percent", self.name)
            if set(told.split()) <= {"100.00"}:
                return self._check_whole()
            clock.sleep_s(SYNC_POLL_S)
        raise InfrastructureError(
            f"the array was not in sync after {SYNC_TIMEOUT_S / 3600:g} hours",
            where=", ".join(self._devices),
            remedy="use smaller or faster devices, or a level without parity and checksums",
        )

    def _check_whole(self) -> None:
        if health := self.run_checked(
            "lvs", "--noheadings", "-o", "lv_health_status", self.volume
        ).strip():
            raise InfrastructureError(
                f"the array is not whole: its health is {health!r}",
                where=", ".join(self._devices),
                remedy="check the kernel log (dmesg) for a device that failed, and replace it",
            )

    def remove(self, blocks: Path = BLOCKS) -> None:
        """Remove it and its members, as far as they were made; nobody else's are touched.

        Where members fail LVM knows no group any more, and the kernel still has its volumes.
        """
        there = [Path(each).is_block_device() for each in self._devices]
        uuid = self._identifier
        if all(there) and self._run("vgs", self.name).code == 0:
            self._run("vgremove", "--force", "--yes", self.name)
        self._remove_mappings(blocks)
        for number, device in enumerate(self._devices):
            if there[number] and filesystems.read_tag(device, "UUID") == _name_member(uuid, number):
                self.run_checked("pvremove", "--force", "--force", "--yes", device)

    def _remove_mappings(self, blocks: Path) -> None:
        """Take what is left of its volumes from the kernel: those below go after those above."""
        left = self._list_mappings(blocks)
        while left:
            for name in left:
                filesystems.run_tool(self._runner, MAPPER, "dmsetup", "remove", name)
            before, left = left, self._list_mappings(blocks)
            if left == before:
                raise InfrastructureError(
                    f"volumes of LVM are in use: {', '.join(left)}",
                    where=", ".join(self._devices),
                    remedy="end what uses them (dmsetup ls --tree), and clean up again",
                )

    def _list_mappings(self, blocks: Path) -> list[str]:
        names = (path.read_text().strip() for path in sorted(blocks.glob("dm-*/dm/name")))
        return [name for name in names if name.startswith(f"{self.name}-")]

    def _run(self, command: str, *words: str) -> Finished:
        program = filesystems.find_program("lvm", PACKAGE)
        # It sees these devices and no others.
        options = ["--devices", ",".join(self._devices), "--config", SETTINGS]
        return self._runner.run(
            Command(
                argv=[program, command, *options, *words],
                environment={"LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"},
            ),
            timeout_s=TIMEOUT_S,
        )


def _name_member(identifier: str, number: int) -> str:
    """The name of a member, as LVM writes its UUIDs: 32 digits in groups of its own."""
    digits = uuid5(UUID(identifier), str(number)).hex
    ends = (6, 10, 14, 18, 22, 26, 32)
    return "-".join(digits[begin:end] for begin, end in zip((0, *ends), ends, strict=False))


def remove(facts: Mapping[str, str]) -> None:
    """Remove what was made of these devices, as far as it is still there."""
    VolumeGroup(facts["devices"].split(), facts["uuid"], LocalRunner()).remove()


MEMBERS: dict[Level, tuple[int, int | None]] = {**layer.MEMBERS, "raid6": (5, None)}
"""Parity of two needs three others."""

REDUNDANT = (*COPIES, *PARITY)
CHUNK_USUAL = "64 KiB"
JOURNAL_BYTES = 64 * MIB
DATA_OF_CHECKSUMS_BYTES = 500 * MIB
"""Each of them has an extent of checksums.
Source of both: LVM, lib/metadata/integrity_manip.c, `_lv_size_bytes_to_integrity_meta_bytes`."""


class GroupKeys(RaidKeys):
    """The keys of layers whose level is a volume of LVM."""

    chunk: Chunk = make_chunk_field(f"that of LVM, {CHUNK_USUAL}")

    @property
    def has_checksums(self) -> bool:
        """Whether each device has checksums of its blocks."""
        return False

    @property
    def is_synchronised(self) -> bool:
        return self.has_checksums or super().is_synchronised

    def limit_members(self) -> tuple[int, int | None]:
        return MEMBERS[self.level]

    def get_multiple(self) -> int:
        """Give two where the level has pairs: `lvcreate` leaves an odd one unused."""
        return 2 if self.level == "raid10" else 1

    def count_volume_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count what copies and parity leave of the smallest; `single` adds all up."""
        extents = [self._count_data_extents(size_bytes) for size_bytes in sizes_bytes]
        if self.level == "single":
            return sum(extents) * EXTENT_BYTES
        return min(extents) * self._count_stripes(len(extents)) * EXTENT_BYTES

    def _count_data_extents(self, size_bytes: int) -> int:
        extents = count_extents(size_bytes)
        if self.level in REDUNDANT:
            extents -= 1  # which of its regions are in sync
        if self.has_checksums:
            extents -= 1 + JOURNAL_BYTES // EXTENT_BYTES
            of_one = DATA_OF_CHECKSUMS_BYTES // EXTENT_BYTES
            extents = extents * of_one // (of_one + 1)
        return max(0, extents)

    def _count_stripes(self, count: int) -> int:
        if self.level in PARITY:
            return count - PARITY[self.level]
        return count // COPIES.get(self.level, 1)

    def make_volume(self, group: VolumeGroup, volume: str, count: int) -> int:
        """Make a volume on all `count` devices of a group, which is made; its size, bytes.

        Waits until it is in sync.
        """
        size = self.count_volume_bytes(group.make())
        group.run_checked(*self.list_create_words(group.name, volume, size // EXTENT_BYTES, count))
        if self.is_synchronised:
            group.wait_in_sync()
        return size

    def list_create_words(self, group: str, volume: str, extents: int, count: int) -> list[str]:
        """List the words of `lvcreate` that make the volume."""
        words = ["lvcreate", "--yes", "--name", volume, "--extents", str(extents)]
        words += ["--type", {"single": "linear", "raid1c3": "raid1"}.get(self.level, self.level)]
        if self.level in COPIES:
            words += ["--mirrors", str(COPIES[self.level] - 1)]
        if self.level in STRIPED:
            words += ["--stripes", str(self._count_stripes(count))]
            words += ["--stripesize", f"{parse_size(self.chunk or CHUNK_USUAL) // 1024}k"]
        if self.has_checksums:
            words += ["--raidintegrity", "y"]
        elif self.level in COPIES:
            words.append("--nosync")
        return [*words, group]


class LvmKeys(GroupKeys):
    """An array of LVM, with a file system on it."""

    checksum: bool = Field(
        default=False,
        description=(
            "Whether each device has checksums of its blocks (dm-integrity), so that what it "
            "returns wrongly is read from another one. All writes then go through a journal."
        ),
        examples=[True],
    )

    @model_validator(mode="after")
    def _refuse_checksums_without_copies(self) -> Self:
        if self.checksum and self.level not in REDUNDANT:
            right = f"leave out `checksum`, or use {', '.join(REDUNDANT)}"
            raise make_rule_error(f"{self.level} cannot repair what a checksum finds wrong", right)
        return self

    @property
    def has_checksums(self) -> bool:
        return self.checksum

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        return self.count_volume_bytes(sizes_bytes)

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        group = VolumeGroup(devices, task.identifier, task.runner)
        task.record("lvm", group.facts)
        self.make_volume(group, VOLUME, len(devices))
        return group.device


class WriteCacheKeys(LayerKeys):
    """A device, and a faster one in front of it that takes its writes."""

    def limit_members(self) -> tuple[int, int | None]:
        """Give two: the device with the data, then the cache."""
        return 2, 2

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        return count_extents(sizes_bytes[0]) * EXTENT_BYTES

    def count_redundancy(self, count: int) -> float:
        """Count one: what moves on leaves the cache."""
        return 1.0

    def list_cautions(self) -> tuple[str, ...]:
        return ("a failure of the cache loses what was written and has not moved on",)

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Make a volume on each, and put the second in front of the first."""
        group = VolumeGroup(devices, task.identifier, task.runner)
        task.record("lvm-cached", group.facts)
        group.make()
        for name, device in zip((VOLUME, CACHE), devices, strict=True):
            all_of_it = ("--extents", "100%PVS", group.name, device)
            group.run_checked("lvcreate", "--yes", "--name", name, *all_of_it)
        group.run_checked("lvchange", "--activate", "n", f"{group.name}/{CACHE}")
        kind = ("--type", "writecache", "--cachevol", CACHE)
        group.run_checked("lvconvert", "--yes", *kind, group.volume)
        return group.device


PLUGINS = (
    LayerKind(
        name="lvm", keys=LvmKeys, needs=list_needs("arrays of LVM"), handlers={"lvm": remove}
    ),
    LayerKind(
        name="writecache",
        keys=WriteCacheKeys,
        needs=list_needs("a write cache in front of a device"),
        is_unequal=True,
        handlers={"lvm-cached": remove},
    ),
)
