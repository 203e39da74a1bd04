"""What a cluster does: each OSD, each host, its pool, and the CPU time of storage.

Subjects are OSDs (`osd.0`), hosts (`host1`), which are their OSDs together, and the pool of data
(`volumes`); the value without one is of all OSDs. Latencies are of the requests that ended in the
second; without any they are null. Requests of the pool are those of the image, as the way to its
block device sees them, network included; the kernel's own clients do not tell them. Its recovery
and space are those of all OSDs, for OSDs do not count by pool: headers of images, which an
erasure-coded pool cannot hold, lie beside it in less than 1 MiB. CPU times are of hosts, and of
`clients`: the monitor and the way from the image to its device. Of several clusters under a
candidate each subject begins with its role: `log:osd.0`. Of a cluster that was there before only
the requests of the image and the CPU time of `clients` are known.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.cluster.daemons import read_counters, read_image_counters
from stithy.cluster.layout import POOL, ClusterEntry, read_entry
from stithy.collectors.collector import Collector, Rates, Sample, Scope, Unavailable
from stithy.hosts.processes import find_pids_within, read_cmdline, read_stat
from stithy.metrics import CollectedMetric

METRICS = (
    CollectedMetric("reads_per_s", "1/s", "requests of clients that read", of_several="sum"),
    CollectedMetric("writes_per_s", "1/s", "requests of clients that wrote", of_several="sum"),
    CollectedMetric("read_latency_s", "s",
                    "mean latency of reads: of an OSD in itself, of a pool to its client", "lower",
                    weight="reads_per_s"),
    CollectedMetric("write_latency_s", "s", "mean latency of writes until all copies or shards are "
                    "safe: of an OSD in itself, of a pool to its client", "lower",
                    weight="writes_per_s"),
    CollectedMetric("commit_latency_s", "s", "mean time until an OSD's own copy is safe", "lower"),
    CollectedMetric("queue_length", "", "requests in progress at the end of the second",
                    of_several="sum"),
    CollectedMetric("recovery_per_s", "1/s", "objects recovered after a failure",
                    of_several="sum"),
    CollectedMetric("stored_bytes", "B", "bytes held, all copies, not compressed",
                    of_several="sum", compared=False),
    CollectedMetric("allocated_bytes", "B", "bytes that they take of the drives",
                    of_several="sum", compared=False),
    CollectedMetric("cpu_share", "", "CPU time of the storage itself, as a share of one CPU",
                    "lower", of_several="sum", noun="CPU time of the storage"),
)  # fmt: skip

SPACE = ("stored_bytes", "allocated_bytes")
OF_POOL_BY_OSDS = frozenset({*SPACE, "recovery_per_s"})
OF_IMAGES = ("reads_per_s", "writes_per_s", "read_latency_s", "write_latency_s", "queue_length")
OF_OSDS = tuple(metric.name for metric in METRICS[:-1])
CLIENTS = "clients"
NO_REQUEST = "no such request ended in this second"
SILENT = "the OSD does not answer"
SILENT_AMONG = "an OSD does not answer"
NO_CLIENT = "the client of the image does not tell"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

Pair = tuple[Any, Any]
"""Counters at the last reading and now; None where there was no answer."""


@dataclass(frozen=True)
class Reading:
    """The counters of a cluster's OSDs, and of the client of its image."""

    osds: Mapping[str, Any]
    image: Any


Answers = tuple[Mapping[Path, Reading], Mapping[int, tuple[str, int]]]
"""The counters by a cluster's folder, and by process its host and its CPU time in ticks."""


class Clusters:
    """All clusters of a candidate by their folders; each question is a connection of its own."""

    def __init__(self, folders: Mapping[Path, ClusterEntry], proc: Path) -> None:
        self._folders = folders
        self._proc = proc

    def read(self) -> Mapping[str, Answers]:
        """Read them together, as one subject."""
        found = {
            folder: Reading(read_counters(folder), read_image_counters(folder))
            for folder in self._folders
        }
        return {"": (found, self._read_ticks())}

    def sample(self, _: str, last: Answers, now: Answers, elapsed_s: float) -> Iterator[Sample]:
        """All metrics of each OSD, host and pool, and the CPU time of each host."""
        (before, first_ticks), (after, ticks) = last, now
        for folder, entry in self._folders.items():
            role = self._name_role(folder)
            yield from sample_cluster(entry, before[folder], after[folder], elapsed_s, role)
        pairs = [pair for folder in after for pair in _pair(before[folder], after[folder]).values()]
        yield from sample_osds("", pairs, elapsed_s)
        yield from _sum_cpu(first_ticks, ticks, elapsed_s)

    def _name_role(self, folder: Path) -> str:
        return f"{folder.name.rpartition('-')[2]}:" if len(self._folders) > 1 else ""

    def _read_ticks(self) -> dict[int, tuple[str, int]]:
        found = {}
        for folder, entry in self._folders.items():
            hosts = {str(osd): f"host{host}" for osd, host in entry.osds}
            for pid in find_pids_within(folder):
                stat = read_stat(self._proc / str(pid))
                if stat is not None:
                    words, host = read_cmdline(pid), CLIENTS
                    if words and words[0].endswith("ceph-osd") and "-i" in words[:-1]:
                        host = hosts.get(words[words.index("-i") + 1], CLIENTS)
                    ticks = int(stat.fields[11]) + int(stat.fields[12])
                    found[pid] = (f"{self._name_role(folder)}{host}", ticks)
        return found


def _sum_cpu(
    before: Mapping[int, tuple[str, int]], now: Mapping[int, tuple[str, int]], elapsed_s: float
) -> Iterator[Sample]:
    spent: dict[str, int] = {}
    for pid, (host, ticks) in now.items():
        _, first = before.get(pid, (host, 0))
        spent[host] = spent.get(host, 0) + ticks - first
    for host, ticks in sorted(spent.items()):
        yield Sample(host, "cpu_share", ticks / TICKS_PER_S / elapsed_s)


def sample_cluster(
    entry: ClusterEntry, last: Reading, now: Reading, elapsed_s: float, role: str = ""
) -> Iterator[Sample]:
    """All metrics of each OSD, host and pool of one cluster between two readings."""
    pairs, hosts = _pair(last, now), dict[str, list[Pair]]()
    for osd, host in entry.osds:
        hosts.setdefault(f"host{host}", []).append(pairs[f"osd.{osd}"])
    for subject, of in ({name: [pair] for name, pair in pairs.items()} | hosts).items():
        yield from sample_osds(f"{role}{subject}", of, elapsed_s)
    pool = f"{role}{entry.pool if entry.access else POOL}"
    whole = sample_osds(pool, list(pairs.values()), elapsed_s)
    yield from (value for value in whole if value.metric in OF_POOL_BY_OSDS)
    yield from sample_image(pool, (last.image, now.image), elapsed_s)


def _pair(last: Reading, now: Reading) -> dict[str, Pair]:
    return {osd: (last.osds.get(osd), counted) for osd, counted in now.osds.items()}


def sample_osds(name: str, pairs: Sequence[Pair], elapsed_s: float) -> Iterator[Sample]:
    """All metrics of some OSDs together; null where one of them did not answer both times."""
    if not pairs:
        return
    if any(None in pair for pair in pairs):
        why = SILENT if len(pairs) == 1 else SILENT_AMONG
        yield from (Sample(name, metric, None, why) for metric in OF_OSDS)
        return
    osds, stores = ([(a[part], b[part]) for a, b in pairs] for part in ("osd", "bluestore"))
    yield Sample(name, "reads_per_s", _subtract(osds, "op_r") / elapsed_s)
    yield Sample(name, "writes_per_s", _subtract(osds, "op_w") / elapsed_s)
    yield _divide(name, "read_latency_s", osds, "op_r_latency")
    yield _divide(name, "write_latency_s", osds, "op_w_latency")
    yield _divide(name, "commit_latency_s", stores, "commit_lat")
    yield Sample(name, "queue_length", sum(now["op_wip"] for _, now in osds))
    yield Sample(name, "recovery_per_s", _subtract(osds, "recovery_ops") / elapsed_s)
    for metric in SPACE:
        yield Sample(name, metric, sum(now[f"bluestore_{metric[:-6]}"] for _, now in stores))


def sample_image(name: str, pair: Pair, elapsed_s: float) -> Iterator[Sample]:
    """What the client of an image counted; null where it did not tell both times."""
    if None in pair:
        yield from (Sample(name, metric, None, NO_CLIENT) for metric in OF_IMAGES)
        return
    yield Sample(name, "reads_per_s", _subtract([pair], "rd") / elapsed_s)
    yield Sample(name, "writes_per_s", _subtract([pair], "wr") / elapsed_s)
    yield _divide(name, "read_latency_s", [pair], "rd_latency")
    yield _divide(name, "write_latency_s", [pair], "wr_latency")
    active = pair[1]["active"]
    yield Sample(name, "queue_length", active, None if active is not None else NO_CLIENT)


def _subtract(pairs: Sequence[Pair], key: str) -> float:
    return float(sum(now[key] - last[key] for last, now in pairs))


def _divide(name: str, metric: str, pairs: Sequence[Pair], key: str) -> Sample:
    of = [(last[key], now[key]) for last, now in pairs]
    count = _subtract(of, "avgcount")
    if count <= 0:
        return Sample(name, metric, None, NO_REQUEST)
    return Sample(name, metric, max(0.0, _subtract(of, "sum") / count))


def create(scope: Scope) -> Rates[Answers]:
    """The collector; Unavailable where there is no cluster."""
    found = {folder: entry for folder in scope.clusters if (entry := read_entry(folder))}
    if not found:
        raise Unavailable("no cluster is under this candidate")
    clusters = Clusters(found, scope.proc)
    return Rates(clusters.read, clusters.sample, scope.clock)


PLUGINS = (
    Collector(name="cluster", subject="the cluster", metrics=METRICS, create=create, blocks=True),
)
