"""Boundaries, intervals, chance and the bootstrap of a comparison."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.statistics import (
    BLOCKS_LEAST,
    CAUTION,
    INTERIM_BLOCKS,
    analyses_until,
    bootstrap_interval,
    critical,
    factor_interval,
    holm,
    interval,
    lag_1,
    mean_interval,
    repeated_chance,
    sign_flip_chance,
    widening,
)


def test_at_each_look_the_boundary_has_its_own_value() -> None:
    """Fewer blocks, a stricter one."""
    values = [critical(look) for look in INTERIM_BLOCKS]
    assert values == [5.54, 3.80, 3.35, 3.11, 3.00, 2.84, 2.77]


@pytest.mark.parametrize(("between", "before"), [(5, 4), (7, 6), (15, 12), (19, 16), (40, 20)])
def test_between_two_looks_the_stricter_value_holds(between: int, before: int) -> None:
    """A study that lost a block is judged no more easily than one with fewer."""
    assert critical(between) == critical(before)


def test_below_the_first_look_there_is_no_boundary() -> None:
    """Three blocks decide nothing."""
    with pytest.raises(ValueError, match="at least 4"):
        critical(BLOCKS_LEAST - 1)


def test_looks_are_counted_up_to_the_blocks_so_far() -> None:
    """None before the first, all after the last."""
    assert [analyses_until(blocks) for blocks in (3, 4, 5, 6, 20, 99)] == [0, 1, 1, 2, 7, 7]


LOGS = st.lists(st.floats(min_value=-3, max_value=3), min_size=2, max_size=24)


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


SMALL = st.lists(st.floats(min_value=-2, max_value=2), min_size=1, max_size=9)
CHANCES = st.lists(st.floats(min_value=0, max_value=1), max_size=8)


def _slowly(logs: list[float]) -> float:
    """The literal definition: every choice of signs, one after the other."""
    bar = abs(math.fsum(logs)) - 1e-12 * math.fsum(map(abs, logs))
    flips = list(itertools.product((1, -1), repeat=len(logs)))
    beyond = sum(
        abs(math.fsum(s * d for s, d in zip(signs, logs, strict=True))) >= bar for signs in flips
    )
    return beyond / len(flips)


@given(SMALL)
def test_the_quick_sign_flips_are_those_of_the_definition(logs: list[float]) -> None:
    """Two sorted halves give what all choices give."""
    # Sums that meet the bar up to rounding may fall to either side of it.
    assert sign_flip_chance(logs, 1) == pytest.approx(_slowly(logs), abs=2.01 / 2 ** len(logs))


def test_blocks_of_one_sign_are_as_rare_as_coins() -> None:
    """All of one sign: 2 of 2ⁿ, whatever their size; without blocks there is nothing to say."""
    assert sign_flip_chance([0.1, 0.4, 0.2, 0.3], 1) == 2 / 16
    assert sign_flip_chance([0.1 + 0.01 * n for n in range(20)], 1) == 2 / 2**20
    assert sign_flip_chance([0.0, 0.0], 1) == 1.0
    assert sign_flip_chance([], 1) is None


def test_at_the_boundary_the_chance_is_its_level_times_the_looks() -> None:
    """1.18 % at the first look, 2.4 % at the second; more beyond it, less within."""
    for count, level in ((4, 0.0118), (6, 0.0236)):
        spread = math.sqrt((count - 1) / count)
        at = critical(count) * CAUTION / math.sqrt(count)
        logs = [at + (spread if n % 2 else -spread) for n in range(count)]
        assert repeated_chance(logs) == pytest.approx(level, rel=0.1)
    assert repeated_chance([0.1, 0.2, 0.3]) is None
    assert repeated_chance([0.2] * 4) == 0.0
    assert repeated_chance([0.0] * 4) == 1.0


def test_holm_multiplies_the_smallest_most() -> None:
    """The example of every textbook, in the order given."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([]) == ()
    assert holm([0.6, 0.7]) == (1.0, 1.0)


@given(CHANCES)
def test_holm_never_makes_a_chance_smaller_and_keeps_their_order(chances: list[float]) -> None:
    """And never asks for more than Bonferroni."""
    adjusted = holm(chances)
    for before, after in zip(chances, adjusted, strict=True):
        assert before <= after <= max(before, min(1.0, before * len(chances)), *adjusted)
    order = sorted(range(len(chances)), key=lambda i: chances[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_the_interval_is_that_of_a_printed_table() -> None:
    """Of 1, 2, 3: deviation 1, t 4.3027 with 2 degrees of freedom."""
    low, high = mean_interval([10.0, 11.0, 12.0])
    assert low == pytest.approx(11 - 4.302653 / 3**0.5, rel=1e-6)
    assert high == pytest.approx(11 + 4.302653 / 3**0.5, rel=1e-6)


def test_a_rate_is_never_negative() -> None:
    """Of two values far apart the lower end is 0."""
    assert mean_interval([1.0, 100.0])[0] == 0.0


def test_of_one_value_nothing_is_known() -> None:
    """No interval of width 0 is made up."""
    with pytest.raises(ValueError, match="two values"):
        mean_interval([1.0])


def test_the_interval_of_a_geometric_mean_is_that_of_the_logarithms() -> None:
    """Of 1, 2 and 4 the geometric mean is 2, and t with two degrees of freedom 4.303."""
    low, high = factor_interval([1.0, 2.0, 4.0])
    half = 4.302652730 * math.log(2) / math.sqrt(3)
    assert low == pytest.approx(2 * math.exp(-half))
    assert high == pytest.approx(2 * math.exp(half))
    with pytest.raises(ValueError, match="two values"):
        factor_interval([1.0])


def test_with_many_blocks_it_is_that_of_the_normal_law() -> None:
    """1.96 standard errors to both sides."""
    draw = random.Random(2)
    logs = [draw.gauss(0.2, 0.1) for _ in range(200)]
    low, high = bootstrap_interval(logs, 1) or (0, 0)
    assert high - low == pytest.approx(2 * 1.96 * 0.1 / 200**0.5, rel=0.1)
    assert low < 0.2 < high


def test_a_single_block_has_none() -> None:
    """Drawn anew it is always itself."""
    assert bootstrap_interval([0.1], 1) is None
