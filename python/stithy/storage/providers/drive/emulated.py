"""Emulated drives as storage: brought up, given a file system each, mounted, and taken away again.

Each candidate has one drive program, which serves the drives of all its roles. Mount points are
fresh folders of Stithy's own that the server's user can enter. What a profile is worth and whether
a drive can be had is the drive program's to say; here it is asked before anything is made.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.needs import DeviceNeed, Need, OwnProgram, ProgramNeed, Root
from stithy.storage.emulation import AskedDrive, bring_up, times_asked_s, unpaced
from stithy.storage.formatted import MadeAnew, VolumeSpec, need_rights, volume_on
from stithy.storage.provider import EmulatedDrive, Record, Role, Room, Site, Volume
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.space import Space, space_of
from stithy.storage.volume import room_of
from stithy.units import format_size

if TYPE_CHECKING:
    from stithy.drives.profiles import Profile

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
    *filesystems.needs(usual="ext4"),
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
        """Raise for a machine, profile, file system or size with which this cannot work."""
        need_rights(RIGHTS, "emulated drives", self._where, INSTEAD)
        for role, keys in self._roles.items():
            VolumeSpec((), keys.filesystem, keys.layer).check(self._where)
            self._check_size(role, keys)
            self._check_backing(keys)

    def rooms(self) -> tuple[Room, ...]:
        """What the images take of memory and of file systems: all of it at once, to be sure."""
        return tuple(self._room(role, keys) for role, keys in self._roles.items())

    def cautions(self) -> tuple[str, ...]:
        """What layers warn of: drives are made anew, and hold nothing of anybody's."""
        layers = dict.fromkeys(keys.layer for keys in self._roles.values() if keys.layer)
        return tuple(f"{self._where}: {said}" for layer in layers for said in layer.cautions)

    def fingerprint(self) -> str | None:
        """The profiles that a person wrote: shipped ones belong to the version of Stithy."""
        files = {keys.drive: Path(keys.drive) for keys in self._roles.values() if "/" in keys.drive}
        known = [
            f"{name} (SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()[:12]})"
            for name, path in sorted(files.items())
            if path.is_file()
        ]
        return ", ".join(known) or None

    def asked_times_s(self) -> dict[tuple[str, str], float]:
        """Those of its drives."""
        return times_asked_s(self._profiles.values())

    def provision(self, run_id: str, record: Record) -> Volume:
        """Bring the drives up, make and mount their file systems."""
        up = self._bring_up(run_id, record)
        self._make_place(run_id, record)
        volumes = {role: self._mounted(role, drives, run_id, record) for role, drives in up.items()}
        main = volumes.pop(next(iter(self._roles)))
        return replace(main, others=volumes)

    def space(self, volume: Volume) -> Space:
        """All of a drive is its own, whatever its image takes of memory or files."""
        sizes = [each.size_bytes for each in volume.emulated]
        return space_of(volume, self._site.runner, devices_bytes=sizes)

    @cached_property
    def _profiles(self) -> "dict[Role, Profile]":
        """The profiles, judged by the drive program. Raises UserError for one that is wrong."""
        from stithy.drives.profiles import find_profile

        return {
            role: find_profile(keys.drive, scale=keys.scale) for role, keys in self._roles.items()
        }

    def _size(self, role: Role) -> int:
        return self._roles[role].drive_bytes(self._site.needed_bytes[role])

    def _check_size(self, role: Role, keys: DriveKeys) -> None:
        size, capacity = self._size(role), self._profiles[role].facts.capacity_bytes
        if size > capacity:
            raise PreconditionError(
                f"a drive of {format_size(size)} is larger than its profile {keys.drive} says, "
                f"{format_size(capacity)}",
                where=self._where,
                remedy=f"give it a smaller `size` or `scale`{self._or_less}",
            )
        needed, usable = self._site.needed_bytes[role], keys.usable_bytes(size)
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

    def _check_backing(self, keys: DriveKeys) -> None:
        folder = keys.backing
        if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise PreconditionError(
                f"{folder} is not a directory that can be written to",
                where=self._where,
                remedy=f"make it (mkdir -p {quote(str(folder))}), or name another one as `backing`",
            )

    def _room(self, role: Role, keys: DriveKeys) -> Room:
        size = keys.count * self._size(role)
        if keys.backing is not None:
            return replace(room_of(keys.backing), takes_bytes=size)
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
            self._asked(role, keys, number, name)
            for role, keys in self._roles.items()
            for number, name in enumerate(keys.names(role))
        ]
        up = bring_up(asked, self._candidate, own, self._site, run_id, record)
        return {role: tuple(each for each in up if each.role == role) for role in self._roles}

    def _asked(self, role: Role, keys: DriveKeys, number: int, name: str) -> AskedDrive:
        """Each drive of an array draws differently, as two of one make do."""
        return AskedDrive(
            name=name,
            role=role,
            profile=self._profiles[role],
            size_bytes=self._size(role),
            scale=keys.scale,
            seed=number + (self._site.seeds[role] if keys.seed is None else keys.seed),
            backing=keys.backing,
            traced=keys.trace,
        )

    def _mounted(
        self, role: Role, drives: tuple[EmulatedDrive, ...], run_id: str, record: Record
    ) -> Volume:
        """The volume of a role on its drives."""
        keys = self._roles[role]
        asked = VolumeSpec(tuple(each.device for each in drives), keys.filesystem, keys.layer)
        with unpaced(drives):
            volume = volume_on(asked, self._place / role, run_id, record, self._site.runner)
        return replace(volume, emulated=drives)
