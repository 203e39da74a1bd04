"""An emulated drive for each role: data, write-ahead log, temporary files, backups."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from stithy.storage import emulated
from stithy.storage.drive_keys import DriveKeys
from stithy.storage.provider import ROLES, Role, Site

NAME = "drives"
EMULATED = True
NEEDS = emulated.NEEDS


class Roles(BaseModel):
    """The drive of each role; what has none is on the drive of the data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: DriveKeys = Field(description="The drive of the data, and of every role without its own.")
    log: DriveKeys | None = Field(
        default=None,
        json_schema_extra={"default": "that of the data"},
        description="The drive of the write-ahead log.",
    )
    temp: DriveKeys | None = Field(
        default=None,
        json_schema_extra={"default": "that of the data"},
        description="The drive of temporary files: what sorts and hashes do not keep in memory.",
    )
    backup: DriveKeys | None = Field(
        default=None,
        json_schema_extra={"default": "that of the data"},
        description="The drive of backups.",
    )


class Spec(BaseModel):
    """A candidate with an emulated drive for each role."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    drives: Roles = Field(description="The drive of each role.")

    @property
    def roles(self) -> dict[Role, DriveKeys]:
        """The drives that there are, by role."""
        given: dict[Role, DriveKeys | None] = {role: getattr(self.drives, role) for role in ROLES}
        return {role: keys for role, keys in given.items() if keys is not None}


def drive_roles(spec: Spec) -> tuple[Role, ...]:
    """The roles with a drive of their own."""
    return tuple(spec.roles)


def image_bytes(spec: Spec, needed_bytes: Mapping[Role, int]) -> int:
    """The memory that the drives take, bytes."""
    return sum(keys.image_bytes(needed_bytes[role]) for role, keys in spec.roles.items())


def overlap(_one: Spec, _other: Spec) -> bool:
    """Never: each drive is made anew, also one like another."""
    return False


def create(spec: Spec, candidate: str, site: Site | None = None) -> emulated.EmulatedProvider:
    """The provider of one candidate."""
    return emulated.EmulatedProvider(spec.roles, candidate, site)
