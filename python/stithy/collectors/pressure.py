"""Share of time in which tasks waited for CPU, storage or memory: pressure stall information."""

from collections.abc import Iterator, Mapping

from stithy.collectors.collector import Collector, KernelFile, Rates, Sample, Scope, Unavailable
from stithy.errors import give_reason
from stithy.metrics import CollectedMetric
from stithy.needs import Readable

RESOURCES = ("cpu", "io", "memory")

NEGLIGIBLE = 0.01
"""Own: a percentage point; where nothing waits there is no ratio."""

METRICS = tuple(
    CollectedMetric(name, "", f"share of time in which {who}", "lower", of_several=None,
                    subjects=RESOURCES, noun=f"share of time in which {short}",
                    negligible=NEGLIGIBLE)
    for name, who, short in (
        ("some_share", "at least one task waited for the resource", "a task waited"),
        ("full_share", "all runnable tasks waited for it", "all tasks waited"),
    )
)  # fmt: skip

US_PER_S = 1_000_000


def make_samples(
    resource: str, last: Mapping[str, int], now: Mapping[str, int], elapsed_s: float
) -> Iterator[Sample]:
    """Two of a resource, from the kernel's totals and not from its moving averages."""
    for name in (metric.name for metric in METRICS):
        key = name.removesuffix("_share")
        if key in last and key in now:
            # Both clocks are read at slightly different moments: no share exceeds the whole.
            share = (now[key] - last[key]) / (elapsed_s * US_PER_S)
            yield Sample(resource, name, min(1.0, share))
        else:
            yield Sample(resource, name, None, "this kernel does not report it for this resource")


def parse(text: bytes) -> dict[str, int]:
    """Microseconds waited in all, by `some` and `full`.

    A line is `some avg10=0.00 avg60=0.00 avg300=0.00 total=13437`.
    Source: Documentation/accounting/psi.rst of Linux.
    """
    return {
        line[: line.index(b" ")].decode(): int(line[line.rindex(b"=") + 1 :])
        for line in text.splitlines()
    }


def create(scope: Scope) -> Rates[dict[str, int]]:
    """The collector; Unavailable where the kernel has no pressure stall information."""
    try:
        files = {name: KernelFile(scope.proc / "pressure" / name, 512) for name in RESOURCES}
        for file in files.values():
            file.read()
    except OSError as error:
        because = f"this kernel gives no pressure stall information ({give_reason(error)})"
        raise Unavailable(because) from error

    def read() -> dict[str, dict[str, int]]:
        return {resource: parse(file.read()) for resource, file in files.items()}

    return Rates(read, make_samples, scope.clock, files.values())


NEEDS = (
    Readable(path="/proc/pressure/cpu", why="how much tasks waited",
             remedy="boot with psi=1, Linux 4.20 or newer"),
)  # fmt: skip
PLUGINS = (Collector("pressure", "waiting", METRICS, create, needs=NEEDS),)
