"""Emulated drives as storage: brought up, given a file system each, mounted, and taken away again.

Each candidate has one drive program, which serves the drives of all its roles. Mount points are
fresh folders of Stithy's own that the server's user can enter. What a profile is worth and whether
a drive can be had is the drive program's to say; here it is asked before anything is made.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.drives import filesystems
from stithy.errors import InfrastructureError, PreconditionError, StithyError
from stithy.needs import Device, Need, OwnProgram, Program, Root
from stithy.storage.formatted import VolumeSpec, fresh_place, need_rights, volume_on
from stithy.storage.provider import EmulatedDrive, Record, Role, Room, Site, Volume
from stithy.storage.providers.drive.keys import SECTOR_BYTES, DriveKeys
from stithy.storage.space import Space, space_of
from stithy.storage.volume import room_of
from stithy.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stithy.drives.profiles import Profile
    from stithy.drives.spec import DriveSpec
    from stithy.wire.drive.messages import DriveFacts

RIGHTS: tuple[Need, ...] = (
    Root(why="FUSE, loop devices and mounting"),
    Device(path="/dev/fuse", module="fuse", why="the way to a drive"),
    Device(path="/dev/loop-control", module="loop", why="a drive's block device"),
)
NEEDS: tuple[Need, ...] = (
    *RIGHTS,
    OwnProgram(name="stithy-drive", why="it is the drives"),
    Program(
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


class EmulatedProvider:
    """The emulated drives of one candidate."""

    def __init__(self, roles: Mapping[Role, DriveKeys], candidate: str, site: Site | None) -> None:
        """The first of `roles` is the main one; nothing is asked of the machine yet."""
        self._roles = roles
        self._candidate = candidate
        self._where = f"candidate {candidate}"
        self._given_site = site
        self._place = fresh_place()

    def place(self) -> Path:
        """The folder that holds the mount points."""
        return self._place

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
        """The medians of 4 KiB, and the flush's time; a drive that spins has flushes alone."""
        found: dict[tuple[str, str], float] = {}
        for each in self._profiles.values():
            facts = each.facts
            times = {"read": facts.read_p50_s, "write": facts.write_p50_s, "flush": facts.flush_s}
            found |= {(facts.name, name): s for name, s in times.items() if s is not None}
        return found

    def left_by(self) -> str | None:
        """None: everything is made anew, under names that no run had before."""
        return None

    def survives(self, run_id: str) -> None:
        """Never: drives are made anew."""

    def provision(self, run_id: str, record: Record) -> Volume:
        """Bring the drives up, make and mount their file systems."""
        up = self._bring_up(run_id, record)
        record("directory", {"path": str(self._place), "run_id": run_id})
        self._place.mkdir(mode=0o755)
        self._place.chmod(0o755)
        volumes = {role: self._mounted(role, drives, run_id, record) for role, drives in up.items()}
        main = volumes.pop(next(iter(self._roles)))
        return replace(main, others=volumes)

    def space(self, volume: Volume) -> Space:
        """All of a drive is its own, whatever its image takes of memory or files."""
        sizes = [each.size_bytes for each in volume.emulated]
        return space_of(volume, self._site.runner, devices_bytes=sizes)

    def keep(self) -> None:
        """Nothing is to be done: drives go on until they are told to end."""

    def release(self) -> None:
        """Nothing is held."""

    @cached_property
    def _site(self) -> Site:
        assert self._given_site is not None  # runs always give one
        return self._given_site

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
                remedy=f"make it (mkdir -p {folder}), or name another one as `backing`",
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
        from stithy.drives import places, program

        named = [(role, name) for role, keys in self._roles.items() for name in keys.names(role)]
        for role, name in named:
            if (backing := self._roles[role].backing) is not None:
                record("image", {"path": str(self._image(run_id, name, backing))})
        # A candidate has another program where its data lie on another source.
        main = next(iter(self._roles))
        own = self._candidate if main == "data" else f"{self._candidate}.{main}"
        folder = places.folder_of(own, run_id)
        record("drive", {"folder": str(folder)})
        self._site.logs.mkdir(parents=True, exist_ok=True)
        specs = [self._spec(run_id, role, name) for role, name in named]
        up = program.start(specs, folder, run_id=run_id, cpus=self._site.cpus)
        found = {each.drive: each for each in up.drives}
        return {
            role: tuple(
                self._described(role, up.control.path, found[name]) for name in keys.names(role)
            )
            for role, keys in self._roles.items()
        }

    def _image(self, run_id: str, name: str, folder: Path) -> Path:
        return folder / f"stithy-{run_id}-{self._candidate}-{name}.img"

    def _log_stem(self, name: str) -> Path:
        return self._site.logs / f"{self._candidate}.{name}"

    def _seed(self, role: Role, name: str) -> int:
        """Each drive of an array draws differently, as two of one make do."""
        keys = self._roles[role]
        first = self._site.seeds[role] if keys.seed is None else keys.seed
        return (first + keys.names(role).index(name)) % 2**64

    def _spec(self, run_id: str, role: Role, name: str) -> "DriveSpec":
        from stithy.drives.spec import DriveSpec, File, Memory

        keys = self._roles[role]
        folder = keys.backing
        return DriveSpec(
            name=name,
            profile=self._profiles[role].text,
            size_bytes=self._size(role),
            sector_bytes=SECTOR_BYTES,
            backing=Memory() if folder is None else File(self._image(run_id, name, folder)),
            scale=keys.scale,
            seed=self._seed(role, name),
            hlog_stem=self._log_stem(name),
        )

    def _described(self, role: Role, control: Path, ready: "DriveFacts") -> EmulatedDrive:
        keys, profile = self._roles[role], self._profiles[role]
        return EmulatedDrive(
            name=ready.drive,
            role=role,
            control=control,
            device=ready.device,
            profile_name=profile.facts.name,
            title=profile.facts.title,
            profile=profile.text,
            assumed=profile.facts.assumed,
            scale=ready.scale,
            size_bytes=ready.size_bytes,
            sector_bytes=ready.sector_bytes,
            backing="memory" if keys.backing is None else f"a file in {keys.backing}",
            seed=self._seed(role, ready.drive),
            transport=ready.transport,
            transport_s=ready.transport_s,
            spin_s=ready.spin_s,
            log_stem=self._log_stem(ready.drive),
            traced=keys.trace,
        )

    def _mounted(
        self, role: Role, drives: tuple[EmulatedDrive, ...], run_id: str, record: Record
    ) -> Volume:
        """The volume of a role on its drives."""
        keys = self._roles[role]
        asked = VolumeSpec(tuple(each.device for each in drives), keys.filesystem, keys.layer)
        with _unpaced(drives):
            volume = volume_on(asked, self._place / role, run_id, record, self._site.runner)
        return replace(volume, emulated=drives)


@contextmanager
def _unpaced(drives: "Iterable[EmulatedDrive]") -> "Iterator[None]":
    """Inside, the drives take no time: making a file system is no measurement.

    Where that fails because the drives have gone, the error says both.
    """
    _pace(drives, False)
    try:
        yield
    except StithyError as error:
        try:
            _pace(drives, True)
        except InfrastructureError as gone:
            raise InfrastructureError(
                f"{gone.problem}; meanwhile: {error.where}: {error.problem}",
                where=gone.where,
                remedy=gone.remedy,
            ) from error
        raise
    _pace(drives, True)


def _pace(drives: "Iterable[EmulatedDrive]", paced: bool) -> None:
    from stithy.drives.control import Control

    for each in drives:
        Control(each.control).set(each.name, paced=paced)
