"""A Ceph cluster: hosts with drives, a storage policy, and an image of it as the volume."""

from collections.abc import Mapping

from stithy.cluster.removal import remove
from stithy.storage.provider import Role, Site
from stithy.storage.providers.ceph import laboratory
from stithy.storage.providers.ceph.keys import CephKeys, Spec

NAME = "ceph"
EMULATED = True
NEEDS = laboratory.NEEDS
__all__ = ["EMULATED", "HANDLERS", "NAME", "NEEDS", "CephKeys", "Spec", "create", "drive_names"]


def drive_names(spec: Spec) -> tuple[str, ...]:
    """The names of all drives under the cluster, by which results know them."""
    return spec.ceph.names


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that the drives take, bytes."""
    keys = spec.ceph
    if keys.backing is not None:
        return 0
    return len(keys.names) * keys.drive_bytes(needed_bytes["data"])


def overlap(_one: Spec, _other: Spec) -> bool:
    """Never: each cluster is made anew."""
    return False


def create(spec: Spec, candidate: str, site: Site | None = None) -> laboratory.LaboratoryProvider:
    """The provider of one candidate."""
    return laboratory.LaboratoryProvider(spec.ceph, candidate, site)


HANDLERS = {"cluster": lambda facts: remove(laboratory.folder_in(facts))}
