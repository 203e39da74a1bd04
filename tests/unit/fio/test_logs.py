"""Seconds of a closed loop have each request of fio's result once, with its latency.

`logged` writes logs as fio does, of requests that are known one by one.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.fio import logs
from stithy.fio.logs import Line, LoggedSecond, Submitter
from stithy.fio.output import (
    Expected,
    Histogram,
    Submitted,
    find_bin_middle_ns,
    find_bin_ns,
    parse,
    parse_submitted,
)
from stithy.fio.profile import Direction
from support.captured import DATA

BINS = 29 * 64
"""Of fio. Source: stat.h of fio 3.33."""

BEGIN_MS = 1_763_926_000_123
NUMBERS = {find_bin_middle_ns(index): index for index in range(BINS)}
Ended = Sequence[tuple[int, int]]
"""Milliseconds after the begin, in order, and latencies in nanoseconds."""


def submitter(ended: Ended, end_ms: int, way: Direction = "write") -> Submitter:
    """What fio writes of these requests. Source: `add_log_sample`, `add_clat_sample` of fio 3.33.

    A mean when a second since the last whole one is over, and at the end; a histogram when a second
    since the first request is over.
    """
    means: list[Line] = []
    histograms: list[Line] = []
    window: list[int] = []
    bins: Counter[int] = Counter()
    mean_from_ms, histogram_from_ms = 0, 0
    for at_ms, latency_ns in ended:
        window.append(latency_ns)
        if at_ms - mean_from_ms >= 1000:
            means.append(mean_line(at_ms, way, window))
            mean_from_ms = at_ms - at_ms % 1000
        bins[find_bin_ns(latency_ns)] += 1
        histogram_from_ms = histogram_from_ms or at_ms
        if at_ms - histogram_from_ms >= 1000:
            histograms.append(histogram_line(at_ms, way, bins))
            histogram_from_ms += 1000
    if window:
        means.append(mean_line(end_ms, way, window))
    whole = Counter(find_bin_ns(each) for _, each in ended)
    sum_s = sum(each for _, each in ended) / 1e9
    completion = Histogram(counts_by_ns=whole, sum_s=sum_s)
    return Submitter(means, histograms, {way: Submitted(8192 * len(ended), sum_s, completion)})


def mean_line(at_ms: int, way: Direction, window: list[int]) -> Line:
    """Of all since the last one."""
    line = Line(BEGIN_MS + at_ms, way, [str(sum(window) // len(window))])
    window.clear()
    return line


def histogram_line(at_ms: int, way: Direction, bins: Counter[int]) -> Line:
    """Of all since the last one."""
    values = ["0"] * BINS
    for time_ns, count in bins.items():
        values[NUMBERS[time_ns]] = str(count)
    bins.clear()
    return Line(BEGIN_MS + at_ms, way, values)


def totals(rows: Sequence[LoggedSecond]) -> tuple[int, float]:
    """Requests of all seconds, and the sum of their latencies in seconds."""
    return sum(e.count for e in rows), sum(e.count * (e.latency_mean_s or 0.0) for e in rows)


def test_the_last_second_of_a_real_run_has_all_that_ended_in_it_or_later() -> None:
    """17 requests of 11 ms ended after 2 s: they neither replace nor leave out 2,691 of 0.2 ms."""
    text = (DATA / "fio/one-writer.json").read_text()
    found = logs.read_submitters("log", DATA / "fio", parse_submitted(text, "log", "x"))
    (answer,) = parse(text, [Expected("log", {"write": 1.0}, 2.0, flushes=True)], "x")
    first, last = rows = logs.list_seconds(found, 2.0)
    assert answer.write is not None
    assert (first.direction, first.count, last.count) == ("write", 117, 2709)
    count, sum_s = totals(rows)
    assert count == answer.count == 2826
    assert sum(row.moved_bytes for row in rows) == answer.write.moved_bytes == 2826 * 8192
    assert first.latency_mean_s == pytest.approx(4084313e-9)
    assert sum_s / count == pytest.approx(answer.latency.mean_s, rel=0.01)
    assert last.completion is not None
    assert last.completion.count == 2708  # but for the one that ended 20 ms after the first
    assert (first.at_s, last.at_s) == (1795650692.415, 1795650693.415)


def test_a_stall_is_in_the_seconds_in_which_it_was() -> None:
    """A request a ms, nothing from 1.1 s to 2.6 s, and one that took all that time."""
    ended = [(at, 900_000) for at in range(1, 1100)]
    ended += [(2600, 1_500_000_000), *((at, 900_000) for at in range(2601, 4000))]
    found = logs.list_seconds([submitter(ended, 4000)], 4.0)
    assert [(each.second, each.count) for each in found] == [
        (0, 999), (1, 100), (2, 400), (3, 1000),
    ]  # fmt: skip
    assert found[1].latency_mean_s == pytest.approx((100 * 0.9e-3 + 1.5) / 101, rel=1e-3)
    assert [each.at_s for each in found] == [BEGIN_MS / 1000 + second for second in range(4)]


def slow(seed: int, per_s: float, length_s: float) -> list[tuple[int, int]]:
    """Random requests, so many a second, of 1 to 20 ms."""
    draw = random.Random(seed)
    count = round(per_s * length_s)
    times = sorted(draw.randrange(1, round(1000 * length_s)) for _ in range(count))
    return [(at, draw.randrange(1_000_000, 20_000_000)) for at in times]


@pytest.mark.parametrize("per_s", [0.6, 5.0, 300.0])
@pytest.mark.parametrize("seed", range(5))
def test_requests_are_in_the_seconds_in_which_they_ended(per_s: float, seed: int) -> None:
    """Nothing is lost, however slow a submitter is; it is wrong by 2 requests a second or 1 %."""
    ended = [slow(10 * seed + number, per_s, 6.0) for number in range(4)]
    rows = logs.list_seconds([submitter(each, 6000) for each in ended], 6.0)
    count, sum_s = totals(rows)
    assert count == sum(map(len, ended))
    latencies_s = [latency / 1e9 for each in ended for _, latency in each]
    assert sum_s / count == pytest.approx(sum(latencies_s) / count, rel=0.02)
    # Requests by the second in which they ended.
    true = Counter(at // 1000 for each in ended for at, _ in each)
    for row in rows:
        assert row.count == pytest.approx(true[row.second], abs=4 * max(2.0, 0.01 * per_s))


def test_what_ended_after_the_last_whole_second_is_left_out_unless_it_is_the_last() -> None:
    """2.5 s have two whole seconds; requests under way at the end belong to the measurement."""
    ended = [(at, 1_000_000) for at in range(1, 2600)]
    halved = logs.list_seconds([submitter(ended, 2600)], 2.5)
    assert [(each.second, each.count) for each in halved] == [(0, 999), (1, 1000)]
    whole = logs.list_seconds([submitter(ended, 2600)], 2.0)
    assert [(each.second, each.count) for each in whole] == [(0, 999), (1, 1600)]
    assert logs.list_seconds([submitter(ended[:500], 501)], 0.5) == ()


def test_directions_and_submitters_add_up() -> None:
    """Means weigh as much as their requests; 90 of 1 ms and 30 of 5 ms have a mean of 2 ms."""
    fast = submitter([(10 * at + 5, 1_000_000) for at in range(90)], 1000, "read")
    late = submitter([(20 * at + 9, 5_000_000) for at in range(30)], 1001, "read")
    other = submitter([(7, 1_000_000)], 1000)
    read, write = logs.list_seconds([fast, late, other], 1.0)
    assert (read.direction, read.count, read.moved_bytes) == ("read", 120, 120 * 8192)
    assert read.latency_mean_s == pytest.approx(2e-3)
    assert read.completion is not None
    assert read.completion.count == 120
    assert (write.direction, write.count) == ("write", 1)
    assert logs.list_seconds([], 1.0) == ()


def test_logs_that_the_result_does_not_know_are_an_error(tmp_path: Path) -> None:
    """More requests, no means, or a log of each submitter but one."""
    good = submitter([(at, 1_000_000) for at in range(1, 2000)], 2000)
    known = Histogram(counts_by_ns={find_bin_ns(1_000_000): 9}, sum_s=0.1)
    short: dict[Direction, Submitted] = {"write": Submitted(8192, 0.1, known)}
    for damaged in (
        Submitter(good.latencies, good.histograms, short),
        Submitter([], good.histograms, good.submitted),
    ):
        with pytest.raises(InfrastructureError, match="fio logged"):
            logs.list_seconds([damaged], 2.0)
    with pytest.raises(InfrastructureError, match="0 and 0 logs of 1 submitters"):
        logs.read_submitters("log", tmp_path, [good.submitted])


def test_logs_are_those_of_their_submitter(tmp_path: Path) -> None:
    """By number, as in the result: 9 comes before 10."""
    for number in (9, 10):
        (tmp_path / f"log_lat.{number}.log").write_text(f"{number}, 1, 1, 0, 0\n")
        (tmp_path / f"log_clat_hist.{number}.log").write_text("")
    found = logs.read_submitters("log", tmp_path, [{}, {}])
    assert [each.latencies[0].at_ms for each in found] == [9, 10]


def test_a_line_that_is_none_is_named() -> None:
    """A disk that was full while fio wrote its logs cuts one off; other directions are left out."""
    with pytest.raises(InfrastructureError, match=r"a\.log:2.*no line"):
        list(logs.parse_lines("1, 2, 0, 4096\n17, 3", "a.log"))
    assert list(logs.parse_lines("1, 2, 2, 4096, 0, 0\n", "a.log")) == []


def test_each_submitter_has_a_result_of_its_own() -> None:
    """In the order of their numbers; a direction without requests has none."""
    none = {"io_bytes": 0, "lat_ns": {"N": 0, "mean": 0.0}, "clat_ns": {"N": 0, "mean": 0.0}}
    jobs = [
        {
            "jobname": name,
            "read": none,
            "write": {
                "io_bytes": size,
                "lat_ns": {"mean": 2e9, "N": size // 512},
                "clat_ns": {"mean": 100.0, "bins": {"100": size // 512}},
            },
        }
        for name, size in (("log", 512), ("data", 512), ("log", 1024))
    ]
    found = parse_submitted(json.dumps({"jobs": jobs}), "log", "x")
    assert [each["write"].moved_bytes for each in found] == [512, 1024]
    assert [each["write"].completion.count for each in found] == [1, 2]
    assert [each["write"].latency_s for each in found] == [2.0, 4.0]
    assert "read" not in found[0]
