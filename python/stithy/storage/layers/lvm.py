"""An array of LVM: the kernel's RAID by device-mapper, with a checksum of each block where asked.

Levels and options as in lvmraid(7). Mirrors begin as if they were in sync: what was never written
may differ between copies, and nobody reads it. Levels with parity, and those with checksums, are
synchronised before they are used.
"""

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from stithy.needs import Need
from stithy.storage import lvm, raid
from stithy.storage.layer import Task, rule
from stithy.storage.raid import (
    COPIES,
    PARITY,
    STRIPED,
    Chunk,
    Level,
    RaidSpec,
    bytes_for_one,
    chunk_field,
)
from stithy.units import parse_size

NAME = "lvm"
MEMBERS: dict[Level, tuple[int, int | None]] = {
    "single": (1, None), "raid0": (2, None), "raid1": (2, 2), "raid1c3": (3, 3),
    "raid10": (4, None), "raid5": (3, None), "raid6": (5, None),
}  # fmt: skip
CHUNK_USUAL = 64 * 1024
JOURNAL_BYTES = 64 * lvm.MIB
DATA_OF_CHECKSUMS_BYTES = 500 * lvm.MIB
"""Each of them has an extent of checksums.
Source of both: LVM, lib/metadata/integrity_manip.c, `_lv_size_bytes_to_integrity_meta_bytes`."""

NEEDS: tuple[Need, ...] = lvm.needs("arrays of LVM")


class Spec(RaidSpec):
    """An array of LVM, with a file system on it."""

    chunk: Chunk = chunk_field("that of LVM, 64 KiB")
    checksum: bool = Field(
        default=False,
        description=(
            "Whether each device has checksums of its blocks (dm-integrity), so that what it "
            "returns wrongly is read from another one. All writes then go through a journal."
        ),
        examples=[True],
    )

    @model_validator(mode="after")
    def _only_redundant_levels_have_checksums(self) -> Self:
        redundant = (*COPIES, *PARITY)
        if self.checksum and self.level not in redundant:
            right = f"leave out `checksum`, or use {', '.join(redundant)}"
            raise rule(f"{self.level} cannot repair what a checksum finds wrong", right)
        return self


def members(spec: Spec) -> tuple[int, int | None]:
    """By the level: a mirror has as many devices as copies, parity of two needs three others."""
    return MEMBERS[spec.level]


def capacity_bytes(spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """What copies and parity leave of the smallest; `single` adds all up."""
    extents = [_extents(spec, each) for each in sizes_bytes]
    if spec.level == "single":
        return sum(extents) * lvm.EXTENT_BYTES
    return min(extents) * _stripes(spec, len(extents)) * lvm.EXTENT_BYTES


def _extents(spec: Spec, size_bytes: int) -> int:
    """How many of a device hold data."""
    there = lvm.extents(size_bytes)
    if spec.level in (*COPIES, *PARITY):
        there -= 1  # which of its regions are in sync
    if spec.checksum:
        there -= 1 + JOURNAL_BYTES // lvm.EXTENT_BYTES
        of_one = DATA_OF_CHECKSUMS_BYTES // lvm.EXTENT_BYTES
        there = there * of_one // (of_one + 1)
    return max(0, there)


def _stripes(spec: Spec, count: int) -> int:
    """On how many devices different data lie."""
    if spec.level in PARITY:
        return count - PARITY[spec.level]
    return count // COPIES.get(spec.level, 1)


def redundancy(spec: Spec, count: int) -> float:
    """By the level."""
    return bytes_for_one(spec.level, count)


def cautions(spec: Spec) -> tuple[str, ...]:
    """What synchronising takes."""
    return raid.cautions(spec, synchronised=spec.checksum)


def create_words(spec: Spec, group: str, extents: int, count: int) -> list[str]:
    """The words of `lvcreate` that make the array on all `count` devices of the group."""
    words = ["lvcreate", "--yes", "--name", lvm.VOLUME, "--extents", str(extents)]
    words += ["--type", {"single": "linear", "raid1c3": "raid1"}.get(spec.level, spec.level)]
    if spec.level in COPIES:
        words += ["--mirrors", str(COPIES[spec.level] - 1)]
    if spec.level in STRIPED:
        words += ["--stripes", str(_stripes(spec, count))]
        words += ["--stripesize", f"{_chunk_bytes(spec) // 1024}k"]
    if spec.checksum:
        words += ["--raidintegrity", "y"]
    elif spec.level in COPIES:
        words.append("--nosync")
    return [*words, group]


def _chunk_bytes(spec: Spec) -> int:
    return CHUNK_USUAL if spec.chunk is None else parse_size(spec.chunk)


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Make the array, and wait until what must be synchronised is."""
    group = lvm.Group(devices, task.identifier, task.runner)
    task.record("lvm", group.facts)
    extents = capacity_bytes(spec, group.make()) // lvm.EXTENT_BYTES
    group.done(*create_words(spec, group.name, extents, len(devices)))
    if spec.checksum or spec.level in PARITY:
        group.wait_in_sync()
    return group.device


HANDLERS = {"lvm": lvm.remove}
