"""What the files of InnoDB's tables say of themselves.

Source: MariaDB 10.11, storage/innobase/include/fsp0types.h: the flags of a tablespace.
"""

from pathlib import Path

from stithy.storage.space import BLOCK_BYTES

FLAGS = slice(54, 58)
"""Where they stand in the first page."""

IS_FULL_CRC32 = 1 << 4
"""Set in files of the newer format, which `ROW_FORMAT=COMPRESSED` never has."""


def measure_reduction(data: Path) -> float | None:
    """Measure bytes of pages for a byte that their files take; None without a table.

    Pages that are compressed one by one leave holes; others are kept in smaller ones. Raises
    OSError.
    """
    pages, taken = 0, 0
    for path in data.rglob("*.ibd"):
        status = path.stat()
        with path.open("rb") as file:
            flags = int.from_bytes(file.read(FLAGS.stop)[FLAGS], "big")
        pages += status.st_size * count_pages(flags)
        taken += min(status.st_size, status.st_blocks * BLOCK_BYTES)
    return pages / taken if taken else None


def count_pages(flags: int) -> int:
    """Count by how much a page is larger than what stands for it in the file.

    >>> count_pages(0x21), count_pages(0x29), count_pages(0x15)  # of 16 KiB: in 16, in 8; crc32
    (1, 2, 1)
    """
    kept, whole = flags >> 1 & 15, flags >> 6 & 15
    return 1 if flags & IS_FULL_CRC32 or not kept else 2 ** ((whole or 5) - kept)
