"""A bridge: a node of QEMU's storage daemon as a block device, by NBD, nbdfuse and a loop device.

QEMU's own FUSE export mixes up concurrent writes: it is never used. All of a bridge works or lies
in a folder of its own, by which it is found, so that whoever is killed leaves nothing that could
not be removed. It carries no mark of a run: it ends after what uses it.

`check` sees whether a device gives back what was written to it while many write at once: bridges
from user space to the kernel have mixed up the buffers of concurrent writes. Eight writers write
blocks that no other block equals, and every block is read back. Then the kernel is asked for zeros
in the middle of them, as file systems do: a bridge that makes a discard of this, and drops discards
or skips small ones, leaves old data where a file system counts on zeros.
"""

import ctypes
import mmap
import os
import secrets
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from stithy.clock import SystemClock
from stithy.drives import filesystems
from stithy.drives.control import read_last_lines, reap_programs, start_daemon
from stithy.environment import state_home
from stithy.errors import InfrastructureError
from stithy.hosts.devices import list_mounts, read_text
from stithy.hosts.processes import (
    DELETED,
    end,
    find_pids_within,
    list_program_names,
    resume_processes,
)
from stithy.needs import Package

NODE = "image"
"""QEMU's name of the node that is exported, and of its export."""

DEVICE = "device"
"""The name, in a bridge's folder, of the file that is its block device."""

SOCKET, MONITOR = "nbd.sock", "qmp.sock"
CONNECTIONS = 4
PATIENCE_S = 30.0
PROGRAMS = ("qemu-storage-daemon", "nbdfuse")
PACKAGES = {
    "qemu-storage-daemon": Package("qemu-system-common", "qemu-img"),
    "nbdfuse": Package("libnbd-bin", "nbdfuse"),
    "umount": filesystems.MOUNTING,
    "losetup": filesystems.MOUNTING,
}
"""What brings each program."""

BLOCK = Path("/sys/block")
PLACE_PREFIX = "stithy-drives-"
"""How the names of folders begin in which volumes are mounted."""


def get_home() -> Path:
    """Where the folders of bridges lie that are no cluster's, links resolved."""
    return state_home().resolve() / "bridges"


def list_bridges() -> list[Path]:
    """List the folders of these bridges, sorted."""
    return sorted(get_home().glob("*"))


def attach(folder: Path, options: str, *, monitored: bool = False) -> str:
    """Make a block device of QEMU's node `image`, by its options; all is found by `folder`.

    `monitored`: QEMU listens at the socket `MONITOR`, which only its user may open.
    """
    server = f"addr.type=unix,addr.path={SOCKET},max-connections={4 * CONNECTIONS}"
    export = f"type=nbd,id=export,node-name={NODE},name={NODE},writable=on"
    words = ["--blockdev", options, "--nbd-server", server, "--export", export]
    if monitored:
        words += ["--chardev", f"socket,id=monitor,path={MONITOR},server=on,wait=off"]
        words += ["--monitor", "chardev=monitor"]
    start_daemon(folder, [find_program(PROGRAMS[0]), *words])
    for name in (SOCKET, MONITOR) if monitored else (SOCKET,):
        _wait_for(folder / name, folder, (folder / name).exists)
        (folder / name).chmod(0o600)
    file = folder / DEVICE
    file.touch(mode=0o600)
    address = f"nbd+unix:///{NODE}?socket={SOCKET}"
    start_daemon(folder, [find_program("nbdfuse"), "-C", str(CONNECTIONS), DEVICE, address])
    _wait_for(file, folder, lambda: file.stat().st_size > 0)
    words = ["--direct-io=on", "--sector-size", str(BLOCK_BYTES), "-f", "--show", str(file)]
    finished = filesystems.run_tool(None, PACKAGES["losetup"], "losetup", *words)
    if finished.code != 0:
        raise InfrastructureError(
            f"it could not be made a block device: {finished.stderr.strip()}", where=str(file),
            remedy="take loop devices away that nobody needs (losetup -d), and try again",
        )  # fmt: skip
    return finished.stdout.strip()


def find_program(name: str) -> str:
    """Find the full path of a program. Raises PreconditionError where it is not there."""
    return filesystems.find_program(name, PACKAGES[name])


def _wait_for(what: Path, folder: Path, there: Callable[[], bool]) -> None:
    clock = SystemClock()
    until_s = clock.monotonic_s() + PATIENCE_S
    while not there():
        if clock.monotonic_s() > until_s:
            said = "".join(f": {text}" for text in read_last_lines(folder)[-2:])
            raise InfrastructureError(
                f"{what.name} did not appear{said}", where=str(folder),
                remedy="install what `stithy doctor` says is missing, and try again",
            )  # fmt: skip
        clock.sleep_s(0.05)


def find_folder(device: str) -> Path:
    """Find the folder of the bridge that is this block device. Raises InfrastructureError."""
    folder = Path(read_text(BLOCK / Path(device).name / "loop/backing_file")).parent
    if folder.parent != get_home():
        raise InfrastructureError(
            "QEMU's storage daemon no longer serves this device", where=device,
            remedy="check the kernel log (dmesg) for who took it away",
        )  # fmt: skip
    return folder


def remove(folder: Path) -> None:
    """Take the block device away, end the programs, and remove the folder. Idempotent."""
    within = [*find_pids_within(folder), *find_pids_within(Path(f"{folder}{DELETED}"))]
    pids = [pid for pid in within if not {*PROGRAMS}.isdisjoint(list_program_names(pid))]
    resume_processes(pids)  # one that is held could not answer the last requests
    detach(folder)
    end(pids, signal.SIGKILL)
    reap_programs()
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)


def detach(folder: Path) -> None:
    """Take the block device of the bridge in `folder` away. Idempotent."""
    file = folder / DEVICE
    for device in list_loops(file):
        unmount_all(device)
        filesystems.run_tool(None, PACKAGES["losetup"], "losetup", "-d", device, timeout_s=30)
    if any(file in (Path(mount.source), mount.point) for mount in list_mounts()):
        _unmount(file)


def unmount_all(device: str) -> None:
    """Unmount a device everywhere; a mount point in a folder of Stithy's own goes with it."""
    for each in [mount for mount in list_mounts() if mount.source == device]:
        _unmount(each.point)
        if each.point.parent.name.startswith(PLACE_PREFIX):
            with suppress(OSError):  # whatever else is in it is somebody's
                each.point.rmdir()
                each.point.parent.rmdir()


def _unmount(point: Path) -> None:
    """Without waiting: what lies below may not answer any more."""
    words = ("--lazy", str(point))
    filesystems.run_tool(None, PACKAGES["umount"], "umount", *words, timeout_s=30)


def list_loops(file: Path) -> list[str]:
    """The block devices that a file is, by what the kernel says."""
    files = BLOCK.glob("loop*/loop/backing_file")
    own = [each for each in files if read_text(each) == str(file)]
    return [f"/dev/{link.parent.parent.name}" for link in own]


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
        _refuse(
            _count_wrong_blocks(descriptor, seed), "came back as others than were written", device
        )
        # Not 0 where the device has no request for zeros, and the kernel writes them.
        begin, size = (ctypes.c_int64(n * BLOCK_BYTES) for n in (ZEROED.start, len(ZEROED)))
        if _LIBC.fallocate(descriptor, PUNCH_HOLE_KEEP_SIZE, begin, size) == 0:
            wrong = _count_wrong_blocks(descriptor, seed, ZEROED)
            _refuse(wrong, "are wrong after zeros were asked for", device)
    finally:
        os.close(descriptor)


def _refuse(wrong: int, how: str, device: Path) -> None:
    if wrong:
        raise InfrastructureError(
            f"{wrong} of {WRITERS * BLOCKS} blocks {how}",
            where=str(device),
            remedy="upgrade QEMU and libnbd; images of Ceph need no bridge on a kernel with rbd",
        )


def _make_pattern(block: int, seed: bytes) -> bytes:
    return (seed + block.to_bytes(16, "big")) * (BLOCK_BYTES // 32)


def _write(descriptor: int, writer: int, seed: bytes) -> None:
    """Every eighth block, so that neighbours are written by others at the same time."""
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for block in range(writer, WRITERS * BLOCKS, WRITERS):
            buffer[:] = _make_pattern(block, seed)
            os.pwrite(descriptor, buffer, block * BLOCK_BYTES)


def _count_wrong_blocks(descriptor: int, seed: bytes, zeroed: range = range(0)) -> int:
    """How many blocks hold neither what was written nor, those of `zeroed`, zeros."""
    wrong = 0
    with mmap.mmap(-1, WRITERS * BLOCK_BYTES) as buffer:
        for first in range(0, WRITERS * BLOCKS, WRITERS):
            os.preadv(descriptor, [buffer], first * BLOCK_BYTES)
            for block in range(first, first + WRITERS):
                right = bytes(BLOCK_BYTES) if block in zeroed else _make_pattern(block, seed)
                wrong += buffer.read(BLOCK_BYTES) != right
            buffer.seek(0)
    return wrong
