"""What exporters can tell, in terms that all of them share: the metrics of the collector."""

from collections.abc import Mapping
from typing import Literal

from stithy.metrics import Better, CollectedMetric

EXPORTERS = "exporters"
"""Of the section of a study, and of the collector."""

OFFSET, TOOK = "clock_offset_s", "scrape_s"
OFFSET_LEAST_S = 1.0
"""Own: more than a clock that is set by network time is off."""

UNITS: Mapping[str, Literal["B/s", "1/s", "B", "s"]] = {
    "_bytes_per_s": "B/s", "_per_s": "1/s", "_bytes": "B", "_s": "s",
}  # fmt: skip


def _make_metric(
    name: str, meaning: str, weight: str | None = None, compared: bool = True
) -> CollectedMetric:
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), None)
    better: Better | None = "lower" if weight else None
    return CollectedMetric(name, unit or "", meaning, better, weight, compared=compared)


METRICS = (
    _make_metric("user_share", "share of the host's CPUs in user mode"),
    _make_metric("nice_share", "share of them in user mode at lower priority"),
    _make_metric("system_share", "share of them in the kernel, interrupts included if not apart"),
    _make_metric("idle_share", "share of them idle, waits for I/O included if not apart"),
    _make_metric("iowait_share", "share of them idle while a task waits for a block device"),
    _make_metric("irq_share", "share of them in interrupts"),
    _make_metric("steal_share", "share of them that the hypervisor gave to others"),
    _make_metric("cpus", "number of the host's CPUs", compared=False),
    _make_metric("available_bytes", "memory that programs could have without swapping"),
    _make_metric("reads_per_s", "completed reads of a device, pool or daemon"),
    _make_metric("writes_per_s", "completed writes of it"),
    _make_metric("read_bytes_per_s", "bytes read of it"),
    _make_metric("write_bytes_per_s", "bytes written to it"),
    _make_metric("read_latency_s", "mean time of a read of it", weight="reads_per_s"),
    _make_metric("write_latency_s", "mean time of a write to it", weight="writes_per_s"),
    _make_metric("queue_length", "mean number of requests in progress or waiting"),
    _make_metric("utilisation_share", "share of time with at least one request in progress"),
    _make_metric("received_bytes_per_s", "bytes received by an interface"),
    _make_metric("sent_bytes_per_s", "bytes sent by it"),
    _make_metric("retransmits_per_s", "segments that the host sent again"),
    _make_metric("commits_per_s", "transactions committed in the database"),
    _make_metric("rollbacks_per_s", "transactions rolled back in it"),
    _make_metric("blocks_read_per_s", "blocks that it requested from the operating system"),
    _make_metric("blocks_hit_per_s", "blocks that it asked of its own buffers, or found there"),
    _make_metric("log_bytes_per_s", "bytes of its log"),
    _make_metric("deadlocks_per_s", "deadlocks"),
    _make_metric("lock_waits_per_s", "waits for row locks that began"),
    _make_metric("active_sessions", "sessions that work or wait within a statement"),
    _make_metric("recovery_per_s", "objects that a cluster recovers after a failure"),
    _make_metric("used_bytes", "space in use", compared=False),
    _make_metric("value", "a gauge that the study names"),
    _make_metric("count_per_s", "a counter that the study names, by time"),
    _make_metric(OFFSET, "by how much the host's clock is ahead of this machine's", compared=False),
    _make_metric(TOOK, "time that the page took"),
)
