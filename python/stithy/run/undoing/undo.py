"""How each kind of thing that a run makes is unmade: by its end, its failure and `clean` alike.

Every way back is idempotent, and takes away only what the register names and what still carries the
run's mark. Processes go first, then the rest in the reverse order of its making.
"""

import importlib
import signal
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import StithyError
from stithy.hosts.cgroup import remove_group
from stithy.hosts.processes import end, pids_inside, pids_of_run
from stithy.registry import plugins
from stithy.run.undoing.register import Making
from stithy.run.undoing.scratch import PLACES, PREFIX
from stithy.storage.marks import remove_mark
from stithy.storage.volume import remove_own, remove_tree

Facts = Mapping[str, str]

MARKING = frozenset({"mark", "directory"})
"""What a volume is known by."""


@dataclass(frozen=True)
class Left:
    """A thing that could not be unmade, and why."""

    making: Making
    reason: str


def undo(
    run_id: str,
    makings: Iterable[Making],
    unmade: Callable[[int], None],
    *,
    everything: bool = True,
) -> list[Left]:
    """Unmake `makings`, given in the order of their making; returns what is left.

    `unmade` hears of each one that is no more. `everything`: all processes of the run are ended
    first, not only the servers among `makings`.
    """
    ordered = list(makings)
    for making in ordered:
        if making.kind == "server":
            _undo_server(making.facts)
    if everything:
        end(pids_of_run(run_id), signal.SIGTERM)
    left = _unmake(list(reversed(ordered)), unmade)
    # What lay on a drive that has died cannot be removed from it, and is gone with its mount.
    return _unmake([each.making for each in left], unmade)


def _unmake(makings: Iterable[Making], unmade: Callable[[int], None]) -> list[Left]:
    """Go each way back, in the order given; returns what is left."""
    left: list[Left] = []
    for making in makings:
        because = _held(making, left) or _undone(making)
        if because is not None:
            left.append(Left(making, because))
            continue
        # What is not written down, for want of room, `clean` only does once more.
        with suppress(StithyError):
            unmade(making.number)
    return left


def _held(making: Making, left: Iterable[Left]) -> str | None:
    """Why a volume stays known as the run's: a tree in it is left, for the next clean to find."""
    if making.kind not in MARKING:
        return None
    place = making.facts.get("path")
    trees = [each.making.facts for each in left if each.making.kind == "tree"]
    return next(
        (f"{each['name']} in it is left" for each in trees if each["volume"] == place), None
    )


def _undone(making: Making) -> str | None:
    """Go the way back; why it could not be gone, None where it could."""
    try:
        WAYS_BACK[making.kind](making.facts)
    except (OSError, StithyError, KeyError) as error:
        return _reason(error)
    return None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _undo_server(facts: Facts) -> None:
    """End a server without writing its pages: its files are removed anyway."""
    end(pids_inside(Path(facts["data"]), facts["program"]), signal.SIGQUIT)


def _undo_shared_memory(facts: Facts) -> None:
    package = plugins("engine")[facts["engine"]].__name__
    importlib.import_module(f"{package}.engine").forget(facts)


def _undo_tree(facts: Facts) -> None:
    remove_own(Path(facts["volume"]), [facts["name"]], facts["run_id"])


def _undo_mark(facts: Facts) -> None:
    with suppress(FileNotFoundError):
        remove_mark(Path(facts["path"]), facts["run_id"])


def _undo_directory(facts: Facts) -> None:
    """Only when it is empty: whatever else is in it is not Stithy's."""
    with suppress(FileNotFoundError):
        Path(facts["path"]).rmdir()


def _undo_scratch(facts: Facts) -> None:
    """The name was drawn by Stithy for this run alone; anything else is not touched."""
    path = Path(facts["path"])
    if path.parent in PLACES and path.name.startswith(PREFIX):
        remove_tree(path)


def _undo_cgroup(facts: Facts) -> None:
    remove_group(Path(facts["path"]))


def _undo_mount(facts: Facts) -> None:
    """Only while the drive of this run is mounted there; what would hold it back is ended first.

    After a reboot another drive may have the device's name: it is not to be touched.
    """
    from stithy.drives.filesystems import is_mounted, unmount
    from stithy.drives.program import mend, serving

    if not is_mounted(Path(facts["path"]), facts["device"]):
        return
    if (folder := serving(facts["device"])) is not None:
        mend(folder)
    unmount(Path(facts["path"]), device=facts["device"])


def _undo_drive(facts: Facts) -> None:
    from stithy.drives.program import remove

    remove(Path(facts["folder"]))


def _undo_image(facts: Facts) -> None:
    """The name was drawn by Stithy for this run alone; anything else is not touched."""
    path = Path(facts["path"])
    if path.name.startswith(PREFIX) and path.suffix == ".img" and not path.is_symlink():
        path.unlink(missing_ok=True)


WAYS_BACK: Mapping[str, Callable[[Facts], None]] = {
    "directory": _undo_directory,
    "mark": _undo_mark,
    "tree": _undo_tree,
    "scratch": _undo_scratch,
    "cgroup": _undo_cgroup,
    "server": _undo_server,
    "shared-memory": _undo_shared_memory,
    "mount": _undo_mount,
    "drive": _undo_drive,
    "image": _undo_image,
}
"""One way back for each kind of making."""
