"""A scratch file that has no name: whatever happens, nothing is left of it.

It is written once from end to end, because what was never written is read from nowhere.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.units import format_size

SPARE_SHARE = 0.05
"""Share of a file system that is never taken: a full one is slow, and a trouble to others."""


@contextmanager
def scratch_file(directory: Path, size_bytes: int) -> Iterator[str]:
    """A path by which this process's children open a nameless file of `size_bytes`.

    Raises PreconditionError where there is no room or no right to write.
    """
    need_room(directory, size_bytes)
    try:
        handle, name = tempfile.mkstemp(prefix=".stithy-scratch-", dir=directory)
    except OSError as error:
        raise PreconditionError(
            f"no file can be made there: {error.strerror}",
            where=str(directory),
            remedy="name a directory that this user may write to",
        ) from error
    try:
        # From here on the file goes with this process, also when that is killed.
        os.unlink(name)
        _allocate(handle, size_bytes, directory)
        yield f"/proc/{os.getpid()}/fd/{handle}"
    finally:
        os.close(handle)


def need_room(directory: Path, size_bytes: int) -> None:
    """Raise PreconditionError where `size_bytes` would not leave a share of the room free."""
    space = os.statvfs(directory)
    free_bytes = space.f_bavail * space.f_frsize
    spare_bytes = SPARE_SHARE * space.f_blocks * space.f_frsize
    if size_bytes > free_bytes - spare_bytes:
        raise PreconditionError(
            f"a scratch file of {format_size(size_bytes)} does not fit: "
            f"{format_size(free_bytes)} are free, of which {format_size(spare_bytes)} stay free",
            where=str(directory),
            remedy="give a smaller --size, or make room",
        )


def _allocate(handle: int, size_bytes: int, directory: Path) -> None:
    try:
        os.posix_fallocate(handle, 0, size_bytes)
    except OSError as error:
        raise PreconditionError(
            f"a scratch file of {format_size(size_bytes)} cannot be made: {error.strerror}",
            where=str(directory),
            remedy="give a smaller --size, or make room",
        ) from error
