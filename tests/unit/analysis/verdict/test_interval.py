"""The interval of a mean log ratio, and what widens it."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.boundaries import CAUTION, critical
from stithy.analysis.verdict.interval import interval, lag_1, widening

LOGS = st.lists(st.floats(min_value=-3, max_value=3), min_size=2, max_size=24)


def test_fewer_than_two_blocks_have_no_interval() -> None:
    """One window each tells nothing of the spread."""
    assert interval([]) is None
    assert interval([0.3]) is None


def test_two_or_three_blocks_have_a_plain_t_interval() -> None:
    """Log ratios 0.1, 0.2, 0.3: mean 0.2, standard deviation 0.1, t(2) = 4.3027."""
    known = interval([0.1, 0.2, 0.3])
    assert known is not None
    half = 4.302653 * 0.1 / math.sqrt(3)
    assert known.low == pytest.approx(0.2 - half)
    assert known.high == pytest.approx(0.2 + half)
    assert (known.decides, known.widened) == (False, 1.0)


def test_from_four_blocks_on_the_interval_is_that_of_the_boundaries() -> None:
    """Mean 0, standard deviation 0.1: 5.54 times 1.3 times the standard error."""
    spread = 0.1 * math.sqrt(3 / 4)
    known = interval([spread, -spread, spread, -spread])
    assert known is not None
    assert known.decides
    assert known.high == pytest.approx(critical(4) * CAUTION * 0.1 / 2)
    assert known.low == pytest.approx(-known.high)


def test_the_correlation_of_neighbours_has_its_sign() -> None:
    """What goes up and down is negative, what rises slowly positive; a constant has none."""
    assert (lag_1([1.0, -1.0] * 5) or 0) < -0.8
    assert (lag_1([float(n) for n in range(10)]) or 0) > 0.6
    assert lag_1([2.0] * 5) is None
    assert lag_1([1.0, 2.0]) is None


def test_a_large_correlation_widens_the_interval_and_a_small_one_does_not() -> None:
    """By the factor of an AR(1) mean, at most twice; from few blocks it is not believed."""
    rising = [0.01 * n for n in range(12)]
    seen = lag_1(rising)
    assert seen is not None
    assert widening(rising) == pytest.approx(math.sqrt((1 + 0.6) / (1 - 0.6)))
    assert widening(rising[:6]) == CAUTION
    assert widening([0.1, -0.1] * 6) == CAUTION
    mild = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0]
    seen = lag_1(mild)
    assert seen is not None
    assert 0.26 < seen < 0.6
    assert CAUTION < widening(mild) == pytest.approx(math.sqrt((1 + seen) / (1 - seen)))


@given(LOGS, st.floats(min_value=-2, max_value=2))
def test_the_interval_holds_the_mean_and_moves_with_the_data(
    logs: list[float], shift: float
) -> None:
    """What is added to every block is added to the interval."""
    known, moved = interval(logs), interval([d + shift for d in logs])
    assert known is not None
    assert moved is not None
    assert known.low <= known.mean <= known.high
    assert moved.mean == pytest.approx(known.mean + shift, abs=1e-9)


def test_the_interval_of_all_looks_holds_the_truth_in_nineteen_studies_of_twenty() -> None:
    """Normal noise, 2,000 studies: at every look at once, not only at one."""
    draw, held = random.Random(11), 0
    for _ in range(2000):
        logs = [draw.gauss(0.1, 0.05) for _ in range(20)]
        known = [interval(logs[:look]) for look in (4, 6, 8, 10, 12, 16, 20)]
        held += all(each is not None and each.low <= 0.1 <= each.high for each in known)
    assert held / 2000 > 0.95
