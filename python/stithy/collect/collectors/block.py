"""What every block device under the volumes does, from /proc/diskstats.

Partitions, loop devices and members are found by `hosts.devices`, so that one sees each layer with
its own latency. Latency is the mean of the requests that ended in the second; where none did there
is none.
"""

from collections.abc import Sequence

from stithy.collect.collector import Metric, Sample, Scope, Unavailable
from stithy.collect.kernel import KernelFile
from stithy.hosts.devices import devices_under
from stithy.hosts.diskstats import MS_PER_S, Counters, growth, parse
from stithy.needs import Readable

NAME = "block"
SAMPLES = "the block devices"
NEEDS = (Readable(path="/proc/diskstats", why="what devices do", remedy="mount proc at /proc"),)

_KINDS = ("read", "write", "discard", "flush")
_PLURALS = {"read": "reads", "write": "writes", "discard": "discards", "flush": "flushes"}

METRICS = (
    *(Metric(f"{_PLURALS[kind]}_per_s", "1/s", f"{kind} requests ended") for kind in _KINDS),
    *(
        Metric(f"{kind}_bytes_per_s", "B/s", f"bytes of {kind} requests ended")
        for kind in ("read", "write", "discard")
    ),
    *(
        Metric(
            f"{kind}_latency_s",
            "s",
            f"mean time of the {kind} requests ended, queue included",
            better="lower",
            weight=f"{_PLURALS[kind]}_per_s",
        )
        for kind in _KINDS
    ),
    Metric("queue_length", "", "mean number of requests that waited or were served"),
    Metric(
        "utilisation_share",
        "",
        "share of time with at least one request under way",
        noun=f"utilisation of {SAMPLES}",
    ),
)


class Block:
    """Rates between two readings."""

    def __init__(self, scope: Scope, names: Sequence[str]) -> None:
        """`names` are kernel names of devices."""
        self._clock = scope.clock
        self._names = tuple(name.encode() for name in names)
        self._file = KernelFile(scope.proc / "diskstats", 262144)
        self._last: dict[str, Counters] = {}
        self._last_s = 0.0

    def sample(self) -> Sequence[Sample]:
        """One sample a device and metric."""
        now, now_s = parse(self._file.read(), self._names), self._clock.monotonic_s()
        last, self._last = self._last, now
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        return [
            sample
            for name, counters in now.items()
            if name in last
            for sample in samples(name, last[name], counters, elapsed_s)
        ]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def samples(name: str, last: Counters, now: Counters, elapsed_s: float) -> list[Sample]:
    """All metrics of one device between two readings `elapsed_s` apart."""
    found = []
    for kind in _KINDS:
        found += _of_kind(name, kind, last, now, elapsed_s)
    queue = growth(last.weighted_ms, now.weighted_ms) / MS_PER_S / elapsed_s
    busy = growth(last.busy_ms, now.busy_ms) / MS_PER_S / elapsed_s
    found.append(Sample(name, "queue_length", queue))
    # The kernel counts busy time in ticks, so that a second can seem to hold more than a second.
    found.append(Sample(name, "utilisation_share", min(1.0, busy)))
    return found


def _of_kind(name: str, kind: str, last: Counters, now: Counters, elapsed_s: float) -> list[Sample]:
    rate, latency = f"{_PLURALS[kind]}_per_s", f"{kind}_latency_s"
    size = f"{kind}_bytes_per_s"
    if kind not in now.requests:
        why = f"this kernel does not count {_PLURALS[kind]}"
        names = [rate, latency] if kind == "flush" else [rate, size, latency]
        return [Sample(name, each, None, why) for each in names]
    requests = growth(last.requests[kind], now.requests[kind])
    found = [Sample(name, rate, requests / elapsed_s)]
    if kind in now.bytes:
        grown = growth(last.bytes[kind], now.bytes[kind])
        found.append(Sample(name, size, grown / elapsed_s))
    if requests:
        mean_s = growth(last.ms[kind], now.ms[kind]) / MS_PER_S / requests
        found.append(Sample(name, latency, mean_s))
    else:
        found.append(Sample(name, latency, None, f"no {_PLURALS[kind]} in this second"))
    return found


def create(scope: Scope) -> Block:
    """The collector; Unavailable where no block device lies under the volumes (memory, network)."""
    names = dict.fromkeys(
        name for volume in scope.volumes for name in devices_under(volume, scope.proc, scope.sys)
    )
    if not names:
        raise Unavailable("no block device lies under the volumes")
    return Block(scope, tuple(names))
