"""The power cut of a machine: drives, processes and memory, in the order of the real thing.

1. The drives stop: nothing is answered any more, and what becomes of each volatile write (answered
   and not flushed, or under way) is decided by a seed. From here on nothing reaches an image.
2. The processes are killed before they could learn of it.
3. What they wait for fails, so that they can end: a process inside a request cannot be killed.
4. The file systems are shut down and unmounted; what memory still held of them fails and is gone.
5. The drives tell what they answered since the stop: it must be nothing.

`restore_power` then brings the drives back, and the file systems after them; servers are the
caller's. Drives are stopped one after the other within moments. That is one cut all the same: what
depends on an answer of the first is never asked of the second, for this answer was never given.
"""

import errno
import fcntl
import os
import signal
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import Clock, SystemClock
from stithy.drives import filesystems
from stithy.drives.control import Control
from stithy.errors import InfrastructureError, PreconditionError, give_reason
from stithy.hosts.runner import Runner
from stithy.wire.drive import jobs
from stithy.wire.drive.messages import DriveCounters

SILENCE_S = 60.0
"""How long the drives are mute at most: killing takes moments, and nothing may hang for ever."""

REPAIRED = 1
"""The exit code of e2fsck where it repaired all. Source: e2fsck(8)."""

END_PATIENCE_S = 30.0
PAUSE_S = 0.02

SHUTDOWN = 0x8004587D
"""The shutdown ioctl of ext4 and XFS, `_IOR('X', 125, __u32)`.
Source: XFS_IOC_GOINGDOWN in the kernel's fs/xfs/libxfs/xfs_fs.h."""

WITHOUT_LOG = 2
"""Shut down without writing the log. Source: XFS_FSOP_GOING_FLAGS_NOLOGFLUSH, as above."""


@dataclass(frozen=True)
class CheckedFileSystem:
    """What the check of an unmounted file system found; `text` is what its program wrote."""

    clean: bool
    text: str


@dataclass(frozen=True)
class MountedDrive:
    """A drive with its file system; `kind` is ext4, xfs or btrfs.

    Drives of an array, or under a cluster, have the same `folder`; `device` is what is mounted
    there. `options`: what it is mounted with.
    """

    control: Control
    name: str
    device: str
    folder: Path
    kind: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class CutRule:
    """What becomes of volatile writes; shares are probabilities, what remains is kept.

    Of a torn write each unit of `unit_bytes`, 512 or 4096, is kept or lost by itself.
    """

    seed: int
    lost_share: float = 0.3
    torn_share: float = 0.4
    unit_bytes: int = 512


@dataclass(frozen=True)
class DriveCut:
    """What a cut did to one drive.

    `kept`, `torn` and `lost` count its volatile writes. `refused` counts by operation what was
    asked of it after the stop, in vain: dirty pages among them. `shut_down`: whether the file
    system could be shut down; otherwise I/O errors alone kept its writes back.
    """

    name: str
    kept: int
    torn: int
    lost: int
    refused: Mapping[str, int]
    shut_down: bool


Pids = Callable[[], Iterable[int]]
"""The processes that the machine takes along, as of now; all that use the file systems."""


def cut_power(
    drives: Sequence[MountedDrive],
    rule: CutRule,
    pids: Pids,
    *,
    linger_s: float = 0.0,
    clock: Clock | None = None,
    held: Sequence[MountedDrive] = (),
    release: Callable[[], object] = lambda: None,
    leaves: bool = True,
) -> tuple[DriveCut, ...]:
    """Cut the power of a machine with these drives, which are unmounted afterwards.

    `linger_s`: how long its processes go on after the drives' end, for what they write elsewhere.
    `held`: drives of other machines, which keep their power and stand still until all is cut.
    `release`: lets fail what killed processes wait for besides drives. `leaves`: whether who uses
    their file systems goes with them, so that these are unmounted.

    Raises InfrastructureError where a process does not end or a write reached a drive after the
    stop, PreconditionError that names who keeps a file system from being unmounted.
    """
    time = clock or SystemClock()
    try:
        for each in (*drives, *held):
            each.control.set_fault(each.name, jobs.StallFault(duration_s=SILENCE_S))
        stops = [_cut(each, rule) for each in drives]
        time.sleep_s(linger_s)
        _kill(pids)
        release()
    finally:
        for each in (*drives, *held):
            each.control.set_fault(each.name, jobs.StallFault(duration_s=0.0))
    _wait_for_the_end(pids, time)
    left = select_mounts(drives) if leaves else []
    shut = {drive.folder: _leave(drive, time) for drive in left}
    return tuple(
        _verify_cut(drive, stop, shut.get(drive.folder, False))
        for drive, stop in zip(drives, stops, strict=True)
    )


def restore_power(
    drives: Sequence[MountedDrive], *, runner: Runner | None = None
) -> tuple[str, ...]:
    """Bring the drives back, then their file systems; see `mount_again`."""
    for each in drives:
        each.control.set_fault(each.name, jobs.PowerOn())
    return mount_again(drives, runner=runner)


def mount_again(drives: Sequence[MountedDrive], *, runner: Runner | None = None) -> tuple[str, ...]:
    """Mount the file systems of drives, whose logs are replayed by it.

    Returns what `repair` wrote, for each file system that the kernel does not mount: the superblock
    of ext4 takes two sectors of 512 bytes and has one checksum, so that a cut may tear it.
    """
    repairs = []
    for drive in select_mounts(drives):
        try:
            mount_drive(drive, runner=runner)
        except InfrastructureError:
            repairs.append(repair(drive.device, drive.kind, runner=runner))
            mount_drive(drive, runner=runner)
    return tuple(repairs)


def mount_drive(drive: MountedDrive, *, runner: Runner | None = None) -> None:
    """Mount its file system where and as it was. Raises InfrastructureError."""
    filesystems.mount(drive.device, drive.folder, drive.kind, options=drive.options, runner=runner)


def select_mounts(drives: Sequence[MountedDrive]) -> list[MountedDrive]:
    """Select one drive of each file system, as a folder is left once, and what it hides never.

    Of an array it is the first, which the kernel names.
    """
    return list({drive.folder: drive for drive in reversed(drives)}.values())[::-1]


def check_file_system(drive: MountedDrive, *, runner: Runner | None = None) -> CheckedFileSystem:
    """Check a mounted file system whose log was replayed: unmounts it, and mounts it again."""
    filesystems.unmount(drive.folder, devices=[drive.device], runner=runner)
    found = check(drive.device, drive.kind, runner=runner)
    mount_drive(drive, runner=runner)
    return found


def shut_down(folder: Path) -> None:
    """Shut a mounted file system down: what it has not written by now never reaches its device.

    Neither its log nor any file; unmounting, ext4 still writes its superblock. Raises
    PreconditionError where this kernel has no shutdown of this kind of file system.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno == errno.EIO:
            return  # an error of its device has shut it down already
        raise
    try:
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_LOG))
    except OSError as error:
        raise PreconditionError(
            f"this file system cannot be shut down: {give_reason(error)}",
            where=str(folder),
            remedy="use ext4 or xfs, or a kernel that can shut this file system down",
        ) from error
    finally:
        os.close(descriptor)


def check(device: str, kind: str, *, runner: Runner | None = None) -> CheckedFileSystem:
    """Check an unmounted file system, and mend nothing."""
    tool, *options = filesystems.KINDS[kind].check
    package = filesystems.KINDS[kind].package
    finished = filesystems.run_tool(runner, package, tool, *options, device)
    return CheckedFileSystem(finished.code == 0, (finished.stdout + finished.stderr).strip())


def repair(device: str, kind: str, *, runner: Runner | None = None) -> str:
    """Repair an ext4 as its administrator would, from its journal; returns what the program wrote.

    Raises InfrastructureError for another kind, and where it cannot be repaired.
    """
    text = f"there is no repair of {kind}"
    if kind == "ext4":
        package = filesystems.KINDS[kind].package
        finished = filesystems.run_tool(runner, package, "e2fsck", "-f", "-y", device)
        text = (finished.stdout + finished.stderr).strip()
        if finished.code == REPAIRED:
            return text
    remedy = "report it as a bug of the file system or of the emulated drive"
    raise InfrastructureError(f"{kind} could not be mounted: {text}", where=device, remedy=remedy)


@dataclass(frozen=True)
class _DriveStop:
    """A drive at the moment of the stop."""

    kept: int
    torn: int
    lost: int
    counters: DriveCounters


def _cut(drive: MountedDrive, rule: CutRule) -> _DriveStop:
    cut = drive.control.set_fault(
        drive.name,
        jobs.PowerCut(
            seed=rule.seed,
            lost_share=rule.lost_share,
            torn_share=rule.torn_share,
            unit_bytes=rule.unit_bytes,
        ),
    )
    assert cut is not None  # a power cut is answered with what it did
    return _DriveStop(cut.kept, cut.torn, cut.lost, drive.control.read_counters(drive.name))


def _kill(pids: Pids) -> None:
    """Send SIGKILL to all, and to those that were made meanwhile; they need not have ended yet."""
    killed: set[int] = set()
    while fresh := set(pids()) - killed:
        for pid in fresh:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= fresh


def _wait_for_the_end(pids: Pids, time: Clock) -> None:
    until_s = time.monotonic_s() + END_PATIENCE_S
    while left := list(pids()):
        if time.monotonic_s() > until_s:
            raise InfrastructureError(
                f"killed processes did not end within {END_PATIENCE_S:g} s",
                where=", ".join(str(pid) for pid in left[:5]),
                remedy="check /proc/PID/stack for what holds them",
            )
        time.sleep_s(PAUSE_S)


def _leave(drive: MountedDrive, time: Clock) -> bool:
    """Shut the file system down and unmount it; whether there was a shutdown of its kind."""
    try:
        shut_down(drive.folder)
        was_shut = True
    except PreconditionError:
        # The drive fails every request: nothing gets there, only less orderly.
        was_shut = False
    filesystems.unmount(drive.folder, devices=[drive.device], clock=time)
    return was_shut


def _verify_cut(drive: MountedDrive, stop: _DriveStop, was_shut: bool) -> DriveCut:
    """Compare what the drive did with what it had done at the stop."""
    now = drive.control.read_counters(drive.name)
    if _count_done(now) != _count_done(stop.counters):
        raise InfrastructureError(
            f"requests reached the drive after its power was cut: {_count_done(stop.counters)} had "
            f"succeeded at the stop, {_count_done(now)} in the end",
            where=f"drive {drive.name}",
            remedy="discard the results of this power cut, and report it as a bug",
        )
    before = {each.name: each.errors for each in stop.counters.operations}
    refused = {each.name: each.errors - before[each.name] for each in now.operations}
    return DriveCut(drive.name, stop.kept, stop.torn, stop.lost, refused, was_shut)


def _count_done(counters: DriveCounters) -> dict[str, int]:
    return {each.name: each.answered - each.errors for each in counters.operations}
