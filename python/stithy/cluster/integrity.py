"""Whether a block device gives back what was written to it while many write at once.

Bridges from user space to the kernel have mixed up the buffers of concurrent writes. Eight writers
write blocks that no other block equals, and every block is read back. Then the kernel is asked for
zeros in the middle of them, as file systems do: a bridge that makes a discard of this, and drops
discards or skips small ones, leaves old data where a file system counts on zeros.
"""

import ctypes
import mmap
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stithy.errors import InfrastructureError

BLOCK_BYTES = 4096
WRITERS = 8
BLOCKS = 64
"""Of each writer."""

ZEROED = range(9, 13)
"""Blocks of which zeros are asked for: fewer than what discards are rounded to, and not aligned."""

PUNCH_HOLE_KEEP_SIZE = 3
"""Which of a block device asks for zeros. Source: fallocate(2), and blkdev_fallocate of Linux."""

_LIBC = ctypes.CDLL(None, use_errno=True)


def check(device: Path) -> None:
    """Raise InfrastructureError where a block comes back as another; what lay there is lost."""
    seed = secrets.token_bytes(16)
    descriptor = os.open(device, os.O_RDWR | os.O_DIRECT)
    try:
        with ThreadPoolExecutor(max_workers=WRITERS) as pool:
            list(pool.map(lambda writer: _write(descriptor, writer, seed), range(WRITERS)))
        os.fsync(descriptor)
        _refuse(_wrong(descriptor, seed), "came back as others than were written", device)
        if _zeros_made(descriptor):
            wrong = _wrong(descriptor, seed, ZEROED)
            _refuse(wrong, "are wrong after zeros were asked for", device)
    finally:
        os.close(descriptor)


def _refuse(wrong: int, how: str, device: Path) -> None:
    if wrong:
        raise InfrastructureError(
            f"{wrong} of {WRITERS * BLOCKS} blocks {how}",
            where=str(device),
            remedy="do not use this way to the image: upgrade QEMU and libnbd, or use a kernel "
            "with rbd",
        )


def _zeros_made(descriptor: int) -> bool:
    """Ask for zeros; False where the device has no such request, and the kernel writes them."""
    begin, size = (ctypes.c_int64(n * BLOCK_BYTES) for n in (ZEROED.start, len(ZEROED)))
    return bool(_LIBC.fallocate(descriptor, PUNCH_HOLE_KEEP_SIZE, begin, size) == 0)


def _pattern(block: int, seed: bytes) -> bytes:
    return (seed + block.to_bytes(16, "big")) * (BLOCK_BYTES // 32)


def _write(descriptor: int, writer: int, seed: bytes) -> None:
    """Every eighth block, so that neighbours are written by others at the same time."""
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for block in range(writer, WRITERS * BLOCKS, WRITERS):
            buffer[:] = _pattern(block, seed)
            os.pwrite(descriptor, buffer, block * BLOCK_BYTES)


def _wrong(descriptor: int, seed: bytes, zeroed: range = range(0)) -> int:
    """How many blocks hold neither what was written nor, those of `zeroed`, zeros."""
    wrong = 0
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for block in range(WRITERS * BLOCKS):
            os.preadv(descriptor, [buffer], block * BLOCK_BYTES)
            right = bytes(BLOCK_BYTES) if block in zeroed else _pattern(block, seed)
            wrong += buffer[:] != right
    return wrong
