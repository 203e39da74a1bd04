"""What a window of block I/O must obey: its rate, Little's law, its block size, its seconds."""

from collections.abc import Mapping, Sequence

import pytest

from stithy.activity import list_tables
from stithy.analysis.gathering import WindowRecord, judge

SECONDS = 10.0


def flags(
    drives: Sequence[Mapping[str, object]] = (), **values: float | None
) -> list[tuple[str, bool]]:
    """What is said of a window with these values, and whether that invalidates it."""
    row = {
        "window_id": "w", "missing_because": None, "complete": True, "activity": "fio",
        "measure_from_s": 100.0, "measure_to_s": 100.0 + SECONDS, "attempt": 0,
    }  # fmt: skip
    ways = {"size_error_share": "read"}
    known = {
        (f"fio.{name}", ways.get(name, "all")): {"value": value, "count": int(SECONDS)}
        for name, value in values.items()
    }
    tables = list_tables("fio") - {"series"}
    record = WindowRecord(window=row, values=known, drives=drives, tables=tables)
    return [(each.flag.value, each.invalidates) for each in judge(record)]


@pytest.mark.parametrize(("achieved", "share", "said"), [
    (10_000.0, 0.5, []),
    (9_810.0, 0.5, []),
    (9_600.0, 0.9, [("rate missed", True)]),
    (9_600.0, 1.0, [("saturated", False)]),
    (9_600.0, None, [("saturated", False)]),
    (10_500.0, 1.2, [("rate missed", True)]),
])  # fmt: skip
def test_a_missed_rate_is_invalid_below_the_maximum_and_saturation_at_it(
    achieved: float, share: float | None, said: list[tuple[str, bool]]
) -> None:
    """More than asked is wrong anywhere; a rate without a known maximum may be above it."""
    assert flags(iops=achieved, asked_iops=10_000.0, maximum_share=share) == said


def test_few_random_arrivals_may_miss_their_rate_by_chance() -> None:
    """By three standard deviations of their number: 30 of 100 expected ones."""
    assert flags(iops=7.5, asked_iops=10.0, maximum_share=0.1) == []
    assert flags(iops=6.5, asked_iops=10.0, maximum_share=0.1) == [("rate missed", True)]


@pytest.mark.parametrize(("in_flight", "mean_s", "said"), [
    (32.0, 1e-3, []),
    (26.0, 1e-3, []),
    (25.0, 1e-3, [("fio was busy", False)]),
    (34.0, 1e-3, [("more outstanding than possible", True)]),
    (34.0, 0.1, []),
])  # fmt: skip
def test_a_closed_loop_obeys_littles_law(
    in_flight: float, mean_s: float, said: list[tuple[str, bool]]
) -> None:
    """More is impossible; less is fio's own time."""
    assert flags(in_flight=in_flight, outstanding=32.0, mean_s=mean_s) == said


def test_bandwidth_is_iops_times_block_size_and_seconds_have_answers() -> None:
    """The one is fio's arithmetic, the other the storage's doing."""
    assert flags(size_error_share=0.0, idle_s=0.0) == []
    assert flags(size_error_share=0.02) == [("request size not as asked", True)]
    assert flags(idle_s=2.0) == [("seconds without I/O", False)]


def test_latencies_with_many_late_requests_are_said_not_to_be_those_of_arrivals() -> None:
    """From a twentieth on."""
    assert flags(late_share=0.04) == []
    assert flags(late_share=0.06) == [("requests began late", False)]


@pytest.mark.parametrize(("mean_s", "values", "said"), [
    (2.9e-3, {}, []),
    (3e-3, {}, [("some latency outside of the storage", False)]),
    (5e-3, {}, [("latency outside of the storage", True)]),
    (5e-3, {"iops": 990.0, "asked_iops": 1000.0, "maximum_share": 0.2},
     [("latency outside of the storage", True)]),
    (5e-3, {"iops": 960.0, "asked_iops": 1000.0, "maximum_share": 1.1}, [("saturated", False)]),
    (5e-3, {"outstanding": 512.0, "in_flight": 512.0}, []),
])  # fmt: skip
def test_fio_and_the_block_layer_must_agree_of_the_same_requests(
    mean_s: float, values: Mapping[str, float], said: list[tuple[str, bool]]
) -> None:
    """2.75 ms in the block layer; what waits before it, for a reason, is not compared."""
    ways = (("read", 300, 3e-3), ("write", 100, 2e-3), ("all", 400, 0.0))
    drives = [
        {"role": "data", "operation": way, "answered": count, "latency_mean_s": mean,
         "device_mean_s": mean, "added_mean_s": 0.0, "late_answers": None, "late_mean_s": None}
        for way, count, mean in ways
    ]  # fmt: skip
    assert [
        each for each in flags(drives, mean_s=mean_s, **values) if "drive" not in each[0]
    ] == said


def test_messages_of_a_fio_that_did_not_fail_are_shown_and_leave_the_window_valid() -> None:
    """None is the usual."""
    assert flags(messages=0.0) == []
    assert flags(messages=2.0) == [("fio had messages", False)]
