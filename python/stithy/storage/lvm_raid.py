"""RAID as LVM makes it: how many devices a level takes, what it leaves of them, how it is made.

Levels and options as in lvmraid(7). Mirrors begin as if they were in sync: what was never written
may differ between copies, and nobody reads it. Levels with parity, and those with checksums, are
synchronised before they are used.
"""

from collections.abc import Sequence

from stithy.storage import lvm, raid
from stithy.storage.raid import COPIES, PARITY, STRIPED, Level, RaidSpec
from stithy.units import parse_size

MEMBERS: dict[Level, tuple[int, int | None]] = {**raid.MEMBERS, "raid6": (5, None)}
"""Parity of two needs three others."""

PAIRS: dict[Level, int] = {"raid10": 2}
"""Of how many devices it takes a multiple: `lvcreate` leaves an odd one unused."""

REDUNDANT = (*COPIES, *PARITY)
CHUNK_USUAL = "64 KiB"
JOURNAL_BYTES = 64 * lvm.MIB
DATA_OF_CHECKSUMS_BYTES = 500 * lvm.MIB
"""Each of them has an extent of checksums.
Source of both: LVM, lib/metadata/integrity_manip.c, `_lv_size_bytes_to_integrity_meta_bytes`."""


def capacity_bytes(level: Level, sizes_bytes: Sequence[int], *, checksum: bool = False) -> int:
    """What copies and parity leave of the smallest; `single` adds all up."""
    extents = [_extents(level, each, checksum) for each in sizes_bytes]
    if level == "single":
        return sum(extents) * lvm.EXTENT_BYTES
    return min(extents) * _stripes(level, len(extents)) * lvm.EXTENT_BYTES


def _extents(level: Level, size_bytes: int, checksum: bool) -> int:
    """How many of a device hold data."""
    there = lvm.extents(size_bytes)
    if level in REDUNDANT:
        there -= 1  # which of its regions are in sync
    if checksum:
        there -= 1 + JOURNAL_BYTES // lvm.EXTENT_BYTES
        of_one = DATA_OF_CHECKSUMS_BYTES // lvm.EXTENT_BYTES
        there = there * of_one // (of_one + 1)
    return max(0, there)


def _stripes(level: Level, count: int) -> int:
    """On how many devices different data lie."""
    return count - PARITY[level] if level in PARITY else count // COPIES.get(level, 1)


def make(
    spec: RaidSpec, group: lvm.Group, volume: str, count: int, *, checksum: bool = False
) -> int:
    """Make a volume on all `count` devices of a group, which is made; its size, bytes.

    Waits until it is in sync.
    """
    size = capacity_bytes(spec.level, group.make(), checksum=checksum)
    extents = size // lvm.EXTENT_BYTES
    group.done(*create_words(spec, group.name, volume, extents, count, checksum=checksum))
    if checksum or spec.level in PARITY:
        group.wait_in_sync()
    return size


def create_words(
    spec: RaidSpec, group: str, volume: str, extents: int, count: int, *, checksum: bool
) -> list[str]:
    """The words of `lvcreate` that make the volume."""
    words = ["lvcreate", "--yes", "--name", volume, "--extents", str(extents)]
    words += ["--type", {"single": "linear", "raid1c3": "raid1"}.get(spec.level, spec.level)]
    if spec.level in COPIES:
        words += ["--mirrors", str(COPIES[spec.level] - 1)]
    if spec.level in STRIPED:
        words += ["--stripes", str(_stripes(spec.level, count))]
        words += ["--stripesize", f"{parse_size(spec.chunk or CHUNK_USUAL) // 1024}k"]
    if checksum:
        words += ["--raidintegrity", "y"]
    elif spec.level in COPIES:
        words.append("--nosync")
    return [*words, group]
