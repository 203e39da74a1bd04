"""Removing what killed runs and drive programs left, or was kept on purpose; and only that."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import SystemClock
from stithy.drives import places
from stithy.drives.program import find, remove
from stithy.errors import StithyError
from stithy.run.journal import Journal
from stithy.run.undoing.register import Registered, all_registered, forget, read_registered
from stithy.run.undoing.undo import Left, undo


@dataclass(frozen=True)
class Cleaned:
    """What became of one run: how many things were removed, and what could not be.

    `running`: it goes on, so nothing was touched.
    """

    run: Registered
    removed: int
    left: tuple[Left, ...]
    running: bool = False


def clean(directory: Path | None = None) -> Sequence[Cleaned]:
    """Clean all runs of this user that have ended, or only that of one run directory."""
    runs = all_registered()
    if directory is not None:
        runs = [run for run in runs if run.directory == directory.resolve()]
    return [Cleaned(run, 0, (), running=True) if _goes_on(run) else clean_run(run) for run in runs]


@dataclass(frozen=True)
class DriveCleaned:
    """What became of the drives of one program; `left` is why they could not be removed."""

    folder: Path
    drives: tuple[str, ...]
    left: str | None


def clean_drives() -> Sequence[DriveCleaned]:
    """Remove what killed drive programs left, and the drives of runs that are not known any more.

    A person's drives that are up are left alone, and so are those of runs that go on or were kept.
    """
    known = {run.run_id for run in all_registered()}
    entries = [(folder, places.read_entry(folder)) for folder in places.all_folders()]
    return [
        _clean_drive(folder, entry.drives)
        for folder, entry in entries
        if entry is not None and _is_orphan(folder, entry, known)
    ]


def _is_orphan(folder: Path, entry: places.Entry, known: set[str]) -> bool:
    if entry.is_starting or entry.run_id in known:
        return False
    return entry.run_id is not None or find(folder) is None


def _clean_drive(folder: Path, drives: tuple[str, ...]) -> DriveCleaned:
    try:
        remove(folder)
    except (OSError, StithyError) as error:
        return DriveCleaned(folder, drives, str(error))
    return DriveCleaned(folder, drives, None)


def _goes_on(run: Registered) -> bool:
    """A kept run has ended, even while the process that ran it still writes its report."""
    return run.is_running and not run.kept


def clean_run(run: Registered) -> Cleaned:
    """Unmake what one run left. Idempotent; its entry in the register goes when nothing is left."""
    journal = Journal(run.path, SystemClock())
    try:
        left = undo(
            run.run_id, run.makings, lambda number: _write_unmade(journal, number), everything=True
        )
    finally:
        journal.close()
    # Whoever resumed it meanwhile writes into that file.
    if not left and not ((now := read_registered(run.path)) and _goes_on(now)):
        forget(run.path)
    return Cleaned(run, len(run.makings) - len(left), tuple(left))


def find_run(run_id: str) -> Registered | None:
    """The ended run of this id in the register."""
    return next(
        (run for run in all_registered() if run.run_id == run_id and not _goes_on(run)), None
    )


def _write_unmade(journal: Journal, number: int) -> None:
    journal.write("unmade", number=number)
