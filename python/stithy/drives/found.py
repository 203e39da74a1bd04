"""The drives of this machine as they are now: up, killed, or of a program that does not answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.drives import places
from stithy.drives.control import Control
from stithy.drives.places import Mounting
from stithy.drives.program import CONTROL, find
from stithy.errors import StithyError, UserError
from stithy.hosts.devices import Mount, mounts
from stithy.suggest import closest
from stithy.wire.drive.facts import DriveFacts

KILLED = "its program was killed"
PATIENCE_S = 5.0
"""How long a list waits for a program that is held."""


@dataclass(frozen=True)
class Found:
    """One drive.

    `run_id` is the run that owns it, None for a person's. `device` was its block device when it
    came up, None where that was never written down. `facts` are None where its program does not
    tell them; `problem` says why. `mounted` are the places where it is mounted now.
    """

    name: str
    folder: Path
    run_id: str | None
    device: str | None
    facts: DriveFacts | None
    problem: str | None
    mounted: tuple[Path, ...]

    @property
    def full_name(self) -> str:
        """The name that no other drive has: that of its folder before it, where it is a run's."""
        return self.name if self.run_id is None else f"{self.folder.name}/{self.name}"

    @property
    def control(self) -> Control:
        """The control socket of its program."""
        return Control(self.folder / CONTROL)


def all_drives() -> list[Found]:
    """All drives of this user's register, a person's first."""
    there = mounts()
    found = [each for folder in places.all_folders() for each in _of_folder(folder, there)]
    return sorted(found, key=lambda each: (each.run_id or "", each.full_name))


def drive_named(name: str) -> Found:
    """The drive of this name, or of this full name.

    Raises UserError for an unknown one, with the nearest, and for one that several have.
    """
    drives = all_drives()
    exact = [each for each in drives if each.full_name == name]
    matching = exact or [each for each in drives if each.name == name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UserError(
            "several drives have this name",
            where=name,
            remedy=f"give one of {', '.join(each.full_name for each in matching)}",
        )
    raise unknown(name, drives)


def unknown(name: str, drives: Iterable[Found]) -> UserError:
    """The error for a name that no drive has."""
    names = [each.full_name for each in drives]
    near = closest(name, names)
    if near is not None:
        remedy = f"did you mean {near}?"
    elif names:
        remedy = f"give one of {', '.join(names)}"
    else:
        remedy = "bring it up with `stithy drive up`; none is up"
    return UserError("no drive of this name is up", where=repr(name), remedy=remedy)


def _of_folder(folder: Path, there: Sequence[Mount]) -> list[Found]:
    entry = places.read_entry(folder)
    if entry is None:  # it went between two looks
        return []
    problem = None
    facts: dict[str, DriveFacts] = {}
    if find(folder) is None:
        problem = "it is not up yet" if entry.is_starting else KILLED
    else:
        try:
            listed = Control(folder / CONTROL, PATIENCE_S).list()
            facts = {each.drive: each for each in listed}
        except StithyError as error:
            problem = error.problem
    devices: dict[str, str] = dict(zip(entry.drives, entry.devices, strict=False))
    devices |= {name: each.device for name, each in facts.items()}
    return [
        Found(
            name=name,
            folder=folder,
            run_id=entry.run_id,
            device=devices.get(name),
            facts=facts.get(name),
            problem=problem,
            mounted=_mounted(devices.get(name), there, None if facts else entry.mounts),
        )
        for name in facts or entry.drives
    ]


def _mounted(
    device: str | None, there: Iterable[Mount], known: Sequence[Mounting] | None
) -> tuple[Path, ...]:
    """Where a device is mounted; `known`: only there, for it may be another's by now."""
    points = None if known is None else {each.point for each in known}
    return tuple(
        each.point
        for each in there
        if each.source == device and (points is None or each.point in points)
    )
