"""Block I/O second by second: what a line of the chart shows."""

import polars as pl
import pytest

from stithy.scenarios.block_io.report.seconds import find_worst, sum_io_seconds


def _row(second: int, direction: str, requests: int, mean_s: float | None) -> dict[str, object]:
    return {
        "second": second,
        "direction": direction,
        "requests": requests,
        "latency_mean_s": mean_s,
    }


def test_the_latency_of_a_second_weighs_reads_and_writes_by_their_number() -> None:
    """90 reads of 1 ms and 10 writes of 11 ms take 2 ms on average."""
    (only,) = sum_io_seconds([_row(0, "read", 90, 0.001), _row(0, "write", 10, 0.011)])
    assert only.requests == 100
    assert only.mean_s == pytest.approx(0.002)


def test_a_second_without_an_answer_has_no_requests_and_no_latency() -> None:
    """It stands between those that have some: a pause is a gap of the line, never 0 ms."""
    found = sum_io_seconds([_row(2, "read", 5, 0.001), _row(0, "read", 7, 0.001)])
    assert [(each.second, each.requests) for each in found] == [(0, 7), (1, 0), (2, 5)]
    assert found[1].mean_s is None


def test_a_latency_that_is_missing_is_not_guessed_from_the_other_direction() -> None:
    """Half of a second's requests say nothing about the other half."""
    (only,) = sum_io_seconds([_row(0, "read", 5, 0.001), _row(0, "write", 5, None)])
    assert (only.requests, only.mean_s) == (10, None)
    assert sum_io_seconds([]) == []


def test_the_dot_of_a_candidate_stands_at_its_longest_latency() -> None:
    """The first of equal ones."""
    frame = pl.DataFrame(
        {"candidate": ["a", "b", "a", "a"], "second": [0, 0, 1, 2], "value": [1.0, 9.0, 4.0, 4.0]}
    )
    assert sorted(find_worst(frame).select("candidate", "second").rows()) == [("a", 1), ("b", 0)]
