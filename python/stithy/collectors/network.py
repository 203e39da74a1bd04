"""Traffic of each network interface, loopback included, from /proc/net/dev."""

from collections.abc import Iterator

from stithy.collectors.collector import Collector, KernelFile, Rates, Sample, Scope
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

METRICS = (
    CollectedMetric("received_bytes_per_s", "B/s", "bytes received"),
    CollectedMetric("received_packets_per_s", "1/s", "packets received"),
    CollectedMetric("received_errors_per_s", "1/s", "received packets with errors or dropped",
                    "lower", negligible=0.01),  # own: one in 100 s
    CollectedMetric("sent_bytes_per_s", "B/s", "bytes sent"),
    CollectedMetric("sent_packets_per_s", "1/s", "packets sent"),
    CollectedMetric("sent_errors_per_s", "1/s", "packets to send with errors or dropped",
                    "lower", negligible=0.01),  # own: one in 100 s
)  # fmt: skip

Counts = tuple[int, ...]


def make_samples(name: str, last: Counts, now: Counts, elapsed_s: float) -> Iterator[Sample]:
    """One sample a metric of an interface."""
    for metric, before, after in zip(METRICS, last, now, strict=True):
        yield Sample(name, metric.name, max(0, after - before) / elapsed_s)


def parse(text: bytes) -> dict[str, Counts]:
    """Counters by interface, in the order of METRICS.

    After two lines of head: `eth0:`, then bytes, packets, errs, drop, fifo, frame, compressed,
    multicast received, then bytes, packets, errs, drop, fifo, colls, carrier, compressed sent.
    Source: net/core/net-procfs.c of Linux.
    """
    found: dict[str, Counts] = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(b":")
        field = [int(part) for part in rest.split()]
        found[name.strip().decode()] = (
            *(field[0], field[1], field[2] + field[3]),
            *(field[8], field[9], field[10] + field[11]),
        )
    return found


def create(scope: Scope) -> Rates[Counts]:
    """The collector."""
    file = KernelFile(scope.proc / "net" / "dev", 65536)
    return Rates(lambda: parse(file.read()), make_samples, scope.clock, [file])


NEEDS = (Readable(path="/proc/net/dev", why="what interfaces carry", remedy="mount proc at /proc"),)
PLUGINS = (
    Collector("network", "the network interfaces", METRICS, create, needs=NEEDS,
              is_of_network=True),
)  # fmt: skip
