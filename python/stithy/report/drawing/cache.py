"""Keep a text in the user's cache folder between runs, safe from other users and from halves."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def cached_text(home: Callable[[], Path], name: str, make: Callable[[], str]) -> str:
    """The text that is kept under `name` in the folder `home`; made, and kept, where none is.

    Where nothing can be kept it is made each time: nobody learns of it.
    """
    try:
        folder = _own(home())
    except (OSError, RuntimeError):
        return make()
    with suppress(OSError):
        if (text := _read(folder / name)) is not None:
            return text
    text = make()
    with suppress(OSError):
        _write(folder / name, text.encode())
    return text


def _own(folder: Path) -> Path:
    """The folder, made where it is missing. Raises OSError for one that others may write to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or not _is_own(about):
        raise PermissionError(f"{folder} is somebody else's, or others may write there")
    return folder


def _is_own(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & WRITABLE_BY_OTHERS


def _read(path: Path) -> str | None:
    """The text, None for a file that is not as it was written. Raises OSError without one."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        if not _is_own(os.fstat(file.fileno())):
            return None
        shown, _, content = file.read().partition(b"\n")
    return content.decode() if shown == _sum(content) else None


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: others may read it, or write the same, meanwhile."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(_sum(content) + b"\n" + content)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink()
        raise


def _sum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
