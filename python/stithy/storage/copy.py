"""Copies of a directory tree that are proven equal, on the disk, and out of the page cache.

Copies are plain ones even where the file system could share blocks (reflink): the first write to a
shared block must copy it or move the extent, and that would be measured as if the database did it.
"""

import ctypes
import errno
import hashlib
import mmap
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import InfrastructureError

CHUNK_BYTES = 4 * 2**20
THREADS = 2
"""Two keep a device busy while one hashes; more would only take turns on small machines."""

PAGE_BYTES = mmap.PAGESIZE


@dataclass(frozen=True)
class Contents:
    """What a tree holds: SHA-256 (hexadecimal) of each file, and its directories, by relative path.

    Two trees with equal contents have the same files with the same bytes, and nothing else.
    """

    files: Mapping[str, str]
    directories: frozenset[str]
    size_bytes: int

    @property
    def sha256(self) -> str:
        """One hash for all of it: equal where the contents are."""
        digest = hashlib.sha256()
        for name in sorted(self.directories):
            digest.update(f"{name}\0/\0".encode(errors="surrogateescape"))
        for name in sorted(self.files):
            digest.update(f"{name}\0{self.files[name]}\0".encode(errors="surrogateescape"))
        return digest.hexdigest()


def hash_tree(root: Path, without: Collection[str] = ()) -> Contents:
    """Read and hash every file of a tree; InfrastructureError for what is no file or directory.

    `without` are names in `root` that are left out, with all that they hold.
    """
    files, directories = _walk(root, without)
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = list(pool.map(_hash, (root / name for name in files)))
    size = sum((root / name).stat().st_size for name in files)
    return Contents(dict(zip(files, hashes, strict=True)), frozenset(directories), size)


def join_contents(contents: Contents, name: str, part: Contents) -> Contents:
    """The contents of a tree whose directory `name` lies elsewhere, with what it holds there."""
    return Contents(
        {**contents.files, **{f"{name}/{each}": digest for each, digest in part.files.items()}},
        contents.directories | {name} | {f"{name}/{directory}" for directory in part.directories},
        contents.size_bytes + part.size_bytes,
    )


def copy_tree(
    source: Path,
    target: Path,
    without: Collection[str] = (),
    *,
    has_holes: bool = False,
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Copy `source` to `target`, an existing empty directory; owners and modes are kept.

    `without` are names in `source` that are left out. `has_holes`: files have holes for a purpose,
    which stay; others are filled, so that a window need not allocate them. `watch` is called before
    each file, and ends it by an error. Raises OSError, for example for a full device; the target is
    then incomplete.
    """
    files, directories = _walk(source, without)
    for name in directories:
        (target / name).mkdir()
        _copy_owner(source / name, target / name)
    _copy_owner(source, target)

    def copy(name: str) -> None:
        watch()
        _copy(source / name, target / name, has_holes)

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(copy, files):
            pass


def sync_filesystem(path: Path) -> None:
    """Make all of the file system that holds `path` durable; raises OSError for a failing device.

    One call instead of one a file: a database of a thousand files took 5 s the other way, almost
    all of it in waiting for the journal a thousand times. Source: syncfs(2).
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        if _LIBC.syncfs(fd) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    finally:
        os.close(fd)


def drop_cached_pages(root: Path) -> int:
    """Ask the kernel to drop a tree's pages; returns the bytes that are still in memory.

    Only clean pages are dropped: sync first. On tmpfs nothing can be dropped.
    """
    resident_bytes = 0
    for path in _list_files(root):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            resident_bytes += _count_resident_bytes(fd)
        finally:
            os.close(fd)
    return resident_bytes


def measure_tree(root: Path) -> tuple[int, int]:
    """Number and bytes of a tree's files."""
    sizes = [path.stat().st_size for path in _list_files(root)]
    return len(sizes), sum(sizes)


def _list_files(root: Path) -> Iterator[Path]:
    """The files of a tree; where its links lead is not its own."""
    return (path for path, kind in _list_entries(root) if stat.S_ISREG(kind))


def _walk(root: Path, without: Collection[str]) -> tuple[list[str], list[str]]:
    """Relative paths of all files and of all directories, parents first, both sorted."""
    files: list[str] = []
    directories: list[str] = []
    for path, kind in _list_entries(root, without):
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise InfrastructureError(
                "neither a file nor a directory, so a copy would not be independent of it",
                where=str(path),
                remedy="use no links inside the database's directory",
            )
        (directories if stat.S_ISDIR(kind) else files).append(str(path.relative_to(root)))
    return sorted(files), sorted(directories)


def _list_entries(root: Path, without: Collection[str] = ()) -> Iterator[tuple[Path, int]]:
    """All that lies in a tree, each with its mode."""
    for folder, folders, names in os.walk(root, onerror=_raise):
        if folder == str(root):
            folders[:] = [name for name in folders if name not in without]
        for name in [*folders, *names]:
            path = Path(folder, name)
            yield path, path.lstat().st_mode


def _raise(error: OSError) -> None:
    raise error


def _hash(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, target: Path, has_holes: bool) -> None:
    with source.open("rb", buffering=0) as reading, target.open("xb", buffering=0) as writing:
        fd, size_bytes = reading.fileno(), source.stat().st_size
        for begin, end in _list_extents(fd, size_bytes) if has_holes else [(0, size_bytes)]:
            os.lseek(fd, begin, os.SEEK_SET)
            os.lseek(writing.fileno(), begin, os.SEEK_SET)
            # sendfile never shares blocks; copy_file_range may.
            while begin < end and (
                sent := os.sendfile(writing.fileno(), fd, None, min(CHUNK_BYTES, end - begin))
            ):
                begin += sent
        writing.truncate(size_bytes)
    _copy_owner(source, target)


def _list_extents(fd: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """List the parts of a file between its holes; all of it where none of its blocks is missing."""
    if os.fstat(fd).st_blocks * 512 >= size_bytes:
        yield 0, size_bytes
        return
    end = 0
    while end < size_bytes:
        try:
            begin = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # a hole to its end
        end = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, end


def _copy_owner(source: Path, target: Path) -> None:
    found = source.stat()
    if (found.st_uid, found.st_gid) != (target.stat().st_uid, target.stat().st_gid):
        os.chown(target, found.st_uid, found.st_gid)
    target.chmod(stat.S_IMODE(found.st_mode))


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long),
)
_LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_LIBC.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)


def _count_resident_bytes(fd: int) -> int:
    """Bytes of a file that are in the page cache, whole pages; 0 for an empty file.

    Python's own mmap does not tell its address for a read-only map, hence libc. Source: mincore(2).
    """
    size = os.fstat(fd).st_size
    if size == 0:
        return 0
    address = _LIBC.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap failed")
    try:
        pages = ctypes.create_string_buffer(-(-size // PAGE_BYTES))
        if _LIBC.mincore(address, size, pages) != 0:
            raise OSError(ctypes.get_errno(), "mincore failed")
    finally:
        _LIBC.munmap(address, size)
    # Only the lowest bit of each byte has a meaning.
    return sum(byte & 1 for byte in pages.raw) * PAGE_BYTES
