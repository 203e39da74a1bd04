"""An emulated drive: a block device with the service times of a described one, and a file system.

It serves every role that has no source of its own.
"""

from collections.abc import Mapping

from stithy.storage.provider import Role, Site
from stithy.storage.providers.drive import emulated
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.sizes import NO_FILE_SYSTEM

NAME = "drive"
EMULATED = True
NEEDS = emulated.NEEDS


class Spec(DriveKeys):
    """A candidate on an emulated drive, or an array of them, with a file system of its own."""


def drive_names(spec: Spec) -> tuple[str, ...]:
    """The names of all drives, by which results know them."""
    return spec.names("data")


def raw(spec: Spec) -> bool:
    """Whether the volume is a block device without a file system."""
    return spec.filesystem == NO_FILE_SYSTEM


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that the drives take, bytes."""
    return spec.image_bytes(needed_bytes["data"])


def set_aside(spec: Spec, needed_bytes: Mapping[Role, int]) -> tuple[int, float]:
    """The bytes on all its drives, and how many of them a byte of files takes."""
    return spec.set_aside(needed_bytes["data"])


def overlap(_one: Spec, _other: Spec) -> bool:
    """Never: each drive is made anew, also one like another."""
    return False


def create(spec: Spec, candidate: str, site: Site) -> emulated.EmulatedProvider:
    """The provider of one role of a candidate."""
    return create_together({site.role: spec}, candidate, site)


def create_together(
    specs: Mapping[Role, DriveKeys], candidate: str, site: Site
) -> emulated.EmulatedProvider:
    """The provider of several roles: one program serves all their drives."""
    return emulated.EmulatedProvider(specs, candidate, site)
