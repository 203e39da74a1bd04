"""Where programs of drives work: a folder each, closed to others, with what is written of them.

The folders of drives that a person sees lie below `home()`; a folder's name there is the drive's
name, or for a run's drives the run's id, a dot and more. The entry is written before a program is
started and says only what the program itself cannot tell.
"""

import errno
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from stithy.environment import state_home
from stithy.errors import PreconditionError, UserError, give_reason
from stithy.hosts.devices import write_private
from stithy.hosts.processes import ProcessIdentity, is_alive

ENTRY = "drives.json"
VERSION = 1
"""1: run_id, drives, devices, owner, mounts."""


@dataclass(frozen=True)
class Mounting:
    """A mount that goes with its drive; `made_folder`: its mount point does, too."""

    device: str
    point: Path
    made_folder: bool


@dataclass(frozen=True)
class Entry:
    """What is written of a program.

    `run_id` is the run that owns it, None for a person's; `drives` are their names, `devices` their
    block devices once they are up. `owner` is the process that starts it: until that is done, or
    has failed, there may be no program.
    """

    run_id: str | None
    drives: tuple[str, ...]
    owner: ProcessIdentity
    devices: tuple[str, ...] = ()
    mounts: tuple[Mounting, ...] = ()

    @property
    def is_starting(self) -> bool:
        """Whether no drive is up yet, and the process that starts them lives."""
        return not self.devices and is_alive(self.owner)


_ENTRIES = TypeAdapter(Entry)


def home() -> Path:
    """Where the folders of drives lie that `stithy drive list` shows."""
    return state_home() / "drives"


def folder_of(name: str, run_id: str | None = None) -> Path:
    """The folder for a person's drive, or for a part of a run; names without a dot never meet."""
    return home() / (name if run_id is None else f"{run_id}.{name}")


def all_folders() -> list[Path]:
    """The folders below `home()` with an entry, sorted."""
    try:
        found = sorted(home().iterdir())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [each for each in found if read_entry(each) is not None]


def make(folder: Path, entry: Entry) -> None:
    """Make the folder with its entry, at once; to make it is to take its name.

    Raises UserError where there is one, PreconditionError where it cannot be written.
    """
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700, exist_ok=True)
        write_entry(fresh, entry)
        fresh.rename(folder)
    except OSError as error:
        _drop(fresh)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and folder.is_dir():
            raise UserError(
                "a drive of this name is already up, or was killed",
                where=folder.name,
                remedy="give another name, or remove it with `stithy drive down`",
            ) from error
        raise PreconditionError(
            f"the register of drives cannot be written: {give_reason(error)}",
            where=str(folder),
            remedy="make it writable, or name another directory in STITHY_STATE",
        ) from error


def write_entry(folder: Path, entry: Entry) -> None:
    """Put the entry into the folder, replacing an older one in one move; only for the owner."""
    fields = {"stithy_drives": VERSION, **_ENTRIES.dump_python(entry, mode="json")}
    fresh = folder / f"{ENTRY}.new"
    write_private(fresh, json.dumps(fields, indent=2) + "\n")
    fresh.replace(folder / ENTRY)


def read_entry(folder: Path) -> Entry | None:
    """The entry of a folder; None where there is none that this version can read."""
    try:
        fields = json.loads((folder / ENTRY).read_text())
        return _ENTRIES.validate_python(fields) if fields["stithy_drives"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def add_devices(folder: Path, devices: Iterable[str]) -> None:
    """Write down which block devices the drives of this program are."""
    if (entry := read_entry(folder)) is not None:
        write_entry(folder, replace(entry, devices=(*entry.devices, *devices)))


def add_mount(folder: Path, mounting: Mounting) -> None:
    """Write down that a drive of this program is about to be mounted."""
    if (entry := read_entry(folder)) is not None:
        write_entry(folder, replace(entry, mounts=(*entry.mounts, mounting)))


def forget(folder: Path) -> None:
    """Remove the folder with what Stithy and the program put there. Idempotent."""
    if read_entry(folder) is not None:
        _drop(folder)


def _drop(folder: Path) -> None:
    with suppress(OSError):  # a folder with folders in it is not Stithy's alone
        for each in folder.iterdir():
            each.unlink(missing_ok=True)
        folder.rmdir()
