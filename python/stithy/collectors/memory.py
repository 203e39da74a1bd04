"""What the machine's memory holds, from /proc/meminfo."""

from collections.abc import Iterator, Mapping

from stithy.collectors.collector import Collector, KernelFile, Rates, Sample, Scope
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

METRICS = (
    CollectedMetric("free_bytes", "B", "unused memory"),
    CollectedMetric("available_bytes", "B", "memory that is available without swapping"),
    CollectedMetric("page_cache_bytes", "B", "page cache, shared memory and tmpfs included"),
    CollectedMetric("shared_bytes", "B", "shared memory and tmpfs"),
    CollectedMetric("anonymous_bytes", "B", "anonymous memory of processes"),
    CollectedMetric("dirty_bytes", "B", "dirty pages that wait for write-back"),
    CollectedMetric("writeback_bytes", "B", "dirty pages in write-back"),
    CollectedMetric("swap_used_bytes", "B", "swap space in use"),
)

_LINES = {
    "free_bytes": b"MemFree:",
    "available_bytes": b"MemAvailable:",
    "page_cache_bytes": b"Cached:",
    "shared_bytes": b"Shmem:",
    "anonymous_bytes": b"AnonPages:",
    "dirty_bytes": b"Dirty:",
    "writeback_bytes": b"Writeback:",
}


def make_samples(
    subject: str, _last: Mapping[str, int], now: Mapping[str, int], _elapsed_s: float
) -> Iterator[Sample]:
    """One sample a metric: levels as they are."""
    for name in (metric.name for metric in METRICS):
        value = now.get(name)
        yield Sample(subject, name, value, None if value is not None else "not in /proc/meminfo")


def parse(text: bytes) -> dict[str, int]:
    """Bytes by metric, as far as the kernel tells; its `kB` are KiB.

    A line is `Dirty:              1180 kB`.
    """
    lines = dict(line.split()[:2] for line in text.splitlines() if line)
    found = {name: int(lines[key]) * 1024 for name, key in _LINES.items() if key in lines}
    if b"SwapTotal:" in lines and b"SwapFree:" in lines:
        used = int(lines[b"SwapTotal:"]) - int(lines[b"SwapFree:"])
        found["swap_used_bytes"] = used * 1024
    return found


def create(scope: Scope) -> Rates[dict[str, int]]:
    """The collector."""
    file = KernelFile(scope.proc / "meminfo", 4096)
    return Rates(lambda: {"": parse(file.read())}, make_samples, scope.clock, [file])


NEEDS = (Readable(path="/proc/meminfo", why="what memory holds", remedy="mount proc at /proc"),)
PLUGINS = (Collector("memory", "the machine's memory", METRICS, create, needs=NEEDS),)
