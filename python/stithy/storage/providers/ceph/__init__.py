"""A Ceph cluster: hosts with drives, a storage policy, and an image of it as the volume."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from stithy.cluster.image import remove
from stithy.storage.provider import Provider, Role, SetAside, Site, Storage
from stithy.storage.providers.ceph import existing, laboratory
from stithy.storage.providers.ceph.keys import CephSpec

OSD_BYTES = 250 * 2**20
"""Memory of an OSD, with its share of the monitor. Measured under load: 206 MiB, and 38 MiB."""


class CephProvider(Provider):
    """Clusters of Ceph: those that Stithy raises, and images of those that are there."""

    name = "ceph"
    needs = laboratory.NEEDS
    spec = CephSpec
    handlers: ClassVar = {
        "cluster": lambda facts: remove(Path(facts["folder"])),
        "rbd-image": existing.remove_image,
        existing.FAULT: existing.end_fault,
    }

    def create(self, spec: CephSpec, candidate: str, site: Site) -> Storage:
        made = laboratory.LaboratoryStorage if spec.ceph.conf is None else existing.ExistingStorage
        return made(spec.ceph, candidate, site)

    def has_emulated_drives(self, spec: CephSpec) -> bool:
        return spec.ceph.conf is None

    def name_drives(self, spec: CephSpec) -> tuple[str, ...]:
        return spec.ceph.names

    def count_image_bytes(self, spec: CephSpec, needed_bytes: Mapping[Role, int]) -> int:
        keys = spec.ceph
        if keys.backing is not None or keys.conf is not None:
            return 0
        return sum(keys.count_bytes_by_drive(needed_bytes["data"]).values())

    def count_daemons_bytes(self, spec: CephSpec) -> int:
        return len(spec.ceph.osd_names) * OSD_BYTES if self.has_emulated_drives(spec) else 0

    def set_aside(self, spec: CephSpec, needed_bytes: Mapping[Role, int]) -> SetAside:
        """Give the bytes on all drives by its policy, and how many of them a byte of files takes.

        None of a cluster that is there, whose pool has a policy of its own.
        """
        if not self.has_emulated_drives(spec):
            return SetAside()
        redundancy = spec.ceph.policy.policy.redundancy
        volume_bytes = spec.ceph.count_volume_bytes(needed_bytes["data"])
        return SetAside(round(volume_bytes * redundancy), redundancy)

    def is_overlapping(self, spec: CephSpec, other: CephSpec) -> bool:
        """Never: each cluster is made anew."""
        return False


PLUGINS = (CephProvider(),)
