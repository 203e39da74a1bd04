"""A cluster as a whole: its drives, its daemons, its volume's image, and back to nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.cluster import daemons, image, integrity, network
from stithy.cluster.layout import Entry
from stithy.cluster.policy import Policy

OSD_OVERHEAD_BYTES = 640 * 2**20
"""What BlueStore takes of a drive for its own database and log, with the share that must be free.
"""
SPARE = 1.3
"""Placement by hash fills some OSDs more than others."""


@dataclass(frozen=True)
class ClusterSpec:
    """What is raised on drives that are up. `gbit` None: links of no limit."""

    policy: Policy
    image_bytes: int
    gbit: float | None = None


def drive_bytes(policy: Policy, image_bytes: int, osds: int) -> int:
    """How large each drive must be that the whole image has room, bytes; whole MiB."""
    share = image_bytes * policy.redundancy * SPARE / osds
    return -(-round(share + OSD_OVERHEAD_BYTES) // 2**20) * 2**20


def raise_cluster(
    folder: Path,
    entry: Entry,
    asked: ClusterSpec,
    devices: Sequence[str],
    faster: Sequence[str] = (),
) -> str:
    """Raise the cluster in `folder`, whose entry is written; the block device of its image.

    An OSD on each of `devices`; its database and log lie on the one of `faster`, where there are.
    A way to the image that gives back other bytes than were written is refused.
    """
    network.make(folder, entry, asked.gbit)
    daemons.bring_up(folder, entry, devices, faster)
    image.make(folder, entry, asked.policy, asked.image_bytes)
    device = image.attach(folder, entry, limited=asked.policy.iops_limit is not None)
    integrity.check(Path(device))
    return device
