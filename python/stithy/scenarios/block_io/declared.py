"""Load on storage by fio: reads, writes and flushes of a pattern."""

from collections.abc import Iterator

from stithy.activity import DeclaredActivity
from stithy.fio.profile import DIRECTIONS
from stithy.metrics import OPERATIONS, PERCENTILES, Metric, Unit
from stithy.results.tables import Table, integer, real, text, truth

IO_SECONDS = Table(
    "io_seconds",
    "One row per second, stream and direction of a pattern that fio ran. Only of windows of fio. "
    "A window of whole seconds has each of its requests in one of them, and their latencies add up "
    "to its mean. In a closed loop those under way at the end are in the last second, and a second "
    "without a row had no request.",
    (
        text("window_id", "id of the window"),
        integer("second", "s", "seconds since the measurement began, from 0"),
        real("at_s", "s", "Unix time at which the second began"),
        text("stream", "stream of the pattern"),
        text("direction", "`read` or `write`"),
        integer("requests", "", "requests answered"),
        integer("moved_bytes", "B",
                "bytes moved by them; in a closed loop by their mean size in the window"),
        real("latency_mean_s", "s", "mean latency", null=True),
        real("completion_p99_s", "s",
             "99th percentile of the time from submission to completion", null=True),
    ),
)  # fmt: skip

IO_STREAMS = Table(
    "io_streams",
    "One row per stream of a pattern that fio ran in a window: how its requests were submitted.",
    (
        text("window_id", "id of the window"),
        text("stream", "stream of the pattern"),
        text("submission", "`sync`: submitters wait for their request; `async`: they do not"),
        text("engine", "engine of fio that was used"),
        integer("submitters", "", "threads that submitted, of all fio and volumes"),
        integer("outstanding", "", "requests that they had outstanding at most"),
        truth("is_open", "requests were due at moments of their own, whatever had been answered"),
    ),
)  # fmt: skip

IO_VOLUMES = Table(
    "io_volumes",
    "One row per volume and operation of a window in which fio used several volumes at once. Their "
    "requests add up to those of the window.",
    (
        text("window_id", "id of the window"),
        text("volume",
             "the volume by its role, several of one role numbered: `data`, `data-2`, `log`"),
        text("operation", "`read`, `write`, `flush` or `all`: reads and writes"),
        integer("requests", "", "requests answered"),
        real("iops", "1/s", "requests per second"),
        real("bytes_per_s", "B/s", "bandwidth; null for flushes, which move nothing", null=True),
        real("mean_s", "s", "mean latency; null without requests", null=True),
        *(real(f"{each}_s", "s", "percentile of latency; null without requests", null=True)
          for each in ("p50", "p90", "p95", "p99", "p999")),
    ),
)  # fmt: skip

PRECONDITIONING = Table(
    "preconditioning",
    "One row per test of a round of preconditioning, of block I/O alone. A resumed run does all "
    "rounds again, and has those.",
    (
        text("candidate", "name of the candidate"),
        integer("round", "", "round, from 1"),
        text("test",
             "test of the round: shares of reads and writes, and block size, such as `70-30-8k`"),
        real("ended_at_s", "s", "Unix time at which it ended"),
        truth("tracked", "it must be steady"),
        real("iops", "1/s", "requests per second"),
        real("latency_mean_s", "s", "mean latency", null=True),
        real("range_share", "",
             "range of the last five rounds as a share of their mean; null before the fifth and if "
             "not tracked", null=True),
        real("excursion_share", "", "rise of their best straight line as a share of their mean",
             null=True),
        truth("steady", "the rule holds for this test over the last five rounds"),
    ),
)  # fmt: skip


def _list_metrics() -> Iterator[Metric]:
    yield _make_throughput("fio.iops", "1/s", "requests per second", "IOPS")
    yield _make_throughput("fio.bytes_per_s", "B/s", "bandwidth", "Bandwidth")
    yield Metric("fio.mean_s", "s", "lower", "values", "", "mean latency", "mean",
                 subjects=OPERATIONS)  # fmt: skip
    for name, (percent, noun) in PERCENTILES.items():
        yield Metric(
            f"fio.{name}", "s", "lower", "values", "latency", f"{noun} of latency", name,
            percent, subjects=OPERATIONS, combined="histogram",
        )  # fmt: skip
    yield _make_throughput("fio.worst_iops", "1/s", "requests in the worst second", "Worst second")
    yield Metric("fio.variation", "share", "lower", "values", "",
                 "coefficient of variation of requests per second", "Variation")  # fmt: skip
    yield from _list_window_metrics()
    yield Metric("fio.cpu_s", "s", "lower", "values", "", "CPU time of fio per request",
                 "CPU/request")  # fmt: skip


def _list_window_metrics() -> Iterator[Metric]:
    yield _make_detail("asked_iops", "1/s", "asked requests per second", "Asked")
    yield _make_detail("achieved_share", "share", "achieved share of the asked rate", "Achieved")
    yield _make_detail("maximum_share", "share", "asked share of the maximum", "Of the maximum")
    yield _make_detail("late_share", "share", "share of requests that began late", "Began late")
    yield _make_detail("in_flight", "", "mean of requests outstanding", "In flight")
    yield _make_detail("outstanding", "", "requests that the loop keeps outstanding", "Outstanding")
    yield _make_detail("size_error_share", "share", "error of the mean request size", "Size error")
    yield _make_detail("messages", "", "messages of fio besides its result", "Messages")
    yield _make_detail("idle_s", "s", "seconds in which nothing was answered", "Idle")


def _make_detail(name: str, unit: Unit, noun: str, label: str) -> Metric:
    whose = DIRECTIONS if name == "size_error_share" else ()
    return Metric(f"fio.{name}", unit, None, "values", "", noun, label, subjects=whose,
                  compared=False)  # fmt: skip


def _make_throughput(name: str, unit: Unit, noun: str, label: str) -> Metric:
    return Metric(name, unit, "higher", "values", "", noun, label, subjects=OPERATIONS)


PLUGINS = (
    DeclaredActivity(
        "fio",
        tuple(_list_metrics()),
        ("histograms", "io_seconds"),
        (IO_SECONDS, IO_STREAMS, IO_VOLUMES, PRECONDITIONING),
    ),
)
