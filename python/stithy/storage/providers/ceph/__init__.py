"""A Ceph cluster: hosts with drives, a storage policy, and an image of it as the volume."""

from collections.abc import Mapping
from pathlib import Path

from stithy.cluster.removal import remove
from stithy.storage.provider import Provider, Role, Site
from stithy.storage.providers.ceph import existing, laboratory
from stithy.storage.providers.ceph.keys import Spec

NAME = "ceph"
NEEDS = laboratory.NEEDS
OSD_BYTES = 250 * 2**20
"""Memory of an OSD, with its share of the monitor. Measured under load: 206 MiB, and 38 MiB."""


def drive_names(spec: Spec) -> tuple[str, ...]:
    """The names of all drives under the cluster, by which results know them."""
    return spec.ceph.names


def emulated_drives(spec: Spec) -> bool:
    """Of a cluster that Stithy raises."""
    return spec.ceph.conf is None


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that the drives take, bytes."""
    keys = spec.ceph
    if keys.backing is not None or keys.conf is not None:
        return 0
    return sum(keys.sizes_bytes(needed_bytes["data"]).values())


def daemons_bytes(spec: Spec) -> int:
    """The memory of its daemons, bytes."""
    return len(spec.ceph.osd_names) * OSD_BYTES if emulated_drives(spec) else 0


def set_aside(
    spec: Spec, needed_bytes: Mapping[Role, int]
) -> tuple[int, float] | tuple[None, None]:
    """The bytes on all drives by its policy, and how many of them a byte of files takes.

    None of a cluster that is there, whose pool has a policy of its own.
    """
    if not emulated_drives(spec):
        return None, None
    redundancy = spec.ceph.policy.policy.redundancy
    return round(spec.ceph.volume_bytes(needed_bytes["data"]) * redundancy), redundancy


def overlap(_one: Spec, _other: Spec) -> bool:
    """Never: each cluster is made anew."""
    return False


def create(spec: Spec, candidate: str, site: Site) -> Provider:
    """The provider of one candidate."""
    made = laboratory.LaboratoryProvider if spec.ceph.conf is None else existing.ExistingProvider
    return made(spec.ceph, candidate, site)


HANDLERS = {
    "cluster": lambda facts: remove(Path(facts["folder"])),
    "rbd-image": existing.remove_image,
}
