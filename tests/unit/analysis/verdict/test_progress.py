"""What to do after a block."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.boundaries import LOOKS
from stithy.analysis.verdict.decide import Call
from stithy.analysis.verdict.progress import Next, forecast, next_step, next_step_of_level

CLEAR = [0.69, 0.70, 0.68, 0.69, 0.70, 0.71]
"""A ratio of two with hardly any noise."""


def test_a_clear_difference_is_decided_at_the_first_look() -> None:
    """Three blocks are too few, the fourth decides."""
    steps = [next_step(CLEAR[:count]).step for count in range(5)]
    assert steps == [Next.ANOTHER_BLOCK] * 4 + [Next.DECIDED]
    assert next_step(CLEAR[:4]).verdict.call is Call.BETTER
    assert next_step(CLEAR[:4], more_is_better=False).verdict.call is Call.WORSE


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


def test_a_level_is_judged_by_its_farthest_pair() -> None:
    """Over the blocks that both have: a lost window drops its block."""
    slow = {block: 1000.0 + 10 * block for block in range(5)}
    fast = {block: 2 * value for block, value in slow.items()}
    between = {block: 1.2 * value for block, value in slow.items()}
    assert next_step_of_level({"a": slow, "b": fast}).verdict.blocks == 5
    del fast[2]
    progress = next_step_of_level({"b": fast, "c": between, "a": slow})
    assert (progress.step, progress.verdict.call) == (Next.DECIDED, Call.BETTER)
    assert progress.verdict.blocks == 4


def test_a_pair_chosen_among_many_must_differ_more_to_end_a_study() -> None:
    """As the report will judge it, so that no study ends with an undecided question."""
    logs = (0.052, 0.019, 0.061, 0.044, 0.023, 0.046)
    slow = dict.fromkeys(range(6), 1000.0)
    fast = {block: 1000.0 * math.exp(log) for block, log in enumerate(logs)}
    assert next_step_of_level({"a": slow, "b": fast}).step is Next.DECIDED
    others = dict.fromkeys("cdef", slow)
    assert next_step_of_level({"a": slow, "b": fast, **others}).step is Next.ANOTHER_BLOCK


def test_without_a_pair_there_is_nothing_to_decide() -> None:
    """One candidate, none, one without a valid window, or no block in common."""
    for values in ({}, {"a": {0: 1.0}}, {"a": {0: 1.0}, "b": {}}, {"a": {0: 1.0}, "b": {1: 2.0}}):
        assert next_step_of_level(values).step is Next.ANOTHER_BLOCK
        assert next_step_of_level(values).verdict.because == "no block, at least 4 are needed"


def test_the_forecast_is_the_look_that_would_decide() -> None:
    """From the spread so far: small noise soon, large noise never."""
    assert forecast([0.05, 0.06, 0.055]) == 4
    assert forecast([0.05, 0.09, 0.03, 0.07]) == 6
    assert forecast([0.5, -0.5, 0.4, -0.4]) is None
    assert forecast([0.001, -0.001, 0.002]) == 4
    assert forecast([0.1]) is None


@pytest.mark.parametrize("limit", [5, 9, 20])
def test_the_forecast_keeps_to_the_limit(limit: int) -> None:
    """What the study may not measure is not promised."""
    draw = random.Random(4)
    for _ in range(50):
        needed = forecast([draw.gauss(0.03, 0.03) for _ in range(4)], limit=limit)
        assert needed is None or 4 < needed <= limit
