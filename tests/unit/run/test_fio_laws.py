"""What follows from the requests of a window of fio: what was in flight, sizes, seconds."""

from collections.abc import Iterable

import pytest

from stithy.fio import library
from stithy.fio.logs import LoggedSecond
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.output import FioAnswer, Histogram, ServedRequests
from stithy.fio.streamjob import RenderedStream
from stithy.run.activity import WindowValue
from stithy.scenarios.block_io.outcome import (
    count_in_flight,
    divide_by_seconds,
    measure_evenness,
    size_errors,
)

KIB8 = 8192


def measured(counts: dict[int, int], *, mean_s: float = 2e-3, size: int = KIB8) -> FioMeasured:
    """A closed loop of reads with so many requests in each second."""
    count, duration_s = sum(counts.values()), float(max(counts) + 1)
    latency = Histogram(counts_by_ns={int(mean_s * 1e9): count}, sum_s=mean_s * count)
    served = ServedRequests(
        latency=latency, moved_bytes=count * size, duration_s=duration_s, iops_max=1,
        bytes_per_s_max=1,
    )  # fmt: skip
    rows = tuple(
        LoggedSecond(s, s * 1.0, "read", n, n * size, mean_s, None) for s, n in counts.items()
    )
    stream = RenderedStream("data", "psync", 4, 4, is_open=False, mean_bytes={"read": KIB8})
    answer = FioAnswer("data", served, None, None, 1.0, duration_s)
    return FioMeasured((stream,), (answer,), {"data": rows}, {})


def values(found: Iterable[WindowValue]) -> dict[str, float | None]:
    """By metric."""
    return {each.metric: each.value for each in found}


def test_little_s_law_gives_the_requests_in_flight_of_all_workers() -> None:
    """2,000 a second for 2 ms each are 4."""
    pattern = library.find("sql").patterns[0]
    found = values(count_in_flight(pattern, measured({0: 2000, 1: 2000}), workers=2))
    assert found["fio.in_flight"] == pytest.approx(4.0)
    assert found["fio.outstanding"] == 8.0


@pytest.mark.parametrize("name", ["oracle", "checkpoint-bursts"])
def test_a_pattern_that_holds_back_has_no_such_number(name: str) -> None:
    """Streams of a fixed mix wait for each other, and bursts pause."""
    pattern = library.find(name).patterns[0]
    assert values(count_in_flight(pattern, measured({0: 1}), workers=1)) == {}


def test_a_size_that_is_not_the_profile_s_is_an_error_beyond_chance() -> None:
    """Of one size there is no chance."""
    pattern = library.find("four-corners/random-read-4k").patterns[0]
    stream = pattern.streams[0].model_copy(update={"name": "data", "read_sizes": {KIB8: 1.0}})
    own = pattern.model_copy(update={"streams": (stream,)})
    assert values(size_errors(own, measured({0: 100}), 0))["fio.size_error_share"] == 0.0
    wrong = values(size_errors(own, measured({0: 100}, size=9011), 0))
    assert wrong["fio.size_error_share"] == pytest.approx(0.1, abs=1e-3)
    one_more = values(size_errors(own, measured({0: 100}, size=KIB8 * 101 // 100), 1))
    assert one_more["fio.size_error_share"] == 0.0


def test_seconds_without_a_row_are_seconds_without_an_answer() -> None:
    """fio writes no row where it answered nothing, in the last second neither."""
    found = measured({0: 100, 2: 300, 3: 200})
    assert list(divide_by_seconds(found, 4.0).values()) == [100, 0, 300, 200]
    assert list(divide_by_seconds(found, 5.9).values()) == [100, 0, 300, 200, 0]
    known = values(measure_evenness(found, 4.0))
    assert known["fio.worst_iops"] == 0.0
    assert known["fio.idle_s"] == 1.0
    assert known["fio.variation"] == pytest.approx(129.1 / 150, rel=1e-3)
