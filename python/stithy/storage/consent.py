"""Which directories may be used and emptied: the only place that allows it.

Nothing of the user's is ever destroyed: a directory is used if it is missing, empty, or carries
Stithy's mark and holds nothing that Stithy did not put there.
"""

import os
import stat
from enum import Enum
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.storage.marks import MARK, read_mark

DATA = "data"
MASTER = "master"
OWN = frozenset({MARK, f"{MARK}.new", DATA, MASTER})
"""All that Stithy puts into a candidate's directory."""

BLOCK_BYTES = 512
"""The unit of `st_blocks`. Source: stat(3type)."""

OF_THE_FILE_SYSTEM = frozenset({"lost+found"})
"""What a fresh file system holds at its mount point; never touched."""


class Use(Enum):
    """In what state a directory that may be used was found."""

    MISSING = "missing"
    EMPTY = "empty"
    OURS = "ours"


def may_use(path: Path, where: str) -> Use:
    """How `path` may be used for a volume; changes nothing.

    `where` names the candidate in messages. Raises PreconditionError for whatever is not missing,
    empty, or Stithy's own and free.
    """
    if not path.is_absolute():
        raise _refuse(f"{path} is a relative path", where, f"write it in full: {Path.cwd() / path}")
    if path.is_symlink() and not path.exists():
        raise _refuse(f"{path} points to nothing", where, "name a directory, or mend the link")
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return _missing(path, where)
    except OSError as error:
        raise _refuse(f"{path} cannot be read: {error.strerror}", where, _another()) from error
    if not stat.S_ISDIR(found.st_mode):
        raise _refuse(f"{path} is not a directory", where, "name a directory that is empty or new")
    _refuse_shared(path, found, where)
    return _existing(path, where)


def may_empty(directory: Path, run_id: str) -> bool:
    """Whether what Stithy put into `directory` may be removed for this run: its mark decides.

    A link is not what was marked: Stithy knows its directories by their real names.
    """
    mark = None if directory.is_symlink() else read_mark(directory)
    return mark is not None and mark.run_id == run_id


def held_bytes(directory: Path) -> int:
    """What Stithy's own directories in it take of the file system; 0 without its mark."""
    if read_mark(directory) is None:
        return 0
    trees = (directory / name for name in (DATA, MASTER))
    files = (Path(folder, each) for tree in trees for folder, _, names in os.walk(tree)
             for each in names)  # fmt: skip
    return sum(each.lstat().st_blocks * BLOCK_BYTES for each in files)


def foreign_entries(directory: Path) -> list[str]:
    """Names in `directory` that are not Stithy's, sorted."""
    known = OWN | OF_THE_FILE_SYSTEM if os.path.ismount(directory) else OWN
    return sorted(set(os.listdir(directory)) - known)


def _missing(path: Path, where: str) -> Use:
    parent = path.parent
    if not parent.is_dir():
        if parent.exists():
            raise _refuse(f"{parent} is not a directory", where, _another())
        raise _refuse(f"{parent} does not exist", where, f"make it: mkdir -p {parent}")
    _need_writable(parent, where)
    return Use.MISSING


def _existing(path: Path, where: str) -> Use:
    _need_writable(path, where)
    try:
        foreign = foreign_entries(path)
    except OSError as error:
        raise _refuse(f"{path} cannot be read: {error.strerror}", where, _another()) from error
    mark = read_mark(path)
    if foreign or (mark is None and set(os.listdir(path)) & OWN):
        first = (foreign or sorted(set(os.listdir(path)) & OWN))[0]
        what = "not Stithy's" if foreign else "without Stithy's mark"
        raise _refuse(
            f"{path} is not empty: it holds {first!r}, {what}",
            where,
            f"empty it yourself, or {_another()}, such as {path / 'stithy'}",
        )
    if mark is None:
        return Use.EMPTY
    if mark.in_use:
        raise _refuse(
            f"{path} is in use by run {mark.run_id}",
            where,
            "wait for its end, or remove it with `stithy clean` if it was kept",
        )
    return Use.OURS


def _refuse_shared(path: Path, found: os.stat_result, where: str) -> None:
    if path.resolve().parent == path.resolve():
        raise _refuse(f"{path} is the root of the machine", where, _another())
    if found.st_mode & stat.S_ISVTX and found.st_mode & stat.S_IWOTH:
        raise _refuse(
            f"{path} is shared by all users", where, f"use a directory in it: {path / 'stithy'}"
        )


def _need_writable(path: Path, where: str) -> None:
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise _refuse(f"{path} is on a read-only file system", where, _another())
    if not os.access(path, os.W_OK | os.X_OK):
        raise _refuse(f"{path} is not writable for this user", where, f"{_another()}, or use sudo")


def _another() -> str:
    return "name another directory"


def _refuse(problem: str, where: str, remedy: str) -> PreconditionError:
    return PreconditionError(problem, where=where, remedy=remedy)
