"""Share of time in which tasks waited for CPU, storage or memory: pressure stall information."""

from collections.abc import Sequence

from stithy.collect.collector import KernelFile, Sample, Scope, Unavailable
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

NAME = "pressure"
SAMPLES = "waiting"
NEEDS = (
    Readable(
        path="/proc/pressure/cpu",
        why="how much tasks waited",
        remedy="boot with psi=1, Linux 4.20 or newer",
    ),
)

RESOURCES = ("cpu", "io", "memory")

NEGLIGIBLE = 0.01
"""Own: a percentage point; where nothing waits there is no ratio."""

METRICS = (
    CollectedMetric(
        "some_share",
        "",
        "share of time in which at least one task waited for the resource",
        better="lower",
        of_several=None,
        subjects=RESOURCES,
        noun="share of time in which a task waited",
        negligible=NEGLIGIBLE,
    ),
    CollectedMetric(
        "full_share",
        "",
        "share of time in which all runnable tasks waited for it",
        better="lower",
        of_several=None,
        subjects=RESOURCES,
        noun="share of time in which all tasks waited",
        negligible=NEGLIGIBLE,
    ),
)

US_PER_S = 1_000_000


class Pressure:
    """Shares between two readings, from the kernel's totals and not from its moving averages."""

    def __init__(self, scope: Scope, files: dict[str, KernelFile]) -> None:
        """`files` by resource."""
        self._clock = scope.clock
        self._files = files
        self._last: dict[str, dict[str, int]] = {}
        self._last_s = 0.0

    def sample(self) -> Sequence[Sample]:
        """Two samples a resource."""
        now = {resource: parse(file.read()) for resource, file in self._files.items()}
        now_s = self._clock.monotonic_s()
        last, self._last = self._last, now
        elapsed_us, self._last_s = (now_s - self._last_s) * US_PER_S, now_s
        if not last:
            return []
        return [
            _sample(resource, metric.name, last[resource], totals, elapsed_us)
            for resource, totals in now.items()
            for metric in METRICS
        ]

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def _sample(
    resource: str, name: str, last: dict[str, int], now: dict[str, int], elapsed_us: float
) -> Sample:
    key = name.removesuffix("_share")
    if key not in last or key not in now:
        return Sample(resource, name, None, "this kernel does not report it for this resource")
    # Both clocks are read at slightly different moments: a share never exceeds the whole.
    return Sample(resource, name, min(1.0, (now[key] - last[key]) / elapsed_us))


def parse(text: bytes) -> dict[str, int]:
    """Microseconds waited in all, by `some` and `full`.

    A line is `some avg10=0.00 avg60=0.00 avg300=0.00 total=13437`.
    Source: Documentation/accounting/psi.rst of Linux.
    """
    return {
        line[: line.index(b" ")].decode(): int(line[line.rindex(b"=") + 1 :])
        for line in text.splitlines()
    }


def create(scope: Scope) -> Pressure:
    """The collector; Unavailable where the kernel has no pressure stall information."""
    try:
        files = {each: KernelFile(scope.proc / "pressure" / each, 512) for each in RESOURCES}
        for file in files.values():
            file.read()
    except OSError as error:
        raise Unavailable(
            f"this kernel gives no pressure stall information ({error.strerror})"
        ) from error
    return Pressure(scope, files)
