"""An emulated drive: a block device with the service times of a described one, and a file system.

One drive serves every role that has none of its own.
"""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from stithy.storage.provider import ROLES, Role, Site
from stithy.storage.providers.drive import emulated
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.sizes import NO_FILE_SYSTEM

NAME = "drive"
EMULATED = True
NEEDS = emulated.NEEDS


class Roles(BaseModel):
    """The roles that have a drive of their own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    log: DriveKeys | None = Field(
        default=None,
        json_schema_extra={"default": "the data drive"},
        description="The drive of the write-ahead log.",
    )
    temp: DriveKeys | None = Field(
        default=None,
        json_schema_extra={"default": "the data drive"},
        description="The drive of temporary files, which hold sorts and hashes that exceed memory.",
    )
    backup: DriveKeys | None = Field(
        default=None,
        json_schema_extra={"default": "the data drive"},
        description="The drive of backups.",
    )


class Spec(DriveKeys):
    """A candidate on emulated drives, each with a file system of its own."""

    roles: Roles = Field(
        default=Roles(),
        json_schema_extra={"default": "one drive for all"},
        description="Separate drives for the log, temporary files or backups.",
    )

    @property
    def drives(self) -> dict[Role, DriveKeys]:
        """The drives that there are, by role; that of the data serves every role without one."""
        own: dict[Role, DriveKeys | None] = {
            role: self if role == "data" else getattr(self.roles, role) for role in ROLES
        }
        return {role: keys for role, keys in own.items() if keys is not None}


def drive_names(spec: Spec) -> tuple[str, ...]:
    """The names of all drives, by which results know them."""
    return tuple(name for role, keys in spec.drives.items() for name in keys.names(role))


def raw(spec: Spec) -> bool:
    """Whether any volume is a block device without a file system."""
    return any(keys.filesystem == NO_FILE_SYSTEM for keys in spec.drives.values())


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that the drives take, bytes."""
    return sum(keys.image_bytes(needed_bytes[role]) for role, keys in spec.drives.items())


def set_aside(spec: Spec, needed_bytes: Mapping[Role, int]) -> dict[Role, tuple[int, float]]:
    """By role, the bytes on all its drives, and how many of them a byte of files takes."""
    return {role: keys.set_aside(needed_bytes[role]) for role, keys in spec.drives.items()}


def overlap(_one: Spec, _other: Spec) -> bool:
    """Never: each drive is made anew, also one like another."""
    return False


def create(spec: Spec, candidate: str, site: Site | None = None) -> emulated.EmulatedProvider:
    """The provider of one candidate."""
    return emulated.EmulatedProvider(spec.drives, candidate, site)
