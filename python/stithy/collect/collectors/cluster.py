"""What a laboratory cluster does: each OSD from its own counters, and the CPU time of storage.

Latencies of an OSD are of the requests of clients that ended in the second; without any they are
null. The subject of CPU times is a host (`host1`), or `clients` for the monitor and the way from
the image to its block device.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stithy.clock import Clock
from stithy.cluster.admin import readings
from stithy.cluster.layout import Entry, read_entry
from stithy.collect.collector import Sample, Scope, Unavailable
from stithy.hosts.processes import pids_within, stat_of
from stithy.metrics import CollectedMetric
from stithy.needs import Need

NAME = "cluster"
SAMPLES = "the cluster"
NEEDS: tuple[Need, ...] = ()
"""It comes with clusters."""
BLOCKS = True

METRICS = (
    CollectedMetric("reads_per_s", "1/s", "requests of clients that read", of_several="sum"),
    CollectedMetric("writes_per_s", "1/s", "requests of clients that wrote", of_several="sum"),
    CollectedMetric(
        "read_latency_s", "s", "mean latency of an OSD's reads", "lower", weight="reads_per_s"
    ),
    CollectedMetric(
        "write_latency_s",
        "s",
        "mean latency of an OSD's writes, until all copies or shards are safe",
        "lower",
        weight="writes_per_s",
    ),
    CollectedMetric("commit_latency_s", "s", "mean time until an OSD's own copy is safe", "lower"),
    CollectedMetric("queue_length", "", "requests in progress at the end of the second"),
    CollectedMetric(
        "recovery_per_s", "1/s", "objects recovered after a failure", of_several="sum"
    ),
    CollectedMetric(
        "stored_bytes", "B", "bytes held, all copies, not compressed", of_several="sum",
        compared=False,
    ),
    CollectedMetric(
        "allocated_bytes", "B", "bytes that they take of the drives", of_several="sum",
        compared=False,
    ),
    CollectedMetric(
        "cpu_share",
        "",
        "CPU time of the storage itself, as a share of one CPU",
        "lower",
        of_several="sum",
        noun="CPU time of the storage",
    ),
)  # fmt: skip

CLIENTS = "clients"
NO_REQUEST = "no such request ended in this second"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Clusters:
    """Rates between two readings of all clusters of a candidate."""

    def __init__(self, folders: Mapping[Path, Entry], proc: Path, clock: Clock) -> None:
        """`folders` are theirs, with their entries."""
        self._folders = folders
        self._proc = proc
        self._clock = clock
        self._last: dict[Path, dict[str, Any]] = {}
        self._ticks: dict[int, tuple[str, int]] = {}
        self._last_s: float | None = None

    def sample(self) -> Sequence[Sample]:
        """All metrics of each OSD, and the CPU time of each host."""
        now, ticks = {folder: readings(folder) for folder in self._folders}, self._read_ticks()
        now_s = self._clock.monotonic_s()
        last, self._last = self._last, now
        before, self._ticks = self._ticks, ticks
        last_s, self._last_s = self._last_s, now_s
        if last_s is None:
            return []
        elapsed_s = now_s - last_s
        found = [
            sample
            for folder, osds in now.items()
            for osd, counted in osds.items()
            for sample in of_osd(osd, last[folder].get(osd), counted, elapsed_s)
        ]
        return [*found, *_cpu(before, ticks, elapsed_s)]

    def close(self) -> None:
        """Nothing is held: each question is a connection of its own."""

    def _read_ticks(self) -> dict[int, tuple[str, int]]:
        """CPU ticks of each process of the clusters, with its host."""
        found = {}
        for folder, entry in self._folders.items():
            hosts = {str(osd): f"host{host}" for osd, host in entry.osds}
            for pid in pids_within(folder):
                stat = stat_of(self._proc / str(pid))
                if stat is not None:
                    ticks = int(stat.fields[11]) + int(stat.fields[12])
                    found[pid] = (hosts.get(_osd_of(self._proc, pid), CLIENTS), ticks)
        return found


def _osd_of(proc: Path, pid: int) -> str:
    """The number after `-i` of an OSD's words; nothing for another program."""
    try:
        words = (proc / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    is_osd = words[0].endswith("ceph-osd") and "-i" in words
    return words[words.index("-i") + 1] if is_osd else ""


def _cpu(
    before: Mapping[int, tuple[str, int]], now: Mapping[int, tuple[str, int]], elapsed_s: float
) -> Iterator[Sample]:
    spent: dict[str, int] = {}
    for pid, (host, ticks) in now.items():
        _, first = before.get(pid, (host, 0))
        spent[host] = spent.get(host, 0) + ticks - first
    for host, ticks in sorted(spent.items()):
        yield Sample(host, "cpu_share", ticks / TICKS_PER_S / elapsed_s)


def of_osd(name: str, last: Any, now: Any, elapsed_s: float) -> Iterator[Sample]:
    """All metrics of one OSD between two readings; null where it did not answer one of them."""
    if last is None or now is None:
        for metric in METRICS[:-1]:
            yield Sample(name, metric.name, None, "the OSD does not answer")
        return
    then, osd = last["osd"], now["osd"]
    for word, key in (("reads", "op_r"), ("writes", "op_w")):
        yield Sample(name, f"{word}_per_s", (osd[key] - then[key]) / elapsed_s)
    for word, key in (("read", "op_r_latency"), ("write", "op_w_latency")):
        yield _mean(name, f"{word}_latency_s", then[key], osd[key])
    before, store = last["bluestore"], now["bluestore"]
    yield _mean(name, "commit_latency_s", before["commit_lat"], store["commit_lat"])
    yield Sample(name, "queue_length", osd["op_wip"])
    recovered = osd["recovery_ops"] - then["recovery_ops"]
    yield Sample(name, "recovery_per_s", recovered / elapsed_s)
    yield Sample(name, "stored_bytes", store["bluestore_stored"])
    yield Sample(name, "allocated_bytes", store["bluestore_allocated"])


def _mean(name: str, metric: str, last: Mapping[str, float], now: Mapping[str, float]) -> Sample:
    count = now["avgcount"] - last["avgcount"]
    if count <= 0:
        return Sample(name, metric, None, NO_REQUEST)
    return Sample(name, metric, max(0.0, (now["sum"] - last["sum"]) / count))


def create(scope: Scope) -> Clusters:
    """The collector; Unavailable where there is no cluster."""
    found = {folder: entry for folder in scope.clusters if (entry := read_entry(folder))}
    if not found:
        raise Unavailable("no laboratory cluster is under this candidate")
    return Clusters(found, scope.proc, scope.clock)
