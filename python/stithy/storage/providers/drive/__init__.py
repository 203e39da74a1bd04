"""An emulated drive: a block device with the service times of a described one, and a file system.

It serves every role that has no source of its own.
"""

from collections.abc import Mapping

from stithy.storage.provider import Provider, Role, SetAside, Site, Storage
from stithy.storage.providers.drive import emulated
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.sizes import NO_FILE_SYSTEM


class Spec(DriveKeys):
    """A candidate on an emulated drive, or an array of them, with a file system of its own."""


class DriveProvider(Provider):
    """Emulated drives: each is made anew, so that no two candidates share one."""

    name = "drive"
    needs = emulated.NEEDS
    spec = Spec

    def create(self, spec: DriveKeys, candidate: str, site: Site) -> Storage:
        """Create the storage of one role of a candidate."""
        return self.create_together({site.role: spec}, candidate, site)

    def create_together(
        self, specs: Mapping[Role, DriveKeys], candidate: str, site: Site
    ) -> Storage:
        """Create the storage of several roles: one program serves all their drives."""
        return emulated.EmulatedStorage(specs, candidate, site)

    def has_emulated_drives(self, spec: DriveKeys) -> bool:
        """Always."""
        del spec
        return True

    def has_block_device(self, spec: DriveKeys) -> bool:
        """Whether the study asks for no file system."""
        return spec.filesystem == NO_FILE_SYSTEM

    def name_drives(self, spec: DriveKeys) -> tuple[str, ...]:
        """Name all drives."""
        return spec.names("data")

    def count_image_bytes(self, spec: DriveKeys, needed_bytes: Mapping[Role, int]) -> int:
        """Count the memory that the drives take, bytes."""
        return spec.image_bytes(needed_bytes["data"])

    def set_aside(self, spec: DriveKeys, needed_bytes: Mapping[Role, int]) -> SetAside:
        """Give the bytes on all its drives, and how many of them a byte of files takes."""
        return SetAside(*spec.set_aside(needed_bytes["data"]))

    def overlaps(self, spec: DriveKeys, other: DriveKeys) -> bool:
        """Never: each drive is made anew, also one like another."""
        del spec, other
        return False


PLUGINS = (DriveProvider(),)
