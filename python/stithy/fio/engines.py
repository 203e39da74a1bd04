"""Which engine of fio submits requests how: the one table for profiles, job files and results."""

from collections.abc import Mapping
from typing import Literal

from stithy.errors import TextError

Submission = Literal["sync", "async"]
"""`sync`: a job waits for its request, and has no other. `async`: it keeps `iodepth` of them."""

ENGINES: Mapping[str, Submission] = {
    "psync": "sync", "sync": "sync", "pvsync": "sync", "pvsync2": "sync",
    "io_uring": "async", "libaio": "async", "posixaio": "async",
}  # fmt: skip
"""Engines that read and write files and devices directly, the one that is used first of each."""

UNFIT: Mapping[str, str] = {
    "mmap": "it reads and writes the page cache",
    "splice": "it reads and writes the page cache",
    "vsync": "it joins neighbouring requests into one: pvsync does not",
    "sg": "it needs a character device",
    "io_uring_cmd": "it needs a character device",
}
"""Why others are refused; those that are in neither table move no data of a file or device."""

SYNC_ENGINE = "psync"
USUAL_ASYNC = ("io_uring", "libaio")
"""Those of streams that name none; the first that works."""


def submission_of(engine: str) -> Submission:
    """How an engine submits. Raises TextError for one that is not used, with the reason."""
    if (found := ENGINES.get(engine)) is None:
        why = UNFIT.get(engine, "it reads and writes no file or device of the kernel")
        raise TextError(f"{engine!r} is not used: {why}; engines are {', '.join(ENGINES)}")
    return found


def ring_of(iodepth: int) -> int:
    """The depth that fio's io_uring keeps: rounded up to a power of two (engines/io_uring.c)."""
    return 1 << (iodepth - 1).bit_length()
