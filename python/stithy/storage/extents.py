"""What single files take on a btrfs after compression, from the file system's own tree.

`stat` tells lengths before compression, and the books of a btrfs are of all its files together. The
tree has for each extent how many bytes it takes. Root alone may read it.
Source: linux/btrfs.h and linux/btrfs_tree.h: BTRFS_IOC_TREE_SEARCH_V2, btrfs_file_extent_item.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

TREE_SEARCH_V2 = 0xC0709411
"""_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2), which has 112 bytes before its buffer."""

_KEY = struct.Struct("<7Q4I4QQ")
"""Tree, lowest and highest object, offset and transaction; types; items; unused; buffer's size."""

_HEADER = struct.Struct("<QQQII")
_EXTENT = struct.Struct("<QQBBHB")
"""Generation, length in memory, compression, encryption, other encoding, kind."""

_PLACE = struct.Struct("<QQ")
EXTENT_DATA = 108
INLINE = 0
BUFFER_BYTES = 65536
ALL = 2**64 - 1


def stored_bytes(folder: Path) -> int:
    """What the extents of all files below `folder` take, one copy, each extent once.

    Raises OSError where this is no btrfs, or the user may not look.
    """
    inline, extents = 0, {}
    device = folder.lstat().st_dev
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for place, _, files in os.walk(folder):
            for name in files:
                status = os.lstat(os.path.join(place, name))
                if status.st_dev != device:
                    continue
                for at, size_bytes in _extents(descriptor, status.st_ino):
                    if at is None:
                        inline += size_bytes
                    else:
                        extents[at] = size_bytes
    finally:
        os.close(descriptor)
    return inline + sum(extents.values())


def _extents(descriptor: int, inode: int) -> Iterator[tuple[int | None, int]]:
    """Where each extent of a file lies, None within the tree, and its bytes; holes have none."""
    offset = 0
    while True:
        count, buffer = _search(descriptor, inode, offset)
        position, last = 0, None
        for _ in range(count):
            _, _, last, _, length = _HEADER.unpack_from(buffer, position)
            position += _HEADER.size
            yield from _extent(buffer[position : position + length])
            position += length
        if last is None or last == ALL:
            return
        offset = last + 1


def _search(descriptor: int, inode: int, offset: int) -> tuple[int, bytes]:
    """How many items there are in the answer, and the answer."""
    key = _KEY.pack(
        0, inode, inode, offset, ALL, 0, ALL, EXTENT_DATA, EXTENT_DATA, 2**32 - 1, 0,
        0, 0, 0, 0, BUFFER_BYTES,
    )  # fmt: skip
    buffer = bytearray(key + bytes(BUFFER_BYTES))
    fcntl.ioctl(descriptor, TREE_SEARCH_V2, buffer)
    return _KEY.unpack_from(buffer)[9], bytes(buffer[_KEY.size :])


def _extent(item: bytes) -> Iterator[tuple[int | None, int]]:
    kind = _EXTENT.unpack_from(item)[5]
    if kind == INLINE:
        yield None, len(item) - _EXTENT.size
        return
    at, size_bytes = _PLACE.unpack_from(item, _EXTENT.size)
    if at:
        yield at, size_bytes
