"""CPU time by state, from /proc/stat: of all CPUs, and of those of the server.

The subject `server` exists if the server is bound to some of them. Several servers are bound to the
same.
"""

from collections.abc import Sequence

from stithy.collect.collector import KernelFile, Sample, Scope
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

NAME = "cpu"
SAMPLES = "the CPUs"
NEEDS = (Readable(path="/proc/stat", why="where CPU time goes", remedy="mount proc at /proc"),)

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


class Cpu:
    """Shares between two readings."""

    def __init__(self, file: KernelFile, server_cpus: tuple[int, ...] | None = None) -> None:
        """`file` is /proc/stat; `server_cpus` are those of the server, None where it has all."""
        self._file = file
        self._server_cpus = server_cpus
        self._last: dict[str, Ticks] = {}

    def sample(self) -> Sequence[Sample]:
        """One sample a subject and state."""
        text = self._file.read()
        now = {"": parse(text)}
        if self._server_cpus is not None:
            now[SERVER] = parse_cpus(text, self._server_cpus)
        last, self._last = self._last, now
        return [
            sample
            for subject, ticks in now.items()
            if subject in last
            for sample in _shares(subject, last[subject], ticks)
        ]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _shares(subject: str, last: Ticks, now: Ticks) -> list[Sample]:
    # The kernel may take iowait and steal back by a tick: a state never ran for less than none.
    spent = [max(0, after - before) for before, after in zip(last, now, strict=True)]
    total = sum(spent)
    if total == 0:
        return [Sample(subject, name, None, "no tick passed") for name in _NAMES]
    return [Sample(subject, name, ticks / total) for name, ticks in zip(_NAMES, spent, strict=True)]


def parse(text: bytes) -> Ticks:
    """Ticks of all CPUs by state, in the order of METRICS.

    `cpu  4705 150 1120 16250 520 30 45 0 0 0` is user, nice, system, idle, iowait, irq, softirq,
    steal, guest, guest_nice; guests are already in user and nice.
    Source: Documentation/filesystems/proc.rst of Linux.
    """
    return _ticks(text[: text.index(b"\n")])


def parse_cpus(text: bytes, cpus: Sequence[int]) -> Ticks:
    """The same of some CPUs together; one that is offline has no line and adds nothing."""
    names = {f"cpu{number}".encode() for number in cpus}
    lines = [line for line in text.splitlines() if line.split(b" ", 1)[0] in names]
    return tuple(map(sum, zip(*map(_ticks, lines), strict=True))) or (0,) * len(METRICS)


def _ticks(line: bytes) -> Ticks:
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, line.split()[1:9])
    return user, nice, system, idle, iowait, irq + softirq, steal


def create(scope: Scope) -> Cpu:
    """The collector."""
    # A line of /proc/stat is at most some 200 bytes, and there may be thousands of CPUs.
    size_bytes = 512 if scope.server_cpus is None else 2**20
    return Cpu(KernelFile(scope.proc / "stat", size_bytes), scope.server_cpus)
