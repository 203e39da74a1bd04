"""Means of collectors and percentiles of drives, of windows and of levels."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from stithy.analysis.values.measures import Value, of_drives, of_series
from stithy.analysis.values.series import Sampled, sampled
from stithy.metrics import parse_quantity, weights
from stithy.results.frames import schema
from stithy.results.hlog import Histogram
from stithy.results.tables import SERIES
from support.hlog import histogram

Series = Mapping[tuple[str, str, str], Sequence[float | None]]


WINDOWS = pl.DataFrame(
    {
        "window_id": ["w"], "candidate": ["a"], "users": [4], "block": [0],
        "measure_from_s": [-1.0], "measure_to_s": [100.0],
    }
)  # fmt: skip


def samples(series: Series) -> Sampled:
    """What is kept of one window's: (collector, subject, metric) with a value each second."""
    rows = [
        {
            "window_id": "w", "at_s": float(second), "second": float(second),
            "collector": collector, "subject": subject, "metric": metric, "unit": "",
            "value": value, "missing_because": None,
        }
        for (collector, subject, metric), values in series.items()
        for second, value in enumerate(values)
    ]  # fmt: skip
    return sampled([pl.DataFrame(rows, schema=schema(SERIES))], WINDOWS, weights())


def value(series: Series, text: str) -> float | None:
    """The value of the window."""
    found = of_series(samples(series), parse_quantity(text)).windows.get("w")
    return None if found is None else found.number


def test_a_rate_is_its_mean_and_a_missing_second_has_no_part() -> None:
    """It is not 0."""
    assert value({("memory", "", "dirty_bytes"): [10.0, None, 30.0]}, "memory.dirty_bytes") == 20.0


def test_a_latency_is_weighted_by_the_requests_of_each_second() -> None:
    """A second with a single slow request does not weigh as much as one with a hundred."""
    series = {
        ("block", "sda", "read_latency_s"): [0.001, 0.1],
        ("block", "sda", "reads_per_s"): [99.0, 1.0],
    }
    assert value(series, "block.read_latency_s") == pytest.approx(0.00199)


def test_of_several_devices_the_largest_counts_unless_one_is_named() -> None:
    """They lie on each other, so that a sum would count twice."""
    series = {
        ("block", "sda", "reads_per_s"): [10.0], ("block", "sda1", "reads_per_s"): [8.0],
    }  # fmt: skip
    assert value(series, "block.reads_per_s") == 10.0
    assert value(series, "block.reads_per_s of sda1") == 8.0
    assert value(series, "block.reads_per_s of sdb") is None


def test_what_a_collector_counts_of_each_is_added_up() -> None:
    """Backends that wait for different things are different backends."""
    series = {
        ("database", "IO", "waiting_backends"): [3.0],
        ("database", "Lock", "waiting_backends"): [2.0],
    }
    assert value(series, "database.waiting_backends") == 5.0
    assert value(series, "database.waiting_backends of IO") == 3.0


def test_the_whole_machine_counts_before_its_parts() -> None:
    """CPUs of the server are CPUs of the machine."""
    series = {("cpu", "", "user_share"): [0.4], ("cpu", "server", "user_share"): [0.9]}
    assert value(series, "cpu.user_share") == 0.4
    assert value(series, "cpu.user_share of server") == 0.9


def test_a_part_of_a_subject_may_be_named() -> None:
    """The reads of every drive."""
    series = {
        ("drive", "sata.data:read", "answers_per_s"): [5.0],
        ("drive", "sata.log:read", "answers_per_s"): [1.0],
        ("drive", "sata.log:write", "answers_per_s"): [7.0],
    }
    assert value(series, "drive.answers_per_s of read") == 6.0
    assert value(series, "drive.answers_per_s of log") == 8.0
    assert value(series, "drive.answers_per_s") == 13.0


FAST, SLOW = histogram(*[1000] * 10_000), histogram(*[2000] * 10_000)
READ_P99 = parse_quantity("drive.read_p99")


def test_a_percentile_of_drives_is_that_of_the_slowest() -> None:
    """Unless a role is named."""
    windows = {"w": {"data": FAST, "log": SLOW}}
    found = of_drives(windows, {("a", 4): ["w"]}, READ_P99)
    assert found.windows["w"].number == SLOW.percentile_s(99)
    assert found.levels == {("a", 4): SLOW.percentile_s(99)}
    data = of_drives(windows, {}, parse_quantity("drive.read_p99 of data"))
    assert data.windows["w"].number == FAST.percentile_s(99)


def test_the_percentile_of_a_level_is_that_of_its_windows_merged() -> None:
    """Two thirds of the values take 1 ms: the median is that, and no mean of two medians."""
    windows = {"w1": {"data": histogram(*[1000] * 40_000)}, "w2": {"data": SLOW}}
    found = of_drives(windows, {("a", 4): ["w1", "w2"]}, parse_quantity("drive.read_p50"))
    assert found.levels["a", 4] == pytest.approx(0.001, rel=1e-3)


def test_a_level_of_which_a_window_is_missing_is_not_merged() -> None:
    """Part of the windows would be a distribution of something else."""
    windows: dict[str, dict[str, Histogram]] = {"w1": {"data": FAST}, "w2": {}}
    found = of_drives(windows, {("a", 4): ["w1", "w2"]}, READ_P99)
    assert found.levels == {}
    assert found.windows["w2"] == Value(None, "no read was answered by an emulated drive")


def test_too_few_values_give_no_percentile_of_a_window() -> None:
    """A hundred must lie beyond it; the level as a whole still has one."""
    windows = {"w": {"data": histogram(*[1000] * 9999)}}
    found = of_drives(windows, {("a", 4): ["w"]}, READ_P99)
    told = "drive.read_p99 needs 10,000 values in a window, and one has 9,999"
    assert found.windows["w"] == Value(None, told)
    assert ("a", 4) in found.levels
