"""The rows of what emulated drives did in a window."""

from pathlib import Path
from typing import Any

import pytest

from stithy.results import tables
from stithy.results.drives import drive_rows, read_log
from stithy.results.hlog import Interval
from stithy.wire.drive.messages import DriveCounters
from support.drive_counters import counters
from support.hlog import encode, histogram, log

DEVICE_MEAN_S = {"flush": 400e-6, "write": 900e-6}


def rows(before: DriveCounters, after: DriveCounters, *seen: Interval) -> dict[str, dict[str, Any]]:
    """The rows by operation."""
    told = drive_rows("w", "data", before, after, seen, DEVICE_MEAN_S)
    return {row["operation"]: row for row in told}


def test_counts_are_those_between_the_two_readings() -> None:
    """What a drive did before the users' work is not theirs."""
    found = rows(counters(answered=10, moved_bytes=4096), counters(answered=30, moved_bytes=12288))
    assert found["read"]["answered"] == 20
    assert found["read"]["moved_bytes"] == 8192
    assert found["all"]["answered"] == 20 * 4
    assert list(found) == ["read", "write", "flush", "discard", "all"]


def test_every_row_has_the_columns_of_the_table() -> None:
    """So that it can be written."""
    for row in rows(counters(), counters()).values():
        assert set(row) == {column.name for column in tables.DRIVES.columns}


def test_lateness_is_that_of_the_answers_between() -> None:
    """The means of two totals give the mean of what was added."""
    before = counters(late=(100, 10e-6), late_answers=5, cpu_s=1.0)
    after = counters(late=(300, 30e-6), late_answers=9, cpu_s=1.5)
    whole = rows(before, after)["all"]
    assert whole["late_answers"] == 4
    assert whole["late_mean_s"] == pytest.approx(40e-6)
    assert whole["cpu_s"] == pytest.approx(0.5)
    assert whole["cpu_wait_s"] is None
    assert rows(before, before)["all"]["late_mean_s"] is None


def test_what_was_added_is_the_device_s_time_beyond_that_given() -> None:
    """Profile and faults give the time; the way through the kernel and lateness add to it."""
    before = counters(answered=100, given_mean_s=50e-6)
    after = counters(answered=300, given_mean_s=250e-6)
    found = rows(before, after)
    assert found["flush"]["added_mean_s"] == pytest.approx(50e-6)
    assert found["write"]["added_mean_s"] == pytest.approx(550e-6)
    assert found["read"]["added_mean_s"] is None, "the device's time of reads alone is unknown"
    assert rows(before, before)["write"]["added_mean_s"] is None
    assert found["all"]["device_mean_s"] is None, "each operation is told of by itself"


def test_latencies_are_those_of_the_operation_and_of_all_merged() -> None:
    """An operation without a line in the log has none."""
    seen = [
        Interval("read", 1.0, 1.0, histogram(100, 100, 100)),
        Interval("write", 1.0, 1.0, histogram(900)),
    ]
    found = rows(counters(), counters(), *seen)
    assert found["read"]["latency_max_s"] == pytest.approx(100e-6, rel=0.01)
    assert found["all"]["latency_max_s"] == pytest.approx(900e-6, rel=0.01)
    assert found["flush"]["latency_p50_s"] is None
    assert [found[name]["logged"] for name in ("read", "all", "flush")] == [3, 4, 0]


def test_only_seconds_that_lie_in_the_span_are_read_from_the_log(tmp_path: Path) -> None:
    """A drive's log goes on over all windows, and its seconds are not those of the users.

    The second from 5.1 to 6.1 begins within the span; most of it comes after the measurement.
    """
    path = tmp_path / "data.latency.hlog"
    assert read_log(path, 0, 10) == []
    encoded = encode(histogram(100))
    lines = [f"Tag=read,{second}.100,1.000,0.100,{encoded}\n" for second in range(9)]
    path.write_text(log(*lines))
    assert [each.started_at_s for each in read_log(path, 3, 5.2)] == [3.1, 4.1]
    assert [each.started_at_s for each in read_log(path, 3.2, 5.2)] == [4.1]
