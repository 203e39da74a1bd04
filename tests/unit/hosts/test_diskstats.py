"""The mean times of requests between two readings of the kernel's counters."""

import pytest

from stithy.hosts.diskstats import Counters, mean_times_s, parse


def counted(
    read: tuple[int, int] = (0, 0), write: tuple[int, int] = (0, 0), flush: tuple[int, int] = (0, 0)
) -> Counters:
    """A line with these requests and milliseconds."""
    fields = [read[0], 0, 0, read[1], write[0], 0, 0, write[1], 0, 10, 20, 0, 0, 0, 0, *flush]
    line = f"7 3 loop3 {' '.join(map(str, fields))}\n"
    return parse(line.encode(), [b"loop3"])["loop3"]


def test_each_operation_has_the_mean_of_what_ended_between() -> None:
    """In seconds; what was not asked for took no time, not 0."""
    before = counted(read=(100, 50), write=(10, 5))
    found = mean_times_s(before, counted(read=(200, 90), write=(20, 9)), writes=10)
    assert found == {"read": 400e-6, "write": 400e-6, "flush": None}


def test_flushes_without_data_are_no_writes() -> None:
    """The kernel counts each of them as a write of no sectors, too, that takes as long.

    100 writes of 500 µs and 100 flushes of 50 µs: the kernel says that 200 writes took 275 µs.
    """
    after = counted(write=(200, 55), flush=(100, 5))
    found = mean_times_s(counted(), after, writes=100)
    assert found["write"] == pytest.approx(500e-6)
    assert found["flush"] == pytest.approx(50e-6)


def test_writes_that_flush_by_themselves_stay() -> None:
    """A write that carries data and flushes is one write; nothing is taken out for it."""
    found = mean_times_s(counted(), counted(write=(100, 50), flush=(100, 5)), writes=100)
    assert found["write"] == pytest.approx(500e-6)


def test_requests_that_the_drive_splits_are_not_taken_for_flushes() -> None:
    """Nor can more be taken out than there were flushes."""
    after = counted(write=(100, 50), flush=(10, 1))
    assert mean_times_s(counted(), after, writes=150)["write"] == pytest.approx(500e-6)
    assert mean_times_s(counted(), after, writes=0)["write"] == pytest.approx(49e-3 / 90)
