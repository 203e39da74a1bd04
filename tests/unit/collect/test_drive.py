"""What emulated drives do, from two readings of their counters."""

from fakes.clock import FakeClock
from stithy.collect.collector import Sample
from stithy.collect.collectors.drive import METRICS, Drives, samples
from support.drive_counters import OPERATIONS, counters


def found(*readings: Sample) -> dict[tuple[str, str], float | None]:
    """Values by subject and metric."""
    return {(each.subject, each.metric): each.value for each in readings}


def test_rates_are_what_was_added_in_the_time_between() -> None:
    """By drive and operation."""
    before = counters(answered=10, moved_bytes=100, late_answers=1, cpu_s=1.0)
    after = counters(answered=30, moved_bytes=500, late_answers=3, cpu_s=1.5)
    values = found(*samples("data", before, after, 2.0))
    assert values["data:read", "answers_per_s"] == 10
    assert values["data:write", "moved_bytes_per_s"] == 200
    assert values["data", "late_answers_per_s"] == 1
    assert values["data", "cpu_share"] == 0.25
    assert values["data", "queue_length"] == 3


def test_a_latency_is_the_mean_of_the_requests_of_the_second() -> None:
    """Not that of all since the drive came up; and none where nothing was answered."""
    before, after = counters(latency=(100, 1e-4)), counters(latency=(300, 3e-4))
    values = found(*samples("data", before, after, 1.0))
    assert values["data:read", "latency_s"] == (300 * 3e-4 - 100 * 1e-4) / 200
    assert found(*samples("data", after, after, 1.0))["data:read", "latency_s"] is None


def test_what_is_not_known_has_its_reason() -> None:
    """A drive without cache, a kernel that does not tell."""
    for each in samples("data", counters(), counters(), 1.0):
        assert (each.value is None) == (each.missing_because is not None)
    metrics = {each.metric for each in samples("data", counters(), counters(), 1.0)}
    assert metrics == {each.name for each in METRICS}


def test_the_first_sample_only_takes_the_reading() -> None:
    """Rates need two."""
    clock = FakeClock()
    collector = Drives(lambda: {"data": counters(), "log": counters("log")}, clock)
    assert list(collector.sample()) == []
    clock.sleep_s(1.0)
    subjects = {each.subject for each in collector.sample()}
    assert subjects == {
        *("data", "log"),
        *(f"{drive}:{name}" for drive in ("data", "log") for name in OPERATIONS),
    }
