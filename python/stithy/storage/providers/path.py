"""A directory or mount that exists, or whose parent does: nothing is formatted or mounted."""

import fcntl
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from stithy.errors import PreconditionError
from stithy.hosts.processes import get_identity
from stithy.hosts.runner import LocalRunner
from stithy.storage import consent
from stithy.storage.consent import MARK, DirectoryMark, read_mark, write_mark
from stithy.storage.provider import Provider, Record, Room, Site, Storage, Volume
from stithy.storage.space import Space, measure_space
from stithy.storage.volume import (
    describe,
    describe_storage,
    find_existing_part,
    measure_room,
    remove_own,
)
from stithy.units import FrozenModel, require

# A study means the same directory from wherever it is run, and its messages are one line.
_IS_FULL = require(Path.is_absolute, "not an absolute path", "in full, such as /var/tmp/stithy")
_IS_PLAIN = require(
    lambda path: str(path).isprintable(), "not a usable path", "one without line ends and tabs"
)


class PathSpec(FrozenModel):
    """A candidate that is a directory."""

    path: Annotated[Path, _IS_FULL, _IS_PLAIN] = Field(
        description="The directory for the database: missing (Stithy creates it), or empty.",
        examples=["/var/tmp/stithy"],
    )


class DirectoryStorage(Storage):
    """One candidate's directory."""

    def __init__(self, path: Path, candidate: str) -> None:
        """`path` as the study gives it; `candidate` is for messages."""
        self._where = f"candidate {candidate}"
        self._given = path
        self._lock: int | None = None

    def place(self) -> Path:
        """The directory itself where the given path is a symbolic link."""
        return self._given.resolve()

    def check(self) -> None:
        consent.may_use(self._given, self._where)

    def list_rooms(self) -> tuple[Room]:
        """Room on the directory's file system; what Stithy left there makes room, or is used."""
        room = measure_room(self.place())
        held = consent.count_held_bytes(self.place())
        return (
            room if room.free_bytes is None else replace(room, free_bytes=room.free_bytes + held),
        )

    def describe_identity(self) -> str | None:
        """The file system and the devices under it: a mount may be missing after a reboot."""
        try:
            return describe_storage(find_existing_part(self.place()))
        except OSError:  # `check` refuses what cannot be read, and says why
            return None

    def find_dead_run(self) -> str | None:
        mark = read_mark(self.place())
        return mark.run_id if mark and not mark.is_in_use else None

    def find_surviving_volume(self, run_id: str) -> Path | None:
        """The directory, while it carries the mark of a session that is over, or of this one."""
        mark = read_mark(self.place())
        return self.place() if mark and mark.run_id == run_id and not mark.is_in_use else None

    def provision(self, run_id: str, record: Record) -> Volume:
        use = consent.may_use(self._given, self._where)
        path = self.place()
        if use is consent.Use.OURS and self.find_surviving_volume(run_id) is not None:
            # Go on with what an earlier session of this run wrote down and made; nothing is new.
            self._take_lock(path)
            old = read_mark(path)
            has_made = old is not None and old.made_directory
            write_mark(path, DirectoryMark(run_id, has_made, get_identity()))
            return describe(path)
        if use is consent.Use.MISSING:
            record("directory", {"path": str(path), "run_id": run_id})
            path.mkdir(mode=0o755)
            # The server's user must be able to go through it, whatever the caller's umask is.
            path.chmod(0o755)
        self._take_lock(path)
        made = use is consent.Use.MISSING
        if use is consent.Use.OURS and (old := read_mark(path)):
            made = old.made_directory
            names = [name for name in consent.list_stithy_entries(path) if name != MARK]
            remove_own(path, names, old.run_id)
            if made:
                record("directory", {"path": str(path), "run_id": run_id})
        record("mark", {"path": str(path), "run_id": run_id})
        write_mark(path, DirectoryMark(run_id, made, get_identity()))
        return describe(path)

    def measure_space(self, volume: Volume) -> Space:
        """Its files, as the file system that it shares counts them."""
        return measure_space(volume, LocalRunner())

    def keep(self) -> None:
        """Leave the mark without a living owner, which means kept."""
        mark = read_mark(self.place())
        if mark is not None:
            write_mark(self.place(), DirectoryMark(mark.run_id, mark.made_directory, None))

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self, path: Path) -> None:
        """Hold a lock on the directory until this process ends: two runs may start at once."""
        self._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise PreconditionError(
                f"{path} is being taken by another run",
                where=self._where,
                remedy="wait for its end, or name another directory",
            ) from error


class DirectoryProvider(Provider):
    """Directories of the user's, which need nothing of the machine."""

    name = "path"
    spec = PathSpec

    def create(self, spec: PathSpec, candidate: str, site: Site | None = None) -> DirectoryStorage:
        return DirectoryStorage(spec.path, candidate)

    def is_likely_memory(self, spec: PathSpec) -> bool:
        """Whether the path's name alone says so."""
        return spec.path.is_relative_to("/dev/shm") or spec.path.is_relative_to("/run")

    def find_directory(self, spec: PathSpec) -> Path:
        return spec.path.resolve()

    def is_overlapping(self, spec: PathSpec, other: PathSpec) -> bool:
        """Whether, by their names alone, one directory is the other or lies inside of it."""
        first, second = (Path(os.path.normpath(given.path)) for given in (spec, other))
        return first.is_relative_to(second) or second.is_relative_to(first)

    def make_like(self, spec: PathSpec, ending: str) -> PathSpec:
        return spec.model_copy(update={"path": spec.path.with_name(f"{spec.path.name}{ending}")})


PLUGINS = (DirectoryProvider(),)
