"""Bars are intervals over the valid blocks, where there are enough of them."""

import math
from typing import Any

import pytest

from stithy.report.drawing.compose import bars_told, spans, with_spans

Row = dict[str, Any]


def _points(values: list[float], *, valid: bool = True, device: str = "") -> list[Row]:
    return [
        {"users": 4, "candidate": "disk", "block": block, "value": value, "valid": valid,
         "device": device}
        for block, value in enumerate(values)
    ]  # fmt: skip


def test_three_blocks_give_the_interval_of_their_mean() -> None:
    """10, 20, 30: the mean is 20, its standard error 10/√3, and t is 4.303."""
    (row,) = spans(_points([10.0, 20.0, 30.0]), log=False)
    half = 4.302652730 * 10 / math.sqrt(3)
    assert (row["users"], row["candidate"]) == (4, "disk")
    assert row["low"] == 0.0  # a rate is never below
    assert row["high"] == pytest.approx(20 + half)


def test_two_blocks_and_invalid_windows_give_none() -> None:
    """An interval of two is so wide that it tells nothing; invalid windows support no claim."""
    assert spans(_points([10.0, 20.0]), log=False) == []
    assert spans(_points([10.0, 20.0, 30.0], valid=False), log=False) == []
    assert bars_told(_points([10.0, 20.0])) == ""
    assert "Bars are plain 95 % t intervals" in bars_told(_points([10.0, 20.0, 30.0]))


def test_of_several_devices_the_busiest_counts() -> None:
    """As for the line."""
    low, high = _points([1.0, 2.0, 3.0], device="a"), _points([10.0, 20.0, 30.0], device="b")
    assert spans([*low, *high], log=False) == spans(high, log=False)


def test_a_domain_holds_the_ends_of_the_bars() -> None:
    """On a logarithmic axis those of the geometric mean, which are greater than 0."""
    values = [row["value"] for row in with_spans(_points([10.0, 20.0, 30.0]), log=True)]
    assert min(values) > 0
    assert min(values) < 10
    assert max(values) > 30
