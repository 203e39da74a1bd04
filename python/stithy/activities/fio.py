"""Load on storage by fio: reads, writes and flushes of a pattern."""

from collections.abc import Iterator

from stithy.fio.profile import DIRECTIONS
from stithy.metrics import OPERATIONS, PERCENTILES, Metric, Unit

NAME = "fio"
TABLES = ("histograms", "io_seconds")


def _metrics() -> Iterator[Metric]:
    yield _rate("fio.iops", "1/s", "requests per second", "IOPS")
    yield _rate("fio.bytes_per_s", "B/s", "bandwidth", "Bandwidth")
    yield Metric("fio.mean_s", "s", "lower", "values", "", "mean latency", "mean",
                 subjects=OPERATIONS)  # fmt: skip
    for name, (percent, text) in PERCENTILES.items():
        yield Metric(
            f"fio.{name}", "s", "lower", "values", "latency", f"{text} of latency", name,
            percent, subjects=OPERATIONS, combined="histogram",
        )  # fmt: skip
    yield _rate("fio.worst_iops", "1/s", "requests in the worst second", "Worst second")
    yield Metric("fio.variation", "share", "lower", "values", "",
                 "coefficient of variation of requests per second", "Variation")  # fmt: skip
    yield from _of_the_window()
    yield Metric("fio.cpu_s", "s", "lower", "values", "", "CPU time of fio per request",
                 "CPU/request")  # fmt: skip


def _of_the_window() -> Iterator[Metric]:
    """What says whether a window is what it was to be: nobody compares candidates by it."""
    yield _told("asked_iops", "1/s", "asked requests per second", "Asked")
    yield _told("achieved_share", "share", "achieved share of the asked rate", "Achieved")
    yield _told("maximum_share", "share", "asked share of the maximum", "Of the maximum")
    yield _told("late_share", "share", "share of requests that began late", "Began late")
    yield _told("in_flight", "", "mean of requests outstanding", "In flight")
    yield _told("outstanding", "", "requests that the loop keeps outstanding", "Outstanding")
    yield _told("size_error_share", "share", "error of the mean request size", "Size error")
    yield _told("messages", "", "messages of fio besides its result", "Messages")
    yield _told("idle_s", "s", "seconds in which nothing was answered", "Idle")


def _told(name: str, unit: Unit, noun: str, label: str) -> Metric:
    whose = DIRECTIONS if name == "size_error_share" else ()
    return Metric(f"fio.{name}", unit, None, "values", "", noun, label, subjects=whose,
                  compared=False)  # fmt: skip


def _rate(name: str, unit: Unit, noun: str, label: str) -> Metric:
    return Metric(name, unit, "higher", "values", "", noun, label, subjects=OPERATIONS)


METRICS = tuple(_metrics())
