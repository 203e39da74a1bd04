"""Emulated drives as storage: block devices with the service times of described ones.

Each candidate has one drive program, which serves the drives of all its roles that have no source
of their own. Mount points are fresh folders of Stithy's own that the server's user can enter. What
a profile's name or text means, what it is worth, and whether a drive can be had is the drive
program's to say; it is asked before anything is made.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.needs import DeviceNeed, Need, OwnProgram, ProgramNeed, Root
from stithy.storage import provider
from stithy.storage.emulation import AskedDrive, bring_up, list_profile_times_s, suspend_pacing
from stithy.storage.formatted import MadeAnew, VolumeSpec, build_volume, need_rights
from stithy.storage.layer import Layer, OneLayer, check_members
from stithy.storage.provider import (
    NO_FILE_SYSTEM,
    EmulatedDrive,
    FileSystem,
    Provider,
    Record,
    Role,
    Room,
    SetAside,
    Site,
    Storage,
    Volume,
)
from stithy.storage.space import Space, measure_space
from stithy.storage.volume import measure_room
from stithy.units import BytesOrNone, FrozenModel, Scale, format_size, make_rule_error

if TYPE_CHECKING:
    from stithy.drives.profiles import DriveProfileFile

SIZE_BYTES_MIN = provider.DEVICE_BYTES_MIN
SIZE_BYTES_MAX = 2**50
COUNT_MAX = 64
MEMORY = "memory"


def read_profile(value: Any) -> str:
    """For pydantic: the name or path of a drive profile."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        right = "the name of a shipped one, such as generic-nvme, or the path of a file"
        raise make_rule_error("not a drive profile", right)
    return value.strip()


def read_backing(value: Any) -> Path | None:
    """None is memory."""
    if value is None or value == MEMORY:
        return None
    if isinstance(value, str | Path) and Path(value).is_absolute() and str(value).isprintable():
        return Path(value)
    right = f"`{MEMORY}`, or a directory in full, such as /var/tmp/images"
    raise make_rule_error("not a place for a drive's bytes", right)


def read_size(value: int | None) -> int | None:
    """For pydantic: a size that a device can have, down to whole MiB."""
    if value is not None and not SIZE_BYTES_MIN <= value <= SIZE_BYTES_MAX:
        small = value < SIZE_BYTES_MIN
        bound = format_size(SIZE_BYTES_MIN if small else SIZE_BYTES_MAX)
        right = f"at {'least' if small else 'most'} {bound}"
        raise make_rule_error("too small" if small else "too large", right)
    return value and value // provider.MIB * provider.MIB


DriveProfile = Annotated[
    str,
    BeforeValidator(read_profile),
    Field(description="The drive profile: the name of a shipped one, or the path of a file."),
]
Backing = Annotated[Path | None, BeforeValidator(read_backing), WithJsonSchema({"type": "string"})]
DriveBytes = Annotated[
    BytesOrNone,
    AfterValidator(read_size),
    PlainSerializer(lambda size: None if size is None else format_size(size)),
]
"""The size of a device, written as in a study."""


class DriveKeys(FrozenModel):
    """One emulated drive, or an array of equal ones, with a file system of its own."""

    drive: DriveProfile = Field(examples=["generic-nvme"])
    count: int = Field(
        default=1,
        ge=1,
        le=COUNT_MAX,
        description="How many such drives there are. More than one need a `layer` over them.",
        examples=[4],
    )
    layer: Annotated[Layer | None, OneLayer()] = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description="The array that makes one volume of the drives.",
    )
    size_bytes: DriveBytes = Field(
        alias="size",
        default=None,
        json_schema_extra={"default": "the space that the plan needs"},
        description=(
            "Size of each drive, at least 64 MiB. It may be smaller than the capacity of the "
            "profile."
        ),
        examples=["8 GiB"],
    )
    filesystem: FileSystem = Field(
        default="ext4",
        description=(
            "The file system that Stithy makes on it; `none` for the drive as it is, which no "
            "database can use."
        ),
        examples=["btrfs"],
    )
    scale: Scale = Field(
        default=1.0,
        json_schema_extra={"default": "1"},
        description=(
            "Scale model: capacity, IOPS and bandwidth of the profile are multiplied by this; "
            "latencies are not."
        ),
        examples=["1/8"],
    )
    backing: Backing = Field(
        default=None,
        json_schema_extra={"default": MEMORY},
        description=(
            "Where the drive keeps its data: `memory`, or a directory, in which it makes a "
            "sparse file. The storage below must be faster than the drive."
        ),
        examples=["/var/tmp"],
    )
    seed: Annotated[int | None, Field(ge=0, lt=2**63), WithJsonSchema({"type": "integer"})] = Field(
        default=None,
        json_schema_extra={"default": "from the study's seed"},
        description="Seed of the drive's own random choices, such as its latencies.",
        examples=[7],
    )

    trace: bool = Field(
        default=False,
        description=(
            "Whether every request of each measurement is recorded, 32 bytes a request, for "
            "`stithy block --learn RUN`."
        ),
    )

    @model_validator(mode="after")
    def _check_layer(self) -> Self:
        asked = self.filesystem if "filesystem" in self.model_fields_set else None
        check_members(self.layer, self.count, asked, "count", equal=True)
        return self

    def name_drives(self, role: str) -> tuple[str, ...]:
        """What its drives are called: as their role, or `data-1` and on where there are several."""
        if self.count == 1:
            return (role,)
        return tuple(f"{role}-{number}" for number in range(1, self.count + 1))

    def count_drive_bytes(self, needed_bytes: int) -> int:
        """How large a drive is, bytes: as asked, or else large enough for `needed_bytes` on all."""
        if self.size_bytes is not None:
            return self.size_bytes
        if self.layer is not None:
            return self.layer.count_member_bytes(self.filesystem, needed_bytes, self.count)
        return provider.count_device_bytes(self.filesystem, needed_bytes)

    def count_usable_bytes(self, drive_bytes: int) -> int:
        """How much files may take of drives of this size, bytes; an estimate on the safe side."""
        if self.layer is not None:
            return self.layer.count_usable_bytes(self.filesystem, [drive_bytes] * self.count)
        return provider.count_usable_bytes(self.filesystem, drive_bytes)

    def count_image_bytes(self, needed_bytes: int) -> int:
        """The memory that the drives take, bytes: 0 where their bytes lie in files."""
        return self.count * self.count_drive_bytes(needed_bytes) if self.backing is None else 0

    def set_aside(self, needed_bytes: int) -> tuple[int, float]:
        """Bytes on all its drives, and how many of them a byte of files takes."""
        redundancy = 1.0 if self.layer is None else self.layer.spec.count_redundancy(self.count)
        return self.count * self.count_drive_bytes(needed_bytes), redundancy


RIGHTS: tuple[Need, ...] = (
    Root(why="FUSE, loop devices and mounting"),
    DeviceNeed(path="/dev/fuse", module="fuse", why="the way to a drive"),
    DeviceNeed(path="/dev/loop-control", module="loop", why="a drive's block device"),
)
NEEDS: tuple[Need, ...] = (
    *RIGHTS,
    OwnProgram(name="stithy-drive", why="it is the drives"),
    ProgramNeed(
        name="taskset",
        package=filesystems.UTILITIES,
        asked=("--version",),
        why="keeping a CPU free for the drives",
    ),
    *filesystems.list_needs(usual="ext4"),
)
"""What emulated drives need of the machine."""

INSTEAD = (
    "or compare directories, which need no rights, with `path`: studies/disk-and-memory.yaml is "
    "an example"
)


class EmulatedStorage(MadeAnew):
    """The emulated drives of one candidate."""

    def __init__(self, roles: Mapping[Role, DriveKeys], candidate: str, site: Site) -> None:
        """The first of `roles` is the main one."""
        super().__init__(candidate, site)
        self._roles = roles

    def check(self) -> None:
        need_rights(RIGHTS, "emulated drives", self._where, INSTEAD)
        for role, keys in self._roles.items():
            VolumeSpec((), keys.filesystem, keys.layer).check(self._where)
            self._check_size(role, keys)
            folder = keys.backing
            if folder and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                remedy = (
                    f"make it (mkdir -p {quote(str(folder))}), or name another one as `backing`"
                )
                problem = f"{folder} is not a directory that can be written to"
                raise PreconditionError(problem, where=self._where, remedy=remedy)

    def list_rooms(self) -> tuple[Room, ...]:
        """What the images take of memory and of file systems: all of it at once, to be sure."""
        return tuple(self._make_room(role, keys) for role, keys in self._roles.items())

    def list_cautions(self) -> tuple[str, ...]:
        """What layers warn of: drives are made anew, and hold nothing of anybody's."""
        layers = dict.fromkeys(keys.layer for keys in self._roles.values() if keys.layer)
        return tuple(
            f"{self._where}: {said}" for layer in layers for said in layer.spec.list_cautions()
        )

    def describe_identity(self) -> str | None:
        """The profiles that a person wrote: shipped ones belong to the version of Stithy."""
        files = {keys.drive: Path(keys.drive) for keys in self._roles.values() if "/" in keys.drive}
        known = [
            f"{name} (SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]})"
            for name, path in sorted(files.items())
            if path.is_file()
        ]
        return ", ".join(known) or None

    def list_profile_times_s(self) -> dict[tuple[str, str], float]:
        return list_profile_times_s(self._profiles.values())

    def provision(self, run_id: str, record: Record) -> Volume:
        up = self._bring_up(run_id, record)
        self._make_place(run_id, record)
        volumes = {
            role: self._mount_volume(role, drives, run_id, record) for role, drives in up.items()
        }
        main = volumes.pop(next(iter(self._roles)))
        return replace(main, others=volumes)

    def measure_space(self, volume: Volume) -> Space:
        """All of a drive is its own, whatever its image takes of memory or files."""
        sizes = [drive.size_bytes for drive in volume.emulated]
        return measure_space(volume, self._site.runner, devices_bytes=sizes)

    @cached_property
    def _profiles(self) -> "dict[Role, DriveProfileFile]":
        """The profiles, judged by the drive program. Raises UserError for one that is wrong."""
        from stithy.drives.profiles import find_profile

        return {
            role: find_profile(keys.drive, scale=keys.scale) for role, keys in self._roles.items()
        }

    def _count_drive_bytes(self, role: Role) -> int:
        return self._roles[role].count_drive_bytes(self._site.needed_bytes[role])

    def _check_size(self, role: Role, keys: DriveKeys) -> None:
        size, capacity = self._count_drive_bytes(role), self._profiles[role].facts.capacity_bytes
        if size > capacity:
            raise PreconditionError(
                f"a drive of {format_size(size)} is larger than its profile {keys.drive} says, "
                f"{format_size(capacity)}",
                where=self._where,
                remedy=f"give it a smaller `size` or `scale`{self._or_less}",
            )
        needed, usable = self._site.needed_bytes[role], keys.count_usable_bytes(size)
        if usable < needed:
            several = f"{keys.count} drives of {format_size(size)} hold"
            drives = several if keys.count > 1 else f"a drive of {format_size(size)} holds"
            raise PreconditionError(
                f"{drives} about {format_size(usable)} with {keys.layer or keys.filesystem}, and "
                f"its {role} may need {format_size(needed)}",
                where=self._where,
                remedy=f"leave out `size`, or give it a larger one{self._or_less}",
            )

    @property
    def _or_less(self) -> str:
        """What else a remedy may name: what the study itself could need less with."""
        return f", or use {self._site.less_room}" if self._site.less_room else ""

    def _make_room(self, role: Role, keys: DriveKeys) -> Room:
        size = keys.count * self._count_drive_bytes(role)
        if keys.backing is not None:
            return replace(measure_room(keys.backing), takes_bytes=size)
        return Room(
            filesystem_id=f"image of {self._candidate} {role}",
            free_bytes=None,
            memory_backed=True,
            mount_point=self._place / role,
            takes_bytes=size,
        )

    def _bring_up(self, run_id: str, record: Record) -> dict[Role, tuple[EmulatedDrive, ...]]:
        # A candidate has another program where its data lie on another source.
        main = next(iter(self._roles))
        own = self._candidate if main == "data" else f"{self._candidate}.{main}"
        asked = [
            self._make_drive_request(role, keys, number, name)
            for role, keys in self._roles.items()
            for number, name in enumerate(keys.name_drives(role))
        ]
        up = bring_up(asked, self._candidate, own, self._site, run_id, record)
        return {role: tuple(drive for drive in up if drive.role == role) for role in self._roles}

    def _make_drive_request(
        self, role: Role, keys: DriveKeys, number: int, name: str
    ) -> AskedDrive:
        """Each drive of an array draws differently, as two of one make do."""
        return AskedDrive(
            name=name,
            role=role,
            profile=self._profiles[role],
            size_bytes=self._count_drive_bytes(role),
            scale=keys.scale,
            seed=number + (self._site.seeds[role] if keys.seed is None else keys.seed),
            backing=keys.backing,
            traced=keys.trace,
        )

    def _mount_volume(
        self, role: Role, drives: tuple[EmulatedDrive, ...], run_id: str, record: Record
    ) -> Volume:
        keys = self._roles[role]
        asked = VolumeSpec(tuple(drive.device for drive in drives), keys.filesystem, keys.layer)
        with suspend_pacing(drives):
            volume = build_volume(asked, self._place / role, run_id, record, self._site.runner)
        return replace(volume, emulated=drives)


class DriveCandidate(DriveKeys):
    """A candidate on an emulated drive, or an array of them, with a file system of its own."""


class DriveProvider(Provider):
    """Emulated drives: each is made anew, so that no two candidates share one."""

    name = "drive"
    needs = NEEDS
    spec = DriveCandidate

    def create(self, spec: DriveKeys, candidate: str, site: Site) -> Storage:
        return self.create_together({site.role: spec}, candidate, site)

    def create_together(
        self, specs: Mapping[Role, DriveKeys], candidate: str, site: Site
    ) -> Storage:
        """Create the storage of several roles: one program serves all their drives."""
        return EmulatedStorage(specs, candidate, site)

    def has_emulated_drives(self, spec: DriveKeys) -> bool:
        return True

    def has_block_device(self, spec: DriveKeys) -> bool:
        return spec.filesystem == NO_FILE_SYSTEM

    def name_drives(self, spec: DriveKeys) -> tuple[str, ...]:
        return spec.name_drives("data")

    def count_image_bytes(self, spec: DriveKeys, needed_bytes: Mapping[Role, int]) -> int:
        return spec.count_image_bytes(needed_bytes["data"])

    def set_aside(self, spec: DriveKeys, needed_bytes: Mapping[Role, int]) -> SetAside:
        return SetAside(*spec.set_aside(needed_bytes["data"]))

    def is_overlapping(self, spec: DriveKeys, other: DriveKeys) -> bool:
        """Never: each drive is made anew, also one like another."""
        return False


PLUGINS = (DriveProvider(),)
