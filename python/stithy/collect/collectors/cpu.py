"""Where the time of all CPUs goes, from the first line of /proc/stat."""

from collections.abc import Sequence

from stithy.collect.collector import Metric, Sample, Scope
from stithy.collect.kernel import KernelFile

NAME = "cpu"

METRICS = (
    Metric("user_share", "", "share of all CPUs in user mode, nice apart, guests included"),
    Metric("nice_share", "", "share of all CPUs in user mode at lower priority"),
    Metric("system_share", "", "share of all CPUs in the kernel, interrupts apart"),
    Metric("idle_share", "", "share of all CPUs idle with nothing to wait for"),
    Metric("iowait_share", "", "share of all CPUs idle while a task waits for a block device"),
    Metric("irq_share", "", "share of all CPUs in hard and soft interrupts"),
    Metric("steal_share", "", "share of all CPUs that the hypervisor gave to others"),
)


class Cpu:
    """Shares between two readings."""

    def __init__(self, file: KernelFile) -> None:
        """`file` is /proc/stat."""
        self._file = file
        self._last: tuple[int, ...] | None = None

    def sample(self) -> Sequence[Sample]:
        """One sample a state."""
        now = parse(self._file.read())
        last, self._last = self._last, now
        if last is None:
            return []
        # The kernel may take iowait and steal back by a tick: a state never ran for less than none.
        spent = [max(0, after - before) for before, after in zip(last, now, strict=True)]
        total = sum(spent)
        if total == 0:
            return [Sample("", metric.name, None, "no tick passed") for metric in METRICS]
        return [
            Sample("", metric.name, ticks / total)
            for metric, ticks in zip(METRICS, spent, strict=True)
        ]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def parse(text: bytes) -> tuple[int, ...]:
    """Ticks of all CPUs by state, in the order of METRICS.

    `cpu  4705 150 1120 16250 520 30 45 0 0 0` is user, nice, system, idle, iowait, irq, softirq,
    steal, guest, guest_nice; guests are already in user and nice.
    Source: Documentation/filesystems/proc.rst of Linux.
    """
    user, nice, system, idle, iowait, irq, softirq, steal = map(
        int, text[: text.index(b"\n")].split()[1:9]
    )
    return user, nice, system, idle, iowait, irq + softirq, steal


def create(scope: Scope) -> Cpu:
    """The collector."""
    return Cpu(KernelFile(scope.proc / "stat", 512))
