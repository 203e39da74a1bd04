"""The mean time of requests between two readings of the kernel's counters."""

from stithy.hosts.diskstats import mean_time_s, parse

LINE = b"   7  3 loop3 %d 0 %d %d %d 0 %d %d 0 10 20 0 0 0 0 %d %d\n"


def test_the_mean_time_is_over_the_requests_that_ended_between() -> None:
    """Reads, writes and flushes together, in seconds."""
    before = parse(LINE % (100, 800, 50, 10, 80, 5, 1, 1), [b"loop3"])["loop3"]
    after = parse(LINE % (200, 1600, 90, 20, 160, 9, 11, 17), [b"loop3"])["loop3"]
    assert mean_time_s(before, after, ("read", "write", "flush")) == (40 + 4 + 16) / 1000 / 120
    assert mean_time_s(before, after, ("read",)) == 40 / 1000 / 100


def test_without_requests_there_is_no_mean() -> None:
    """A device that nobody asked anything took no time, not 0."""
    line = parse(LINE % (100, 800, 50, 10, 80, 5, 1, 1), [b"loop3"])["loop3"]
    assert mean_time_s(line, line, ("read", "write", "flush")) is None
