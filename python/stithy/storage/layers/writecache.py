"""A device with a faster one in front of it, which takes its writes: dm-writecache, made by LVM.

As in lvmcache(7). What is written is acknowledged by the faster device, and moves on later. Reads
of what is not in the cache come from the slower one.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from stithy.storage import lvm
from stithy.storage.layer import LayerKind, Task

CACHE = "cache"


class Spec(BaseModel):
    """A device, and a faster one in front of it that takes its writes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def members(_spec: Spec) -> tuple[int, int | None]:
    """The device with the data, then the cache."""
    return 2, 2


def capacity_bytes(_spec: Spec, sizes_bytes: Sequence[int]) -> int:
    """That of the first."""
    return lvm.extents(sizes_bytes[0]) * lvm.EXTENT_BYTES


def redundancy(_spec: Spec, _count: int) -> float:
    """What moves on leaves the cache."""
    return 1.0


def cautions(_spec: Spec) -> tuple[str, ...]:
    """What the cache holds is nowhere else."""
    return ("a failure of the cache loses what was written and has not moved on",)


def build(spec: Spec, devices: Sequence[str], task: Task) -> str:
    """Make a volume on each, and put the second in front of the first."""
    group = lvm.Group(devices, task.identifier, task.runner)
    task.record("lvm-cached", group.facts)
    group.make()
    for name, device in zip((lvm.VOLUME, CACHE), devices, strict=True):
        all_of_it = ("--extents", "100%PVS", group.name, device)
        group.done("lvcreate", "--yes", "--name", name, *all_of_it)
    group.done("lvchange", "--activate", "n", f"{group.name}/{CACHE}")
    kind = ("--type", "writecache", "--cachevol", CACHE)
    group.done("lvconvert", "--yes", *kind, group.volume)
    return group.device


PLUGINS = (
    LayerKind(
        name="writecache",
        keys=Spec,
        members=members,
        capacity_bytes=capacity_bytes,
        redundancy=redundancy,
        build=build,
        cautions=cautions,
        needs=lvm.needs("a write cache in front of a device"),
        is_unequal=True,
        handlers={"lvm-cached": lvm.remove},
    ),
)
