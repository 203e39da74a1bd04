"""An array that is a file system: btrfs over several devices, which keeps checksums of its data.

Source of the levels: mkfs.btrfs(8), section PROFILES. Levels 5 and 6 are not offered: their own
manual page warns of them (btrfs(5), RAID56 STATUS AND RECOMMENDED PRACTICES). Nor can checksums be
switched off: without them a mirror that missed a write may return the old data.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from stithy.drives import filesystems
from stithy.needs import KernelFileSystem, Need, Program
from stithy.storage.layer import Task

NAME = "btrfs"
FILESYSTEM = "btrfs"
Level = Literal["single", "raid0", "raid1", "raid1c3", "raid10"]
LEAST: dict[Level, int] = {"single": 1, "raid0": 2, "raid1": 2, "raid1c3": 3, "raid10": 4}
COPIES: dict[Level, int] = {"single": 1, "raid0": 1, "raid1": 2, "raid1c3": 3, "raid10": 2}
STRIPED = frozenset({"raid0", "raid10"})

NEEDS: tuple[Need, ...] = (
    Program(
        name="mkfs.btrfs",
        package=filesystems.KINDS[FILESYSTEM].package,
        asked=("-V",),
        why="arrays of btrfs",
    ),
    KernelFileSystem(name=FILESYSTEM, why="arrays of btrfs"),
)


class Spec(BaseModel):
    """An array of btrfs, which is the file system, too. Data and metadata have the same level."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level = Field(
        default="raid1",
        description=(
            "How data lie on the devices: one after the other (`single`), striped (`raid0`), in "
            "two or three copies (`raid1`, `raid1c3`), striped over pairs of copies (`raid10`)."
        ),
        examples=["single"],
    )


def members(spec: Spec) -> tuple[int, int | None]:
    """By the level; there is no greatest number."""
    return LEAST[spec.level], None


def capacity_bytes(spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """What the copies leave: no two lie on one device, and stripes end with the smallest."""
    copies, ordered = COPIES[spec.level], sorted(sizes_bytes)
    if spec.level in STRIPED:
        return len(ordered) * ordered[0] // copies
    # The largest devices can hold no more than what the others hold the further copies of.
    return min(
        sum(ordered[: len(ordered) - larger]) // (copies - larger) for larger in range(copies)
    )


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Make the file system over all devices; the kernel finds the others by the first."""
    levels = ("-d", spec.level, "-m", spec.level)
    filesystems.make(
        devices[0], FILESYSTEM, uuid=task.identifier, options=levels, others=devices[1:],
        runner=task.runner,
    )  # fmt: skip
    return devices[0]
