"""Means of collectors and percentiles of drives, of windows and of levels."""

from collections.abc import Mapping, Sequence

import polars as pl

from stithy.analysis.values.measures import Value, of_drives, of_series
from stithy.analysis.values.series import Sampled, sampled
from stithy.metrics import parse_quantity, weights
from stithy.results.hlog import Histogram
from stithy.results.tables import SERIES, schema
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


def test_a_level_of_which_a_window_is_missing_is_not_merged() -> None:
    """Part of the windows would be a distribution of something else."""
    windows: dict[str, dict[str, Histogram]] = {"w1": {"data": FAST}, "w2": {}}
    found = of_drives(windows, {("a", 4): ["w1", "w2"]}, READ_P99)
    assert found.levels == {}
    assert found.windows["w2"] == Value(None, "no read was answered by an emulated drive")
