"""Load on storage by fio: reads, writes and flushes of a pattern."""

from collections.abc import Iterator

from stithy.metrics import OPERATIONS, PERCENTILES, Metric

NAME = "fio"
TABLES = ("histograms", "io_seconds")


def _metrics() -> Iterator[Metric]:
    yield _rate("fio.iops", "1/s", "requests per second", "IOPS")
    yield _rate("fio.bytes_per_s", "B/s", "bandwidth", "Bandwidth per second")
    yield Metric("fio.mean_s", "s", "lower", "values", "", "mean latency", "mean",
                 subjects=OPERATIONS)  # fmt: skip
    for name, (percent, text) in PERCENTILES.items():
        yield Metric(
            f"fio.{name}", "s", "lower", "values", "latency", f"{text} of latency", name,
            percent, subjects=OPERATIONS, combined="histogram",
        )  # fmt: skip
    yield Metric("fio.cpu_s", "s", "lower", "values", "", "CPU time of fio per request",
                 "CPU/request")  # fmt: skip


def _rate(name: str, unit: str, noun: str, label: str) -> Metric:
    return Metric(name, unit, "higher", "values", "", noun, label, subjects=OPERATIONS)  # type: ignore[arg-type] # a unit of two


METRICS = tuple(_metrics())
