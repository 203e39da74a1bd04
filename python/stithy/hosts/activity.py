"""What a machine does besides: how busy it is just now, what others use, which files are made.

Two readings some time apart, and pure functions between them. Others are all processes but those
of the run and what descends from them; threads of the kernel belong to whoever asks it for
something, and are left out. What a process did that ended is in the counters of the one that
waited for it.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import Clock
from stithy.hosts.devices import parse_diskstats
from stithy.hosts.files import text_of
from stithy.hosts.processes import stat_of

WATCHED_S = 1.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PASSING = ("loop", "ram", "zram")
"""Devices that stand on another one, or on none: what is under them counts what they do."""


@dataclass(frozen=True)
class BusyProcess:
    """A process that used CPUs; `cpus` is how many of them on average."""

    name: str
    pid: int
    cpus: float


@dataclass(frozen=True)
class Activity:
    """What went on in `span_s`.

    `cpu_share` is the share of all CPUs that were busy, `steal_share` that a hypervisor gave to
    others. `processes`: busiest first. `devices`: share of the time with a request under way.
    """

    span_s: float
    cpu_share: float
    steal_share: float
    processes: tuple[BusyProcess, ...]
    devices: Mapping[str, float]


@dataclass(frozen=True)
class ActivityCounters:
    """Counters at a moment: ticks of all CPUs, ticks and name by process, busy ms by device."""

    at_s: float
    cpu_ticks: tuple[int, ...]
    processes: Mapping[int, tuple[str, int]]
    busy_ms: Mapping[str, int]


def watch(clock: Clock, proc: Path = Path("/proc")) -> Activity:
    """What goes on in the next second."""
    before = read(clock, proc)
    clock.sleep_s(WATCHED_S)
    return between(before, read(clock, proc))


def read(clock: Clock, proc: Path) -> ActivityCounters:
    """All counters now; of a kernel that tells none, none."""
    return ActivityCounters(
        clock.monotonic_s(),
        _cpu_ticks(text_of(proc / "stat")),
        _processes(proc),
        _busy_ms(text_of(proc / "diskstats")),
    )


def between(before: ActivityCounters, after: ActivityCounters) -> Activity:
    """What went on between two readings."""
    span_s = after.at_s - before.at_s
    spent = [max(0, b - a) for a, b in zip(before.cpu_ticks, after.cpu_ticks, strict=False)]
    total = sum(spent)
    processes = [
        BusyProcess(name, pid, (ticks - before.processes[pid][1]) / TICKS_PER_S / span_s)
        for pid, (name, ticks) in after.processes.items()
        if pid in before.processes and ticks > before.processes[pid][1]
    ]
    busy = {
        name: min(1.0, max(0, ms - before.busy_ms[name]) / 1000 / span_s)
        for name, ms in after.busy_ms.items()
        if name in before.busy_ms
    }
    return Activity(
        span_s=span_s,
        # Idle and waiting for a device are the fourth and fifth; what was stolen is no work here.
        cpu_share=(total - sum(spent[3:5]) - sum(spent[7:8])) / total if total else 0.0,
        steal_share=sum(spent[7:8]) / total if total else 0.0,
        processes=tuple(sorted(processes, key=lambda each: -each.cpus)),
        devices=busy,
    )


def _cpu_ticks(stat: str) -> tuple[int, ...]:
    """Of `cpu  4705 150 1120 16250 520 30 45 0 0 0`, guests left out, which are in user and nice.

    Source: Documentation/filesystems/proc.rst of Linux.
    """
    return tuple(int(each) for each in stat.partition("\n")[0].split()[1:9])


def _busy_ms(text: str) -> dict[str, int]:
    """Milliseconds with a request under way, by device."""
    return {
        name: counters.busy_ms
        for name, counters in parse_diskstats(text.encode()).items()
        if not name.startswith(PASSING)
    }


def _processes(proc: Path) -> dict[int, tuple[str, int]]:
    found = {}
    for folder in proc.glob("[0-9]*"):
        stat = stat_of(folder)
        if stat is not None and int(folder.name) != os.getpid():
            found[int(folder.name)] = (stat.name, int(stat.fields[11]) + int(stat.fields[12]))
    return found


PROC = Path("/proc")
NAMED_MAX = 3
KERNEL_THREAD = 0x00200000
"""The flag PF_KTHREAD of include/linux/sched.h."""

Key = tuple[int, int]
"""Process id and start: ids are used again."""


@dataclass(frozen=True)
class Process:
    """One process; what its ended children did is in its ticks and bytes.

    `moved_bytes` counts what it had read from storage and made to be written; 0 where this user
    may not see it.
    """

    name: str
    parent: int
    ticks: int
    moved_bytes: int


@dataclass(frozen=True)
class OthersReading:
    """All processes of others at a moment."""

    at_s: float
    processes: Mapping[Key, Process]


@dataclass(frozen=True)
class OtherLoad:
    """What others did in `span_s`; `names` are the programs that did most, busiest first."""

    span_s: float
    cpu_s: float
    moved_bytes: int
    names: tuple[str, ...]


def read_others(clock: Clock, own: Collection[int], proc: Path = PROC) -> OthersReading:
    """The others now; `own` are process ids of a run, what descends from them is its own too."""
    found = {}
    for folder in proc.glob("[0-9]*"):
        if (shown := _process(folder)) is not None:
            found[int(folder.name)] = shown
    parents = {pid: process.parent for pid, (_, _, process) in found.items()}
    others = {
        (pid, start): process
        for pid, (start, flags, process) in found.items()
        if not flags & KERNEL_THREAD and not _descends(pid, parents, own)
    }
    return OthersReading(clock.monotonic_s(), others)


def others_between(before: OthersReading, after: OthersReading) -> OtherLoad:
    """What others did between two readings."""
    ticks = _growths(before, after, lambda each: each.ticks)
    moved = _growths(before, after, lambda each: each.moved_bytes)
    # The busiest first, by CPU time and then by bytes; who did nothing is not named.
    busy = sorted((key for key in ticks if ticks[key] or moved[key]), key=lambda key: -ticks[key])
    most = sorted(busy, key=lambda key: -moved[key])[:1]
    names = dict.fromkeys(after.processes[key].name for key in [*busy[: NAMED_MAX - 1], *most])
    return OtherLoad(
        span_s=after.at_s - before.at_s,
        cpu_s=sum(ticks.values()) / TICKS_PER_S,
        moved_bytes=sum(moved.values()),
        names=tuple(names),
    )


def _growths(
    before: OthersReading, after: OthersReading, value: Callable[[Process], int]
) -> dict[Key, int]:
    """By how much a counter grew for each process that is there now."""
    grown = {
        key: value(now) - (value(before.processes[key]) if key in before.processes else 0)
        for key, now in after.processes.items()
    }
    for key, gone in before.processes.items():
        heir = None if key in after.processes else _heir(gone, before, after)
        if heir is not None:
            # What it had done before the first reading came to whoever waited for its end.
            grown[heir] -= value(gone)
    return {key: max(0, growth) for key, growth in grown.items()}


def _heir(gone: Process, before: OthersReading, after: OthersReading) -> Key | None:
    """The nearest ancestor of a process that ended which is still there."""
    keys = {key[0]: key for key in before.processes}
    seen: set[int] = set()
    while gone.parent in keys and gone.parent not in seen:
        seen.add(gone.parent)
        key = keys[gone.parent]
        if key in after.processes:
            return key
        gone = before.processes[key]
    return None


def _descends(pid: int, parents: Mapping[int, int], own: Collection[int]) -> bool:
    seen: set[int] = set()
    while pid not in seen:
        if pid in own:
            return True
        seen.add(pid)
        pid = parents.get(pid, 0)
    return False


def _process(folder: Path) -> tuple[int, int, Process] | None:
    """Start, flags and counters of one process; None where it has ended meanwhile.

    Source: proc_pid_stat(5), proc_pid_io(5).
    """
    stat = stat_of(folder)
    if stat is None:
        return None
    field = stat.fields
    flags, ticks = int(field[6]), sum(int(each) for each in field[11:15])
    moved = 0 if flags & KERNEL_THREAD else _moved(folder)  # there are many, and none counts
    return int(field[19]), flags, Process(stat.name, int(field[1]), ticks, moved)


def _moved(folder: Path) -> int:
    shown = dict(line.split(": ") for line in text_of(folder / "io").splitlines())
    written = int(shown.get("write_bytes", 0)) - int(shown.get("cancelled_write_bytes", 0))
    return int(shown.get("read_bytes", 0)) + max(0, written)


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
