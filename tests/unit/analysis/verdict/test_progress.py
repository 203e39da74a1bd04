"""What to do after a block."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.boundaries import LOOKS
from stithy.analysis.verdict.decide import Call
from stithy.analysis.verdict.progress import Next, forecast, next_step

CLEAR = [0.69, 0.70, 0.68, 0.69, 0.70, 0.71]
"""A ratio of two with hardly any noise."""


def test_a_clear_difference_is_decided_at_the_first_look() -> None:
    """Three blocks are too few, the fourth decides."""
    steps = [next_step(CLEAR[:count]).step for count in range(5)]
    assert steps == [Next.ANOTHER_BLOCK] * 4 + [Next.DECIDED]
    assert next_step(CLEAR[:4]).verdict.call is Call.BETTER
    assert next_step(CLEAR[:4], better="lower").verdict.call is Call.WORSE


def test_between_looks_nothing_is_decided() -> None:
    """Each look more is a chance more to be misled."""
    assert next_step(CLEAR[:5]).step is Next.ANOTHER_BLOCK
    assert next_step(CLEAR[:6]).step is Next.DECIDED


def test_at_the_limit_there_is_a_last_look_wherever_it_lies() -> None:
    """A study of five blocks at most is decided at five, or not at all."""
    assert next_step(CLEAR[:5], limit=5).step is Next.DECIDED
    noisy = [0.5, -0.4, 0.3, -0.6, 0.2]
    assert next_step(noisy, limit=5).step is Next.LIMIT_REACHED
    assert next_step(CLEAR[:2], limit=2).step is Next.LIMIT_REACHED
    assert next_step(CLEAR[:2], limit=2).verdict.because == "2 blocks, at least 4 are needed"


@given(st.lists(st.floats(min_value=-1, max_value=1), max_size=24))
def test_only_looks_and_the_limit_end_a_study(logs: list[float]) -> None:
    """The simulation of whole studies asks at the looks alone; this is why it may."""
    step = next_step(logs).step
    if len(logs) < 20 and len(logs) not in LOOKS:
        assert step is Next.ANOTHER_BLOCK
    if len(logs) >= 20:
        assert step is not Next.ANOTHER_BLOCK


def test_the_forecast_is_the_look_that_would_decide() -> None:
    """From the spread so far: small noise soon, large noise never."""
    assert forecast([0.05, 0.06, 0.055]) == 4
    assert forecast([0.05, 0.09, 0.03, 0.07]) == 6
    assert forecast([0.5, -0.5, 0.4, -0.4]) is None
    assert forecast([0.001, -0.001, 0.002]) == 4
    assert forecast([0.1]) is None


def test_the_forecast_is_as_cautious_as_the_verdict() -> None:
    """Eight blocks would do if the interval were not widened, as that of a verdict is."""
    assert forecast([0.0, 0.1, 0.02, 0.08, 0.04, 0.06]) == 10


@pytest.mark.parametrize("limit", [5, 9, 20])
def test_the_forecast_keeps_to_the_limit(limit: int) -> None:
    """What the study may not measure is not promised."""
    draw = random.Random(4)
    for _ in range(50):
        needed = forecast([draw.gauss(0.03, 0.03) for _ in range(4)], limit=limit)
        assert needed is None or 4 < needed <= limit
