"""What other programs do on a machine: which use its CPUs and disks, which files are made.

Two readings some time apart, and pure functions between them. Others are all processes but those
of the run and what descends from them; threads of the kernel belong to whoever asks it for
something, and are left out. What a process did that ended is in the counters of the one that
waited for it. Where /proc hides processes, what the CPUs did says how much those used.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stithy.clock import Clock
from stithy.hosts.devices import (
    DiskCounters,
    find_counter_growth,
    is_partition,
    parse_diskstats,
    read_text,
)
from stithy.hosts.processes import read_stat

WATCHED_S = 1.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PASSING = ("loop", "ram", "zram")
"""Devices that stand on another one, or on none: what is under them counts what they do."""

PROC = Path("/proc")
NAMED_MAX = 3
KERNEL_THREAD = 0x00200000
"""The flag PF_KTHREAD of include/linux/sched.h."""

Key = tuple[int, int]
"""Process id and start: ids are used again."""


@dataclass(frozen=True)
class Process:
    """One process; what its ended children did is in its ticks and bytes.

    `moved_bytes` counts what it had read from storage and made to be written; None where this user
    may not see it.
    """

    name: str
    parent: int
    ticks: int
    moved_bytes: int | None


@dataclass(frozen=True)
class ActivityCounters:
    """Counters at a moment; `rest`: of run and kernel, `cpu_ticks`: of the CPUs that it may use."""

    at_s: float
    others: Mapping[Key, Process]
    rest: Mapping[Key, Process]
    cpu_ticks: tuple[int, ...] = ()
    devices: Mapping[str, DiskCounters] = field(default_factory=dict)


@dataclass(frozen=True)
class BusyProgram:
    """A process of others by the kernel's name of it: its words may hold secrets.

    `cpu_share` is a share of all CPUs; `bytes_per_s` is None where this user may not see it.
    """

    name: str
    pid: int
    cpu_share: float
    bytes_per_s: float | None


@dataclass(frozen=True)
class MachineActivity:
    """What others did in `span_s`; `programs` are those that did anything, busiest first.

    `cpu_share` of all CPUs was used by others, and `hidden_share` of that by what /proc does not
    show; `steal_share` is what a hypervisor gave away. `cpu_s` and `moved_bytes` are of visible
    programs, `run_bytes` of the run. `devices`: by whole disk, share of the time with a request.
    """

    span_s: float
    cpu_share: float
    steal_share: float
    programs: tuple[BusyProgram, ...]
    devices: Mapping[str, float]
    hidden_share: float = 0.0
    cpu_s: float = 0.0
    moved_bytes: int = 0
    run_bytes: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The programs that did most: by CPU time, and the one that moved most bytes."""
        by_bytes = sorted(self.programs, key=lambda program: -(program.bytes_per_s or 0))
        busiest = (*self.programs[: NAMED_MAX - 1], *by_bytes[:1])
        return tuple(dict.fromkeys(program.name for program in busiest))


def watch(clock: Clock, pids: Collection[int] = (), proc: Path = PROC) -> MachineActivity:
    """What others do in the next second; `pids` as `read` has them, and this process."""
    before = read(clock, {os.getpid(), *pids}, proc)
    clock.sleep_s(WATCHED_S)
    return compare_counters(before, read(clock, {os.getpid(), *pids}, proc))


def read(clock: Clock, pids: Collection[int], proc: Path = PROC) -> ActivityCounters:
    """All counters now; `pids` are process ids of a run, with what descends from them."""
    processes = {}
    for folder in proc.glob("[0-9]*"):
        if (process := _process(folder)) is not None:
            processes[int(folder.name)] = process
    parents = {pid: process.parent for pid, (_, _, process) in processes.items()}
    others: dict[Key, Process] = {}
    rest: dict[Key, Process] = {}
    for pid, (start, flags, counted) in processes.items():
        is_rest = flags & KERNEL_THREAD or _is_descendant(pid, parents, pids)
        (rest if is_rest else others)[pid, start] = counted
    devices = parse_diskstats(read_text(proc / "diskstats").encode())
    ticks = _read_cpu_ticks(read_text(proc / "stat"))
    return ActivityCounters(clock.monotonic_s(), others, rest, ticks, devices)


def is_disk(name: str) -> bool:
    """Whether a block device is a whole disk of the machine."""
    return not name.startswith((*PASSING, "dm-", "md", "nbd")) and not is_partition(name)


def _read_cpu_ticks(text: str) -> tuple[int, ...]:
    """Of lines `cpu0  4705 150 1120 16250 520 30 45 0 0 0` the sums, guests left out.

    Guests are in user and nice. Source: Documentation/filesystems/proc.rst of Linux.
    """
    usable = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    counted = [words[1:9] for words in lines if words[0] in usable] or [w[1:9] for w in lines[:1]]
    return tuple(sum(map(int, column)) for column in zip(*counted, strict=True))


def compare_counters(before: ActivityCounters, after: ActivityCounters) -> MachineActivity:
    """What others did between two readings."""
    span_s = after.at_s - before.at_s
    elapsed_s = span_s or 1.0  # a clock of tests may stand still
    spent = [max(0, b - a) for a, b in zip(before.cpu_ticks, after.cpu_ticks, strict=False)]
    total, busy = sum(spent), sum(spent[:3])  # user, nice and system; interrupts are nobody's
    ticks = _find_growths(before.others, after.others, lambda process: process.ticks)
    rest = _find_growths(before.rest, after.rest, lambda process: process.ticks)
    moved = _find_growths(before.others, after.others, lambda process: process.moved_bytes or 0)
    of_run = _find_growths(before.rest, after.rest, lambda process: process.moved_bytes or 0)
    seen = sum(ticks.values())
    hidden = max(0, busy - seen - sum(rest.values()))
    capacity = total or elapsed_s * TICKS_PER_S * len(os.sched_getaffinity(0))
    # What they did on CPUs that this process may not use took nothing from these.
    used = min(seen + hidden, busy) if total else seen
    programs = [
        BusyProgram(
            process.name,
            key[0],
            min(1.0, ticks[key] / capacity),
            None if process.moved_bytes is None else moved[key] / elapsed_s,
        )
        for key, process in after.others.items()
        if ticks[key] or moved[key]
    ]
    return MachineActivity(
        span_s=span_s,
        cpu_share=min(1.0, used / capacity),
        steal_share=sum(spent[7:8]) / total if total else 0.0,
        programs=tuple(sorted(programs, key=lambda one: (-one.cpu_share, -(one.bytes_per_s or 0)))),
        devices=_find_busy_shares(before.devices, after.devices, elapsed_s),
        hidden_share=hidden / capacity,
        cpu_s=seen / TICKS_PER_S,
        moved_bytes=sum(moved.values()),
        run_bytes=sum(of_run.values()),
    )


def _find_busy_shares(
    before: Mapping[str, DiskCounters], after: Mapping[str, DiskCounters], elapsed_s: float
) -> dict[str, float]:
    grown = {
        name: find_counter_growth(counters.busy_ms, after[name].busy_ms)
        for name, counters in before.items()
        if name in after and is_disk(name)
    }
    return {name: min(1.0, ms / 1000 / elapsed_s) for name, ms in grown.items()}


def _find_growths(
    before: Mapping[Key, Process], after: Mapping[Key, Process], value: Callable[[Process], int]
) -> dict[Key, int]:
    grown = {
        key: value(now) - (value(before[key]) if key in before else 0) for key, now in after.items()
    }
    for key, gone in before.items():
        heir = None if key in after else _find_heir(gone, before, after)
        if heir is not None:
            # What it had done before the first reading came to whoever waited for its end.
            grown[heir] -= value(gone)
    return {key: max(0, growth) for key, growth in grown.items()}


def _find_heir(
    gone: Process, before: Mapping[Key, Process], after: Mapping[Key, Process]
) -> Key | None:
    """The nearest ancestor of a process that ended which is still there."""
    keys = {key[0]: key for key in before}
    seen: set[int] = set()
    while gone.parent in keys and gone.parent not in seen:
        seen.add(gone.parent)
        key = keys[gone.parent]
        if key in after:
            return key
        gone = before[key]
    return None


def _is_descendant(pid: int, parents: Mapping[int, int], pids: Collection[int]) -> bool:
    seen: set[int] = set()
    while pid not in seen:
        if pid in pids:
            return True
        seen.add(pid)
        pid = parents.get(pid, 0)
    return False


def _process(folder: Path) -> tuple[int, int, Process] | None:
    """Start, flags and counters of one process; None where it has ended meanwhile.

    Source: proc_pid_stat(5), proc_pid_io(5).
    """
    stat = read_stat(folder)
    if stat is None:
        return None
    field = stat.fields
    flags, ticks = int(field[6]), sum(int(each) for each in field[11:15])
    moved = (
        0 if flags & KERNEL_THREAD else _read_moved_bytes(folder)
    )  # there are many, and none counts
    # A process may call itself anything, also what a terminal obeys.
    name = "".join(letter if letter.isprintable() else "?" for letter in stat.name)
    return int(field[19]), flags, Process(name, int(field[1]), ticks, moved)


def _read_moved_bytes(folder: Path) -> int | None:
    shown = dict(line.split(": ") for line in read_text(folder / "io").splitlines())
    if not shown:
        return None
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


def list_births(directory: Path) -> frozenset[Birth] | None:
    """The regular files in a directory; None where there is no such directory.

    A file that vanishes meanwhile is left out.
    """
    try:
        names = os.listdir(directory)
    except OSError:
        return None
    births: set[Birth] = set()
    for path in (directory / name for name in names):
        with suppress(FileNotFoundError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                births.add((status.st_ino, _read_birth_ns(path)))
    return frozenset(births)


def count_made_between(
    before: frozenset[Birth] | None, after: frozenset[Birth] | None
) -> int | None:
    """How many files were made between two readings of a directory; None where one is missing."""
    return None if before is None or after is None else len(after - before)


def _read_birth_ns(path: Path) -> int:
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
