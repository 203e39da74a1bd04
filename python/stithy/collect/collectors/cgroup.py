"""The control groups of a server, version 1 or 2: the memory of it and its page cache, and how it
was held back where its CPU time is limited.
"""

from collections.abc import Sequence
from pathlib import Path

from stithy.collect.collector import InstanceScope, KernelFile, Sample, Scope, Unavailable
from stithy.metrics import CollectedMetric
from stithy.needs import MemoryLimit

NAME = "cgroup"
SAMPLES = "the server and its page cache"
NEEDS = (MemoryLimit(why="the memory of the server's own group"),)
OF_INSTANCE = True

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
        THROTTLED,
        "",
        "share of the scheduler's periods in which the server had used up its CPU time",
        "lower",
        noun="share of periods in which the server had no CPU time left",
        negligible=0.01,  # own: a percentage point
    ),
)

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


class Cgroup:
    """What both groups of a server say."""

    def __init__(self, memory: Path | None, cpu: Path | None) -> None:
        """`memory` and `cpu` are directories of control groups. Raises OSError."""
        self._memory = Memory(memory) if memory else None
        self._cpu = Cpu(cpu) if cpu else None
        self._first = True

    def sample(self) -> Sequence[Sample]:
        """One sample a metric."""
        held_back = self._cpu.sample() if self._cpu else Sample("", THROTTLED, None, NO_CAP)
        if self._first:
            self._first = False
            return []
        if self._memory is None:
            return [*(Sample("", each.name, None, NO_MEMORY_GROUP) for each in OF_MEMORY),
                    held_back]  # fmt: skip
        return [*self._memory.sample(), held_back]

    def close(self) -> None:
        """Close the files."""
        for each in (self._memory, self._cpu):
            if each is not None:
                each.close()


class Memory:
    """Levels as they are."""

    def __init__(self, group: Path) -> None:
        """`group` is a directory of a memory control group. Raises OSError."""
        *names, self._file_key, self._anonymous_key = (
            _V2 if (group / "memory.current").exists() else _V1
        )
        self._files = [_open(group / str(name)) for name in names]
        self._stat = KernelFile(group / "memory.stat", 8192)

    def sample(self) -> Sequence[Sample]:
        """One sample a metric of memory."""
        levels = [_level(file) for file in self._files]
        stat = parse_stat(self._stat.read())
        values = [*levels, stat.get(self._file_key), stat.get(self._anonymous_key)]
        return [_sample(each.name, value) for each, value in zip(OF_MEMORY, values, strict=True)]

    def close(self) -> None:
        """Close the files."""
        for file in (*self._files, self._stat):
            if file is not None:
                file.close()


class Cpu:
    """How many of the scheduler's periods between two readings found the group held back."""

    def __init__(self, group: Path) -> None:
        """`group` is a directory of a control group with a limit of CPU time. Raises OSError."""
        self._file = _open(group / "cpu.stat", 4096)
        self._last: dict[bytes, int] = {}

    def sample(self) -> Sample:
        """The share since the last reading.

        Source: kernel documentation, scheduler/sched-bwc.rst; the names are the same in version 2.
        """
        if self._file is None:
            return Sample("", THROTTLED, None, UNREPORTED)
        last, self._last = self._last, parse_stat(self._file.read())
        periods, throttled = (
            self._last.get(key, 0) - last.get(key, 0) for key in (b"nr_periods", b"nr_throttled")
        )
        if periods <= 0:
            return Sample("", THROTTLED, None, IDLE)
        return Sample("", THROTTLED, min(1.0, throttled / periods))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _sample(name: str, value: int | None) -> Sample:
    if value is not None:
        return Sample("", name, value)
    return Sample("", name, None, "no limit" if name == "limit_bytes" else UNREPORTED)


def _open(path: Path, size_bytes: int = 64) -> KernelFile | None:
    """The file, None where this kernel has none (memory.peak came with 5.19)."""
    return KernelFile(path, size_bytes) if path.exists() else None


def _level(file: KernelFile | None) -> int | None:
    if file is None:
        return None
    text = file.read().strip()
    value = None if text == b"max" else int(text)
    return None if value is None or value >= UNLIMITED_BYTES else value


def parse_stat(text: bytes) -> dict[bytes, int]:
    """The lines of memory.stat or cpu.stat, such as `anon 1380352`."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def create(scope: Scope, instance: InstanceScope) -> Cgroup:
    """The collector; Unavailable where the server has no control group of its own."""
    del scope
    if instance.memory_cgroup is None and instance.cpu_cgroup is None:
        raise Unavailable(NO_MEMORY_GROUP)
    return Cgroup(instance.memory_cgroup, instance.cpu_cgroup)
