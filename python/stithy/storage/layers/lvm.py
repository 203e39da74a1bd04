"""An array of LVM: the kernel's RAID by device-mapper, with checksums of all blocks where asked."""

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from stithy.storage import layer, lvm
from stithy.storage.layer import Chunk, LayerKind, RaidSpec, Task, bytes_for_one, chunk_field, rule

MEMBERS = lvm.MEMBERS


class Spec(RaidSpec):
    """An array of LVM, with a file system on it."""

    chunk: Chunk = chunk_field(f"that of LVM, {lvm.CHUNK_USUAL}")
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
        if self.checksum and self.level not in lvm.REDUNDANT:
            right = f"leave out `checksum`, or use {', '.join(lvm.REDUNDANT)}"
            raise rule(f"{self.level} cannot repair what a checksum finds wrong", right)
        return self


def members(spec: Spec) -> tuple[int, int | None]:
    """By the level."""
    return MEMBERS[spec.level]


def multiple(spec: Spec) -> int:
    """Pairs, where the level has them."""
    return lvm.PAIRS.get(spec.level, 1)


def capacity_bytes(spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """What copies, parity and checksums leave."""
    return lvm.capacity_bytes(spec.level, sizes_bytes, checksum=spec.checksum)


def redundancy(spec: Spec, count: int) -> float:
    """By the level."""
    return bytes_for_one(spec.level, count)


def cautions(spec: Spec) -> tuple[str, ...]:
    """What synchronising takes."""
    return layer.cautions(spec, synchronised=spec.checksum)


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Make the array, and wait until what must be synchronised is."""
    group = lvm.Group(devices, task.identifier, task.runner)
    task.record("lvm", group.facts)
    lvm.make(spec, group, lvm.VOLUME, len(devices), checksum=spec.checksum)
    return group.device


PLUGINS = (
    LayerKind(
        name="lvm",
        keys=Spec,
        members=members,
        capacity_bytes=capacity_bytes,
        redundancy=redundancy,
        build=build,
        multiple=multiple,
        cautions=cautions,
        needs=lvm.needs("arrays of LVM"),
        handlers={"lvm": lvm.remove},
    ),
)
