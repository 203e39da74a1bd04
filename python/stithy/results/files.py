"""Files of a run directory reach the disk whole or not at all.

A file is written beside its place, synced, renamed into it, and the directory synced: a crash
leaves the old file or the new one, never a half.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
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


def _write_and_sync(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
