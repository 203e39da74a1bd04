"""Load on storage by fio: reads, writes and flushes of a pattern."""

from collections.abc import Iterator

from stithy.metrics import PERCENTILES, Metric

NAME = "fio"
TABLES = ("histograms", "io_seconds")
DIRECTIONS = ("read", "write", "flush")


def _metrics() -> Iterator[Metric]:
    yield _rate("fio.iops", "1/s", "requests per second", "IOPS")
    yield _rate("fio.bytes_per_s", "B/s", "bandwidth", "Bandwidth per second")
    yield Metric("fio.mean_s", "s", "lower", "values", "", "mean latency", "mean",
                 subjects=DIRECTIONS)  # fmt: skip
    for name, (percent, text) in PERCENTILES.items():
        yield Metric(
            f"fio.{name}", "s", "lower", "values", "latency", f"{text} of latency", name,
            percent, subjects=DIRECTIONS, combined="histogram",
        )  # fmt: skip
    yield Metric("fio.cpu_s", "s", "lower", "values", "", "CPU time of fio per request",
                 "CPU/request")  # fmt: skip


def _rate(name: str, unit: str, noun: str, label: str) -> Metric:
    return Metric(name, unit, "higher", "values", "", noun, label, subjects=DIRECTIONS)  # type: ignore[arg-type] # a unit of two


METRICS = tuple(_metrics())
