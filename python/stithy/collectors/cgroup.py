"""The control groups of a server, version 1 or 2: the memory of it and its page cache, and how it
was held back where its CPU time is limited.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.collectors.collector import (
    Collector,
    InstanceScope,
    KernelFile,
    Rates,
    Sample,
    Scope,
    Unavailable,
)
from stithy.metrics import CollectedMetric
from stithy.needs import MemoryLimitNeed

THROTTLED = "throttled_share"
OF_MEMORY = (
    CollectedMetric("used_bytes", "B", "memory in use, page cache included"),
    CollectedMetric("limit_bytes", "B", "the limit", compared=False),
    CollectedMetric("peak_bytes", "B", "peak use since the group was created", compared=False),
    CollectedMetric("page_cache_bytes", "B", "page cache in use, tmpfs and shared memory included"),
    CollectedMetric("anonymous_bytes", "B", "anonymous memory of processes in use"),
)
METRICS = (
    *OF_MEMORY,
    CollectedMetric(
        THROTTLED, "",
        "share of the scheduler's periods in which the server had used up its CPU time", "lower",
        noun="share of periods in which the server had no CPU time left",
        negligible=0.01,  # own: a percentage point
    ),
)  # fmt: skip

NO_MEMORY_GROUP = "the server has no memory control group of its own"
NO_CAP = "the CPU time of the server is not limited"
UNREPORTED = "the kernel reports none"
IDLE = "the server did not run in this second"

# File of each metric, and the two keys in memory.stat, by version.
_V2 = ("memory.current", "memory.max", "memory.peak", b"file", b"anon")
_V1 = (
    *("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    *(b"total_cache", b"total_rss"),
)

UNLIMITED_BYTES = 2**62
"""Version 1 writes a number near 2**63 for no limit."""


@dataclass(frozen=True)
class CgroupReading:
    """Levels in the order of `OF_MEMORY`, and the counters of the scheduler; None: no such group.

    Without counters the kernel reports none.
    """

    levels: Sequence[int | None] | None
    periods: Mapping[bytes, int] | None


class Groups:
    """The groups of a server, whose files are kept open."""

    def __init__(self, memory: Path | None, cpu: Path | None) -> None:
        """`memory` and `cpu` are directories of control groups. Raises OSError."""
        is_v2 = memory is not None and (memory / "memory.current").exists()
        *names, self._file_key, self._anonymous_key = _V2 if is_v2 else _V1
        self._levels = [_open(memory / str(name)) for name in names] if memory else []
        self._stat = KernelFile(memory / "memory.stat", 8192) if memory else None
        self._periods = _open(cpu / "cpu.stat", 4096) if cpu else None
        self._is_capped = cpu is not None
        every = (*self._levels, self._stat, self._periods)
        self.files = [reading for reading in every if reading is not None]

    def read(self) -> dict[str, CgroupReading]:
        """What both groups say."""
        levels: list[int | None] | None = None
        if self._stat is not None:
            stat = parse_stat(self._stat.read())
            of_stat = (stat.get(self._file_key), stat.get(self._anonymous_key))
            levels = []
            for file in self._levels:
                text = file.read().strip() if file is not None else b"max"
                value = None if text == b"max" else int(text)
                levels.append(None if value is None or value >= UNLIMITED_BYTES else value)
            levels += of_stat
        told = parse_stat(self._periods.read()) if self._periods is not None else {}
        return {"": CgroupReading(levels, told if self._is_capped else None)}


def make_samples(
    subject: str, last: CgroupReading, now: CgroupReading, _elapsed_s: float
) -> Iterator[Sample]:
    """Levels of memory as they are, and the share of periods between two readings.

    Source: kernel documentation, scheduler/sched-bwc.rst; the names are the same in version 2.
    """
    for number, name in enumerate(metric.name for metric in OF_MEMORY):
        value = now.levels[number] if now.levels is not None else None
        why = "no limit" if name == "limit_bytes" else UNREPORTED
        why = NO_MEMORY_GROUP if now.levels is None else why
        yield Sample(subject, name, value, why if value is None else None)
    then, told = last.periods, now.periods
    if then is None or told is None:
        yield Sample(subject, THROTTLED, None, NO_CAP)
        return
    periods, throttled = (
        told.get(key, 0) - then.get(key, 0) for key in (b"nr_periods", b"nr_throttled")
    )
    if periods > 0:
        yield Sample(subject, THROTTLED, min(1.0, throttled / periods))
    else:
        yield Sample(subject, THROTTLED, None, IDLE if told else UNREPORTED)


def _open(path: Path, size_bytes: int = 64) -> KernelFile | None:
    """The file, None where this kernel has none (memory.peak came with 5.19)."""
    return KernelFile(path, size_bytes) if path.exists() else None


def parse_stat(text: bytes) -> dict[bytes, int]:
    """The lines of memory.stat or cpu.stat, such as `anon 1380352`."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def create(scope: Scope, instance: InstanceScope) -> Rates[CgroupReading]:
    """The collector; Unavailable where the server has no control group of its own."""
    if instance.memory_cgroup is None and instance.cpu_cgroup is None:
        raise Unavailable(NO_MEMORY_GROUP)
    groups = Groups(instance.memory_cgroup, instance.cpu_cgroup)
    return Rates(groups.read, make_samples, scope.clock, groups.files)


NEEDS = (MemoryLimitNeed(why="the memory of the server's own group"),)
PLUGINS = (
    Collector("cgroup", "the server and its page cache", METRICS, create_for=create, needs=NEEDS),
)
