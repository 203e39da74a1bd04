"""Whether a block device gives back what was written to it while many write at once.

Bridges from user space to the kernel have mixed up the buffers of concurrent writes. Eight writers
write blocks that no other block equals, and every block is read back.
"""

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


def check(device: Path) -> None:
    """Raise InfrastructureError where a block comes back as another; what lay there is lost."""
    seed = secrets.token_bytes(16)
    descriptor = os.open(device, os.O_RDWR | os.O_DIRECT)
    try:
        with ThreadPoolExecutor(max_workers=WRITERS) as pool:
            list(pool.map(lambda writer: _write(descriptor, writer, seed), range(WRITERS)))
        os.fsync(descriptor)
        wrong = sum(not _is_right(descriptor, block, seed) for block in range(WRITERS * BLOCKS))
    finally:
        os.close(descriptor)
    if wrong:
        raise InfrastructureError(
            f"{wrong} of {WRITERS * BLOCKS} blocks came back as others than were written",
            where=str(device),
            remedy="do not use this way to the image: upgrade QEMU and libnbd, or use a kernel "
            "with rbd",
        )


def _pattern(block: int, seed: bytes) -> bytes:
    return (seed + block.to_bytes(16, "big")) * (BLOCK_BYTES // 32)


def _write(descriptor: int, writer: int, seed: bytes) -> None:
    """Every eighth block, so that neighbours are written by others at the same time."""
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for block in range(writer, WRITERS * BLOCKS, WRITERS):
            buffer[:] = _pattern(block, seed)
            os.pwrite(descriptor, buffer, block * BLOCK_BYTES)


def _is_right(descriptor: int, block: int, seed: bytes) -> bool:
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        os.preadv(descriptor, [buffer], block * BLOCK_BYTES)
        return buffer[:] == _pattern(block, seed)
