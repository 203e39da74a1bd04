"""What killed processes left that no run in the register is to remove: drives and clusters.

The folders of both are looked at, and for clusters the network too, which tells whose it is. What
a person started and what runs that go on have made is no orphan.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stithy.cluster import daemons, layout, removal
from stithy.drives import places, program
from stithy.drives.program import find
from stithy.errors import StithyError, reason_of
from stithy.hosts.processes import DELETED, abandoned_folders, end, pids_inside
from stithy.run.cleanup.handlers import goes_on, serves
from stithy.run.cleanup.register import Registered, all_registered
from stithy.wire.program import DRIVE


@dataclass(frozen=True)
class Orphan:
    """What belongs to a folder of which nobody knows any more; `name` is what people call it."""

    kind: Literal["drive", "cluster"]
    name: str
    folder: Path


@dataclass(frozen=True)
class OrphanCleaned:
    """What became of one; `left` is why it could not be removed."""

    orphan: Orphan
    left: str | None


def orphans() -> Sequence[Orphan]:
    """All of them, drives last: clusters lie on them. Nothing is changed."""
    # Folders first: those of a run that begins meanwhile are in the register by then.
    clusters, drives = layout.all_folders(), places.all_folders()
    known = {run.run_id for run in all_registered()}
    return [*_clusters(clusters, known), *_drives(drives, known)]


def _clusters(folders: Sequence[Path], known: set[str]) -> Iterator[Orphan]:
    for folder in folders:
        entry = layout.read_entry(folder)
        if entry is None or entry.run_id not in known:
            yield Orphan("cluster", entry.name if entry else folder.name, folder)
    for folder in dict.fromkeys(daemons.tags().values()):
        if _is_gone(folder):
            yield Orphan("cluster", folder.name, folder)


def _is_gone(folder: Path) -> bool:
    """Whether nothing is there; what another user has closed to this one is theirs."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _drives(folders: Sequence[Path], known: set[str]) -> Iterator[Orphan]:
    for folder in folders:
        entry = places.read_entry(folder)
        if entry is None or entry.is_starting or entry.run_id in known:
            continue
        if entry.run_id is not None or find(folder) is None:
            yield Orphan("drive", ", ".join(entry.drives), folder)
    for folder in abandoned_folders(DRIVE):
        yield Orphan("drive", folder.name, folder)


def _remove_drive(folder: Path) -> None:
    program.remove(folder)
    end(pids_inside(Path(f"{folder}{DELETED}"), DRIVE), signal.SIGTERM)


REMOVE: dict[str, Callable[[Path], None]] = {"drive": _remove_drive, "cluster": removal.remove}


def clean_orphans() -> Sequence[OrphanCleaned]:
    """Remove them all; to be called after the runs, whose own drives are gone by then."""
    return [OrphanCleaned(orphan, _removal_failed(orphan)) for orphan in orphans()]


def _removal_failed(orphan: Orphan) -> str | None:
    try:
        REMOVE[orphan.kind](orphan.folder)
    except (OSError, StithyError) as error:
        return reason_of(error)
    return None


def dead_runs() -> Sequence[Registered]:
    """Runs of the register that go on no more and left something, and nobody asked to keep it."""
    return [
        run
        for run in all_registered()
        if not goes_on(run) and not serves(run) and (run.by_hand or not run.kept)
    ]
