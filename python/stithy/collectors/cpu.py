"""CPU time by state, from /proc/stat: of all CPUs, and of those of the server.

The subject `server` exists if the server is bound to some of them. Several servers are bound to the
same.
"""

from collections.abc import Sequence

from stithy.collectors.collector import Collector, KernelFile, Rates, Sample, Scope
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

METRICS = (
    CollectedMetric("user_share", "", "share of all CPUs in user mode, without nice, with guests"),
    CollectedMetric("nice_share", "", "share of all CPUs in user mode at lower priority"),
    CollectedMetric("system_share", "", "share of all CPUs in the kernel, without interrupts"),
    CollectedMetric("idle_share", "", "share of all CPUs idle, with no wait for I/O"),
    CollectedMetric(
        "iowait_share", "", "share of all CPUs idle while a task waits for a block device"
    ),
    CollectedMetric("irq_share", "", "share of all CPUs in hard and soft interrupts"),
    CollectedMetric("steal_share", "", "share of all CPUs that the hypervisor gave to others"),
)

SERVER = "server"
_NAMES = tuple(metric.name for metric in METRICS)

Ticks = tuple[int, ...]


def make_samples(subject: str, last: Ticks, now: Ticks, _elapsed_s: float) -> list[Sample]:
    """One sample a state."""
    # The kernel may take iowait and steal back by a tick: a state never ran for less than none.
    spent = [max(0, after - before) for before, after in zip(last, now, strict=True)]
    total = sum(spent)
    if total == 0:
        return [Sample(subject, name, None, "no tick passed") for name in _NAMES]
    return [Sample(subject, name, ticks / total) for name, ticks in zip(_NAMES, spent, strict=True)]


def parse_both(text: bytes, server_cpus: Sequence[int] | None) -> dict[str, Ticks]:
    """Ticks by subject; `server_cpus` are those of the server, None where it has all."""
    bound = {} if server_cpus is None else {SERVER: parse_cpus(text, server_cpus)}
    return {"": parse(text), **bound}


def parse(text: bytes) -> Ticks:
    """Ticks of all CPUs by state, in the order of METRICS.

    `cpu  4705 150 1120 16250 520 30 45 0 0 0` is user, nice, system, idle, iowait, irq, softirq,
    steal, guest, guest_nice; guests are already in user and nice.
    Source: Documentation/filesystems/proc.rst of Linux.
    """
    return _parse_ticks(text[: text.index(b"\n")])


def parse_cpus(text: bytes, cpus: Sequence[int]) -> Ticks:
    """The same of some CPUs together; one that is offline has no line and adds nothing."""
    names = {f"cpu{number}".encode() for number in cpus}
    lines = [line for line in text.splitlines() if line.split(b" ", 1)[0] in names]
    return tuple(map(sum, zip(*map(_parse_ticks, lines), strict=True))) or (0,) * len(METRICS)


def _parse_ticks(line: bytes) -> Ticks:
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, line.split()[1:9])
    return user, nice, system, idle, iowait, irq + softirq, steal


def create(scope: Scope) -> Rates[Ticks]:
    """The collector."""
    # A line of /proc/stat is at most some 200 bytes, and there may be thousands of CPUs.
    file = KernelFile(scope.proc / "stat", 512 if scope.server_cpus is None else 2**20)
    return Rates(
        lambda: parse_both(file.read(), scope.server_cpus), make_samples, scope.clock, [file]
    )


NEEDS = (Readable(path="/proc/stat", why="where CPU time goes", remedy="mount proc at /proc"),)
PLUGINS = (Collector("cpu", "the CPUs", METRICS, create, needs=NEEDS),)
