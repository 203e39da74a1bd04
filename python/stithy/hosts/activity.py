"""What a machine does just now: how busy its CPUs and block devices are, and with which processes.

Two readings some time apart, and pure functions between them. This process is not counted.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stithy.clock import Clock
from stithy.hosts import diskstats
from stithy.hosts.processes import stat_of

WATCHED_S = 1.0
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PASSING = ("loop", "ram", "zram")
"""Devices that stand on another one, or on none: what they do is told of what is under them."""


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
class Reading:
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


def read(clock: Clock, proc: Path) -> Reading:
    """All counters now; of a kernel that tells none, none."""
    return Reading(
        clock.monotonic_s(),
        _cpu_ticks(_text(proc / "stat")),
        _processes(proc),
        _busy_ms(_text(proc / "diskstats")),
    )


def between(before: Reading, after: Reading) -> Activity:
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
        for name, counters in diskstats.parse(text.encode()).items()
        if not name.startswith(PASSING)
    }


def _processes(proc: Path) -> dict[int, tuple[str, int]]:
    found = {}
    for folder in proc.glob("[0-9]*"):
        stat = stat_of(folder)
        if stat is not None and int(folder.name) != os.getpid():
            found[int(folder.name)] = (stat.name, int(stat.fields[11]) + int(stat.fields[12]))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
