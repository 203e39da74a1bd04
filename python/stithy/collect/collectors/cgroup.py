"""Memory of the control group in which the server and its page cache live; version 1 or 2."""

from collections.abc import Sequence
from pathlib import Path

from stithy.collect.collector import KernelFile, Sample, Scope, Unavailable
from stithy.metrics import CollectedMetric
from stithy.needs import MemoryLimit

NAME = "cgroup"
SAMPLES = "the server and its page cache"
NEEDS = (MemoryLimit(why="the memory of the server's own group"),)

METRICS = (
    CollectedMetric("used_bytes", "B", "memory in use, page cache included"),
    CollectedMetric("limit_bytes", "B", "the limit", compared=False),
    CollectedMetric("peak_bytes", "B", "peak use since the group was created", compared=False),
    CollectedMetric("page_cache_bytes", "B", "page cache in use, tmpfs and shared memory included"),
    CollectedMetric("anonymous_bytes", "B", "anonymous memory of processes in use"),
)

# File of each metric, and the two keys in memory.stat, by version.
_V2 = ("memory.current", "memory.max", "memory.peak", b"file", b"anon")
_V1 = (
    *("memory.usage_in_bytes", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    *(b"total_cache", b"total_rss"),
)

UNLIMITED_BYTES = 2**62
"""Version 1 writes a number near 2**63 for no limit."""


class Cgroup:
    """Levels as they are."""

    def __init__(self, group: Path) -> None:
        """`group` is a directory of a memory control group. Raises OSError."""
        *names, self._file_key, self._anonymous_key = (
            _V2 if (group / "memory.current").exists() else _V1
        )
        self._files = [_open(group / str(name)) for name in names]
        self._stat = KernelFile(group / "memory.stat", 8192)
        self._first = True

    def sample(self) -> Sequence[Sample]:
        """One sample a metric."""
        if self._first:
            self._first = False
            return []
        levels = [_level(file) for file in self._files]
        stat = parse_stat(self._stat.read())
        values = [*levels, stat.get(self._file_key), stat.get(self._anonymous_key)]
        return [_sample(metric.name, value) for metric, value in zip(METRICS, values, strict=True)]

    def close(self) -> None:
        """Close the files."""
        for file in (*self._files, self._stat):
            if file is not None:
                file.close()


def _sample(name: str, value: int | None) -> Sample:
    if value is not None:
        return Sample("", name, value)
    return Sample(
        "", name, None, "no limit" if name == "limit_bytes" else ("the kernel reports none")
    )


def _open(path: Path) -> KernelFile | None:
    """The file, None where this kernel has none (memory.peak came with 5.19)."""
    return KernelFile(path, 64) if path.exists() else None


def _level(file: KernelFile | None) -> int | None:
    if file is None:
        return None
    text = file.read().strip()
    value = None if text == b"max" else int(text)
    return None if value is None or value >= UNLIMITED_BYTES else value


def parse_stat(text: bytes) -> dict[bytes, int]:
    """The lines of memory.stat, such as `anon 1380352`."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def create(scope: Scope) -> Cgroup:
    """The collector; Unavailable where the server has no memory control group of its own."""
    if scope.memory_cgroup is None:
        raise Unavailable("the server has no memory control group of its own")
    return Cgroup(scope.memory_cgroup)
