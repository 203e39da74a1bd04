"""What every block device under the volumes does, from /proc/diskstats.

It includes partitions, loop devices and members (`hosts.devices`), so that each layer shows its own
latency. Latency is the mean of the requests that completed in the second; without any it is null.
"""

from stithy.collectors.collector import Collector, KernelFile, Rates, Sample, Scope, Unavailable
from stithy.hosts.devices import (
    MS_PER_S,
    DiskCounters,
    find_counter_growth,
    list_devices_under,
    parse_diskstats,
)
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

SAMPLES = "the block devices"

_KINDS = ("read", "write", "discard", "flush")
_PLURALS = {"read": "reads", "write": "writes", "discard": "discards", "flush": "flushes"}

METRICS = (
    *(CollectedMetric(f"{_PLURALS[kind]}_per_s", "1/s", f"completed {kind} requests")
      for kind in _KINDS),
    *(CollectedMetric(f"{kind}_bytes_per_s", "B/s", f"bytes of completed {kind} requests")
      for kind in ("read", "write", "discard")),
    *(CollectedMetric(f"{kind}_latency_s", "s",
                      f"mean time of completed {kind} requests, queue included", "lower",
                      weight=f"{_PLURALS[kind]}_per_s") for kind in _KINDS),
    CollectedMetric("queue_length", "", "mean number of requests in progress or waiting"),
    CollectedMetric("utilisation_share", "", "share of time with at least one request in progress",
                    noun=f"utilisation of {SAMPLES}"),
)  # fmt: skip


def make_samples(
    name: str, last: DiskCounters, now: DiskCounters, elapsed_s: float
) -> list[Sample]:
    """All metrics of one device between two readings `elapsed_s` apart."""
    found = []
    for kind in _KINDS:
        found += _read_kind(name, kind, last, now, elapsed_s)
    queue = find_counter_growth(last.weighted_ms, now.weighted_ms) / MS_PER_S / elapsed_s
    busy = find_counter_growth(last.busy_ms, now.busy_ms) / MS_PER_S / elapsed_s
    found.append(Sample(name, "queue_length", queue))
    # The kernel counts busy time in ticks, so that a second can seem to hold more than a second.
    found.append(Sample(name, "utilisation_share", min(1.0, busy)))
    return found


def _read_kind(
    name: str, kind: str, last: DiskCounters, now: DiskCounters, elapsed_s: float
) -> list[Sample]:
    rate, latency = f"{_PLURALS[kind]}_per_s", f"{kind}_latency_s"
    size = f"{kind}_bytes_per_s"
    if kind not in now.requests:
        why = f"this kernel does not count {_PLURALS[kind]}"
        names = [rate, latency] if kind == "flush" else [rate, size, latency]
        return [Sample(name, each, None, why) for each in names]
    requests = find_counter_growth(last.requests[kind], now.requests[kind])
    found = [Sample(name, rate, requests / elapsed_s)]
    if kind in now.bytes:
        grown = find_counter_growth(last.bytes[kind], now.bytes[kind])
        found.append(Sample(name, size, grown / elapsed_s))
    if requests:
        mean_s = find_counter_growth(last.ms[kind], now.ms[kind]) / MS_PER_S / requests
        found.append(Sample(name, latency, mean_s))
    else:
        found.append(Sample(name, latency, None, f"no {_PLURALS[kind]} in this second"))
    return found


def create(scope: Scope) -> Rates[DiskCounters]:
    """The collector; Unavailable where no block device lies under the volumes (memory, network)."""
    under = (list_devices_under(volume, scope.proc, scope.sys) for volume in scope.volumes)
    names = dict.fromkeys(name.encode() for devices in under for name in devices)
    if not names:
        raise Unavailable("no block device lies under the volumes")
    file = KernelFile(scope.proc / "diskstats", 262144)
    return Rates(lambda: parse_diskstats(file.read(), [*names]), make_samples, scope.clock, [file])


NEEDS = (Readable(path="/proc/diskstats", why="what devices do", remedy="mount proc at /proc"),)
PLUGINS = (Collector("block", SAMPLES, METRICS, create, needs=NEEDS),)
