"""Files of a run directory reach the disk whole or not at all.

A file is written beside its place, synced, renamed into it, and the directory synced: a crash
leaves the old file or the new one, never a half. Folders are replaced whole in the same way.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from stithy.errors import InfrastructureError


def write_durably(path: Path, content: bytes) -> None:
    """Put `content` at `path`; makes missing parents.

    Raises InfrastructureError where the file system refuses, such as a full disk.
    """
    write_pieces_durably(path, (content,))


def write_pieces_durably(path: Path, pieces: Iterable[bytes]) -> None:
    """The same of what is too long to be in memory at once."""
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_and_sync(beside, pieces)
        beside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):  # what refused to be written may refuse to be removed, too
            beside.unlink()
        raise InfrastructureError(
            f"results could not be written: {error.strerror or error}",
            where=str(path),
            remedy="make room on that file system or choose another with --out",
        ) from error
    except BaseException:
        with suppress(OSError):  # who makes the pieces failed, or a person stopped it
            beside.unlink()
        raise


def sync_directory(path: Path) -> None:
    """Make renames and removals in the directory survive a crash."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder, made where it is missing, against others who do the same: they wait.

    Raises OSError. Where a file system knows no locks nobody waits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def replaced(parent: Path, names: Sequence[str]) -> Iterator[Path]:
    """A place to fill folders of these names, which take those of `parent` once all are filled.

    Whoever fails or is stopped on the way leaves the old ones. Raises OSError.
    """
    new, old = parent / ".new", parent / ".old"
    for each in (new, old):
        shutil.rmtree(each, ignore_errors=True)  # of who was killed
    try:
        for name in names:
            (new / name).mkdir(parents=True)
        yield new
        old.mkdir()
        for name in names:
            with suppress(FileNotFoundError):
                (parent / name).rename(old / name)
            (new / name).rename(parent / name)
    finally:
        for each in (new, old):
            shutil.rmtree(each, ignore_errors=True)


def _write_and_sync(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
