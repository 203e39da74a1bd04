"""Which files a directory holds, so that a file made later is told from one that was renamed.

A server recycles a log file by renaming it: inode and birth time stay. A new file has a birth time
of its own, also where the file system gives it the inode number of a removed one.
"""

import ctypes
import os
import stat
import struct
from pathlib import Path

Birth = tuple[int, int]
"""Inode number, and birth time in nanoseconds; 0 where the file system keeps none."""

_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_BORN = 0x800
_SIZE_BYTES = 256
_BORN_AT = 80
"""Offset in `struct statx`. Source: include/uapi/linux/stat.h of Linux."""

_LIBC = ctypes.CDLL(None, use_errno=True)


def births(directory: Path) -> frozenset[Birth] | None:
    """The regular files in a directory; None where there is no such directory.

    A file that vanishes meanwhile is left out.
    """
    try:
        names = os.listdir(directory)
    except OSError:
        return None
    found = (_birth(directory / name) for name in names)
    return frozenset(each for each in found if each is not None)


def made_between(before: frozenset[Birth] | None, after: frozenset[Birth] | None) -> int | None:
    """How many files were made between two readings of a directory; None where one is missing."""
    return None if before is None or after is None else len(after - before)


def _birth(path: Path) -> Birth | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return (found.st_ino, _born_ns(path)) if stat.S_ISREG(found.st_mode) else None


def _born_ns(path: Path) -> int:
    """Birth time of a file; 0 where the C library, the kernel or the file system has none."""
    asked = getattr(_LIBC, "statx", None)
    if asked is None:
        return 0
    answer = ctypes.create_string_buffer(_SIZE_BYTES)
    name = os.fsencode(path)
    if asked(_AT_FDCWD, name, _AT_SYMLINK_NOFOLLOW, _BORN, answer) != 0:
        return 0
    (mask,) = struct.unpack_from("=I", answer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _BORN_AT)
    return seconds * 10**9 + nanoseconds if mask & _BORN else 0
