"""An array: drives or devices under a layer, asked for by level or by the policies of the field.

It says no more than a `drive` or `device` with a `layer` does, and those provide it.
"""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from stithy.errors import UserError
from stithy.storage.provider import Provider, Role, SetAside, Site, Storage
from stithy.storage.providers import device
from stithy.storage.providers.array.keys import ArrayKeys
from stithy.storage.providers.drive import emulated
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.sizes import NO_FILE_SYSTEM


class Spec(BaseModel):
    """A candidate that is an array, with one volume."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    array: ArrayKeys = Field(description="The array: its drives or devices, and what it is.")


class ArrayProvider(Provider):
    """Arrays; emulated drives need more, as the provider `drive` says."""

    name = "array"
    needs = device.NEEDS
    spec = Spec

    def create(self, spec: Spec, candidate: str, site: Site) -> Storage:
        """Create the storage of one role of a candidate."""
        members = spec.array.members
        if isinstance(members, DriveKeys):
            return emulated.EmulatedStorage({site.role: members}, candidate, site)
        return device.DeviceStorage(members, candidate, site)

    def has_emulated_drives(self, spec: Spec) -> bool:
        """Whether its members are emulated."""
        return isinstance(spec.array.members, DriveKeys)

    def has_block_device(self, spec: Spec) -> bool:
        """Whether the array has no file system."""
        return spec.array.members.filesystem == NO_FILE_SYSTEM

    def name_drives(self, spec: Spec) -> tuple[str, ...]:
        """Name its drives; none where they are devices."""
        members = spec.array.members
        return members.names("data") if isinstance(members, DriveKeys) else ()

    def count_image_bytes(self, spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
        """Count the memory that its emulated drives take, bytes."""
        members = spec.array.members
        return members.image_bytes(needed_bytes["data"]) if isinstance(members, DriveKeys) else 0

    def set_aside(self, spec: Spec, needed_bytes: Mapping[Role, int]) -> SetAside:
        """Give the bytes on all its drives, and how many of them a byte of files takes."""
        members = spec.array.members
        if isinstance(members, DriveKeys):
            return SetAside(*members.set_aside(needed_bytes["data"]))
        return SetAside(None, spec.array.layer.redundancy(spec.array.count))

    def overlaps(self, spec: Spec, other: Spec) -> bool:
        """Whether two have a device in common; emulated drives are made anew."""
        first, second = spec.array.members, other.array.members
        if isinstance(first, DriveKeys) or isinstance(second, DriveKeys):
            return False
        return device.overlaps(first, second)

    def make_like(self, spec: Spec, ending: str) -> Spec:
        """Give another one of emulated drives. Raises UserError for devices."""
        if self.has_emulated_drives(spec):
            return spec
        raise UserError(
            "an array of devices cannot be compared with itself: two candidates would share it",
            where="--null",
            remedy="put a directory or an array of emulated drives first among the candidates",
        )


PLUGINS = (ArrayProvider(),)
