"""Files of a run directory reach the disk whole or not at all, and changed ones are found out.

A file is written beside its place, synced, renamed into it, and the directory synced: a crash
leaves the old file or the new one, never a half. Folders are replaced whole in the same way.
Each table, and the manifest, has its SHA-256 in the file `SHA256SUMS` of its folder, as
`sha256sum --check` reads it: a number that may be wrong is not printed.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from stithy.errors import InfrastructureError, reason_of

CHECKSUMS = "SHA256SUMS"
"""The file with the checksums of a folder: a line for each file, digest and name."""


def write_with_checksum(path: Path, content: bytes) -> None:
    """The same as `write_durably`, and note the file's checksum beside it.

    The new checksum is added first and the old one removed last, so that a crash in between leaves
    a file that is known, whichever of the two it is.
    """
    lines = _checksum_lines(path.parent)
    line = f"{hashlib.sha256(content).hexdigest()}  {path.name}"
    others = [each for each in lines if each.partition("  ")[2] != path.name]
    if line not in lines:
        _write_checksums(path.parent, [*lines, line])
    write_durably(path, content)
    if len(lines) > len(others) and lines != (kept := [*others, line]):
        _write_checksums(path.parent, kept)


def is_as_written(path: Path, content: bytes) -> bool | None:
    """Whether the content has a checksum that was noted for the file; None where none was."""
    known = [line.partition("  ") for line in _checksum_lines(path.parent)]
    digests = {digest for digest, _, name in known if name == path.name}
    return hashlib.sha256(content).hexdigest() in digests if digests else None


def _checksum_lines(folder: Path) -> list[str]:
    try:
        return (folder / CHECKSUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _write_checksums(folder: Path, lines: Iterable[str]) -> None:
    write_durably(folder / CHECKSUMS, "".join(f"{line}\n" for line in lines).encode())


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
        with beside.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with suppress(OSError):  # what refused to be written may refuse to be removed, too
            beside.unlink()
        problem = f"results could not be written: {reason_of(error)}"
        remedy = "make room on that file system or choose another with --out"
        raise InfrastructureError(problem, where=str(path), remedy=remedy) from error
    except BaseException:
        with suppress(OSError):  # who makes the pieces failed, or a person stopped it
            beside.unlink()
        raise


def emptied(folder: Path) -> Path:
    """A new folder; whatever an earlier session left in its place is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


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
