"""An array: drives or devices under a layer, asked for by level or by the policies of the field.

It says no more than a `drive` or `device` with a `layer` does, and those provide it.
"""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from stithy.errors import UserError
from stithy.storage.provider import Provider, Role, Site
from stithy.storage.providers import device
from stithy.storage.providers.array.keys import ArrayKeys
from stithy.storage.providers.drive import emulated
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.sizes import NO_FILE_SYSTEM

NAME = "array"
NEEDS = device.NEEDS
"""Emulated drives need more, as the provider `drive` says; engines have their own."""


class Spec(BaseModel):
    """A candidate that is an array, with one volume."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    array: ArrayKeys = Field(description="The array: its drives or devices, and what it is.")


def emulated_drives(spec: Spec) -> bool:
    """Whether its members are emulated."""
    return isinstance(spec.array.members, DriveKeys)


def drive_names(spec: Spec) -> tuple[str, ...]:
    """The names of its drives; none where they are devices."""
    members = spec.array.members
    return members.names("data") if isinstance(members, DriveKeys) else ()


def raw(spec: Spec) -> bool:
    """Whether the array has no file system."""
    return spec.array.members.filesystem == NO_FILE_SYSTEM


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that its emulated drives take, bytes."""
    members = spec.array.members
    return members.image_bytes(needed_bytes["data"]) if isinstance(members, DriveKeys) else 0


def set_aside(spec: Spec, needed_bytes: Mapping[Role, int]) -> tuple[int | None, float]:
    """The bytes on all its drives, and how many of them a byte of files takes."""
    members = spec.array.members
    if isinstance(members, DriveKeys):
        return members.set_aside(needed_bytes["data"])
    return None, spec.array.layer.redundancy(spec.array.count)


def overlap(one: Spec, other: Spec) -> bool:
    """Whether two have a device in common; emulated drives are made anew."""
    first, second = one.array.members, other.array.members
    if isinstance(first, DriveKeys) or isinstance(second, DriveKeys):
        return False
    return device.overlap(first, second)


def like(spec: Spec, _ending: str) -> Spec:
    """Another one of emulated drives. Raises UserError for devices."""
    if emulated_drives(spec):
        return spec
    raise UserError(
        "an array of devices cannot be compared with itself: two candidates would share it",
        where="--null",
        remedy="put a directory or an array of emulated drives first among the candidates",
    )


def create(spec: Spec, candidate: str, site: Site) -> Provider:
    """The provider of one role of a candidate."""
    members = spec.array.members
    if isinstance(members, DriveKeys):
        return emulated.EmulatedProvider({site.role: members}, candidate, site)
    return device.create(members, candidate, site)
