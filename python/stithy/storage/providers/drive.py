"""An emulated drive: a block device with the service times of a described one, and a file system.

One drive serves every role. `drives` gives each role one of its own.
"""

from collections.abc import Mapping

from stithy.storage import emulated
from stithy.storage.drive_keys import DriveKeys
from stithy.storage.provider import Role, Site

NAME = "drive"
EMULATED = True
NEEDS = emulated.NEEDS


class Spec(DriveKeys):
    """A candidate on one emulated drive, with a file system of its own."""


def drive_roles(_: Spec) -> tuple[Role, ...]:
    """One drive, that of the data."""
    return ("data",)


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that the drive takes, bytes."""
    return spec.image_bytes(needed_bytes["data"])


def overlap(_one: Spec, _other: Spec) -> bool:
    """Never: each drive is made anew, also one like another."""
    return False


def create(spec: Spec, candidate: str, site: Site | None = None) -> emulated.EmulatedProvider:
    """The provider of one candidate."""
    return emulated.EmulatedProvider({"data": spec}, candidate, site)
