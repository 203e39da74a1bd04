"""Devices whose blocks are compressed, and equal ones stored once: dm-vdo, made by LVM.

As in lvmvdo(7), over any level that LVM has. Its volume is as large as what it can hold of data
that do not shrink, unless the study asks for more.
"""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Runner
from stithy.needs import KernelModule, Package, ProgramNeed
from stithy.storage.layer import BuildTask, LayerKind
from stithy.storage.layers import lvm
from stithy.storage.provider import MIB
from stithy.storage.space import Usage

POOL = "pool"
BLOCK_BYTES = 4096
"""What it compresses and compares."""

RESERVED_BYTES = 2816 * MIB
"""The index of a deduplication window with 256 MiB of memory, and a journal.
Source: vdoformat 8.3, tried with devices of 3 to 8 GiB."""

SLABS_MAX = 8192
SMALL_SLAB_BYTES, LARGE_SLAB_BYTES = 128 * MIB, 2048 * MIB
"""Only whole slabs hold data; small ones leave less of a small device unused, and reach 1 TiB."""

DATA_SHARE = 0.98
"""What is left of slabs beside their books and the map of all blocks."""

WHY = "compression and deduplication below a file system"


class VdoKeys(lvm.GroupKeys):
    """Compression and deduplication of all blocks, with a file system on it."""

    compression: Literal["lz4", "none"] = Field(
        default="lz4",
        description="What compresses blocks of 4 KiB: `lz4`, which vdo alone has, or `none`.",
        examples=["lz4"],
    )
    deduplication: bool = Field(
        default=True, description="Whether equal blocks of 4 KiB are stored once.", examples=[True]
    )
    overcommit: float = Field(
        default=1.0,
        ge=1.0,
        le=100.0,
        description=(
            "How many times as large the volume is as the data that it can hold if nothing "
            "shrinks. Writes fail once it is full."
        ),
        examples=[1.0],
    )

    def count_capacity_bytes(self, sizes_bytes: Sequence[int]) -> int:
        """Count what it holds if nothing shrinks: the level's capacity, less index and books."""
        return _count_usable_bytes(self.count_volume_bytes(sizes_bytes))

    def list_cautions(self) -> tuple[str, ...]:
        cautions = [
            *super().list_cautions(),
            "dm-vdo takes about 640 MiB of memory and the CPU time of its own threads, which no "
            "limit of the database counts",
        ]
        if self.overcommit > 1:
            cautions.append(
                f"the volume promises {self.overcommit:g} times what it holds if nothing shrinks: "
                "writes fail once it is full"
            )
        return tuple(cautions)

    def build(self, devices: Sequence[str], task: BuildTask) -> str:
        """Make the level below, and of its volume a pool with one thin volume."""
        group = lvm.VolumeGroup(devices, task.identifier, task.runner)
        task.record("lvm-vdo", group.facts)
        size = self.make_volume(group, POOL, len(devices))
        group.run_checked(*convert_words(self, group.name, size))
        return group.device


def _choose_slab_bytes(size_bytes: int) -> int:
    small = size_bytes <= SMALL_SLAB_BYTES * SLABS_MAX // 2
    return SMALL_SLAB_BYTES if small else LARGE_SLAB_BYTES


def _count_usable_bytes(size_bytes: int) -> int:
    slab = _choose_slab_bytes(size_bytes)
    return int(max(0, size_bytes - RESERVED_BYTES) // slab * slab * DATA_SHARE)


def convert_words(spec: VdoKeys, group: str, size_bytes: int) -> list[str]:
    """The words of `lvconvert` that make a pool of a volume of this size, and a volume in it."""
    extents = int(_count_usable_bytes(size_bytes) * spec.overcommit) // lvm.EXTENT_BYTES
    if extents < 1:
        least = RESERVED_BYTES + _choose_slab_bytes(size_bytes)
        raise InfrastructureError(
            f"dm-vdo has no room in {size_bytes // MIB} MiB: it takes {RESERVED_BYTES // MIB} MiB "
            "for itself",
            where=group,
            remedy=f"give it at least {least // MIB} MiB after copies and parity",
        )
    yes = {True: "y", False: "n"}
    return [
        "lvconvert", "--yes", "--type", "vdo-pool", "--name", lvm.VOLUME,
        "--virtualsize", f"{extents * lvm.EXTENT_BYTES}b",
        "--compression", yes[spec.compression != "none"],
        "--deduplication", yes[spec.deduplication],
        "--vdosettings", f"slab_size_mb={_choose_slab_bytes(size_bytes) // MIB}", f"{group}/{POOL}",
    ]  # fmt: skip


def read_usage_below(device: str, redundancy: float, runner: Runner) -> Usage:
    """What its blocks take, by its own books."""
    pool = f"{device.removesuffix(f'-{lvm.VOLUME}')}-{POOL}-vpool"
    asked = ("dmsetup", "message", pool, "0", "stats")
    finished = filesystems.run_tool(runner, lvm.MAPPER, *asked, timeout_s=60.0)
    if finished.code != 0:
        raise InfrastructureError(
            f"its space cannot be read: {finished.stderr.strip() or 'dm-vdo says nothing'}",
            where=pool,
            remedy=f"try it by hand, as root: dmsetup message {pool} 0 stats",
        )
    return parse_stats(finished.stdout, redundancy)


def parse_stats(text: str, redundancy: float) -> Usage:
    """The books, such as `{ version : 36, …, dataBlocksUsed : 12, overheadBlocksUsed : 34, …`."""
    blocks = {
        name: re.search(rf"\b{name} : (\d+)", text)
        for name in ("dataBlocksUsed", "overheadBlocksUsed")
    }
    data, overhead = (int(block[1]) * BLOCK_BYTES if block else None for block in blocks.values())
    if data is None or overhead is None:
        raise InfrastructureError(
            "dm-vdo does not say how many blocks are used",
            where="dm-vdo",
            remedy="use a kernel with dm-vdo, from 6.9 on, or kvdo 8.1",
        )
    return Usage(data, round((data + overhead) * redundancy), redundancy)


PLUGINS = (
    LayerKind(
        name="vdo",
        keys=VdoKeys,
        usage_below=read_usage_below,
        needs=(
            *lvm.list_needs(WHY),
            ProgramNeed(
                name="vdoformat", package=Package("vdo", "vdo"), asked=("--version",), why=WHY
            ),
            KernelModule(
                names=("dm_vdo", "kvdo"),
                remedy="use a kernel with dm-vdo, from 6.9 on, or the module kvdo for an older one",
                why=WHY,
            ),
        ),
        handlers={"lvm-vdo": lvm.remove},
    ),
)
