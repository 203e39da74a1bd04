"""What devices do, from /proc/diskstats."""

import pytest

from stithy.collect.collector import Scope, Unavailable
from stithy.collect.collectors.block import METRICS, create, samples
from stithy.hosts.devices import parse_diskstats
from support.captured import captured

IDLE = "8 0 sda 100 0 800 200 100 0 1600 400 0 500 700 10 0 80 20 50 60\n"
BUSY = "8 0 sda 110 0 960 250 140 0 2240 600 0 1500 1700 10 0 80 20 60 70\n"


def rates(before: str, after: str, elapsed_s: float = 1.0) -> dict[str, float | None]:
    """All metrics of sda between two lines."""
    last, now = (parse_diskstats(text.encode(), [b"sda"])["sda"] for text in (before, after))
    return {sample.metric: sample.value for sample in samples("sda", last, now, elapsed_s)}


def test_only_the_named_devices_of_a_captured_file_are_read() -> None:
    """The others cost nothing."""
    found = parse_diskstats(captured("proc/diskstats").encode(), [b"vda"])
    assert found.keys() == {"vda"}
    line = next(each for each in captured("proc/diskstats").splitlines() if " vda " in each)
    field = line.split()
    assert found["vda"].requests["read"] == int(field[3])
    assert found["vda"].bytes["write"] == int(field[9]) * 512
    assert found["vda"].requests["flush"] == int(field[18])


def test_rates_latencies_queue_and_utilisation_follow_from_two_readings() -> None:
    """10 reads of 160 sectors in 50 ms; 40 writes in 200 ms; 10 flushes in 10 ms; in 2 s."""
    found = rates(IDLE, BUSY, elapsed_s=2.0)
    assert found["reads_per_s"] == 5
    assert found["read_bytes_per_s"] == 160 * 512 / 2
    assert found["read_latency_s"] == pytest.approx(0.005)
    assert found["writes_per_s"] == 20
    assert found["write_latency_s"] == pytest.approx(0.005)
    assert found["flushes_per_s"] == 5
    assert found["flush_latency_s"] == pytest.approx(0.001)
    assert found["queue_length"] == pytest.approx(0.5)
    assert found["utilisation_share"] == pytest.approx(0.5)
    assert found.keys() == {metric.name for metric in METRICS}


def test_without_requests_there_is_no_latency_but_a_rate_of_zero() -> None:
    """A latency of 0 would be a wrong number."""
    found = rates(IDLE, IDLE)
    assert found["reads_per_s"] == 0
    assert found["read_latency_s"] is None


def test_what_an_old_kernel_does_not_count_is_null() -> None:
    """Before 4.18 no discards, before 5.5 no flushes."""
    old = "8 0 sda 100 0 800 200 100 0 1600 400 0 500 700\n"
    found = rates(old, old)
    assert found["flushes_per_s"] is None
    assert found["discards_per_s"] is None
    assert found["writes_per_s"] == 0
    assert found.keys() == {metric.name for metric in METRICS}


def test_a_device_made_anew_has_no_negative_rates() -> None:
    """Counters that begin again are no growth."""
    assert all((value or 0) >= 0 for value in rates(BUSY, IDLE).values())


def test_volumes_without_devices_make_it_unavailable() -> None:
    """A window on memory has no devices to sample."""
    with pytest.raises(Unavailable, match="no block device"):
        create(Scope((), None))
