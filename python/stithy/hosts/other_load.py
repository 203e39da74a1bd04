"""What others use of a machine between two readings: CPU time and storage, process by process.

Others are all processes but a run's own and those below them; threads of the kernel belong to
whoever asks it for something, and are left out. A process that ended is in the counters of the one
that waited for it, so nothing is lost of those that come and go.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import Clock
from stithy.hosts.activity import TICKS_PER_S
from stithy.hosts.processes import stat_of

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
class Reading:
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


def read(clock: Clock, own: Collection[int], proc: Path = PROC) -> Reading:
    """The others now; `own` are process ids of a run, what descends from them is its own too."""
    found = {}
    for folder in proc.glob("[0-9]*"):
        if (told := _process(folder)) is not None:
            found[int(folder.name)] = told
    parents = {pid: process.parent for pid, (_, _, process) in found.items()}
    others = {
        (pid, start): process
        for pid, (start, flags, process) in found.items()
        if not flags & KERNEL_THREAD and not _descends(pid, parents, own)
    }
    return Reading(clock.monotonic_s(), others)


def between(before: Reading, after: Reading) -> OtherLoad:
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


def _growths(before: Reading, after: Reading, value: Callable[[Process], int]) -> dict[Key, int]:
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


def _heir(gone: Process, before: Reading, after: Reading) -> Key | None:
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
    ticks = sum(int(each) for each in field[11:15])
    return int(field[19]), int(field[6]), Process(stat.name, int(field[1]), ticks, _moved(folder))


def _moved(folder: Path) -> int:
    try:
        lines = (folder / "io").read_text().splitlines()
    except OSError:
        return 0
    told = dict(line.split(": ") for line in lines)
    written = int(told.get("write_bytes", 0)) - int(told.get("cancelled_write_bytes", 0))
    return int(told.get("read_bytes", 0)) + max(0, written)
