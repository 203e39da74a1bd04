"""Ratios of paired windows and their intervals."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.effect import no_effect, paired_ratio

RATES = st.floats(min_value=1e-3, max_value=1e9)
PAIRS = st.lists(st.tuples(RATES, RATES), min_size=1, max_size=12)


def test_one_pair_gives_a_ratio_and_no_interval() -> None:
    """With one window each nothing is known of the spread."""
    effect = paired_ratio([100.0], [250.0])
    assert effect.ratio == pytest.approx(2.5)
    assert (effect.low, effect.high, effect.pairs) == (None, None, 1)
    assert effect.distinguishable is None


def test_a_known_small_case_gives_the_interval_computed_by_hand() -> None:
    """Log ratios 0.1, 0.2, 0.3: mean 0.2, standard deviation 0.1, t(2) = 4.3027."""
    b = [math.exp(0.1), math.exp(0.2), math.exp(0.3)]
    effect = paired_ratio([1.0, 1.0, 1.0], b)
    half = 4.302653 * 0.1 / math.sqrt(3)
    assert effect.ratio == pytest.approx(math.exp(0.2))
    assert effect.low == pytest.approx(math.exp(0.2 - half), rel=1e-6)
    assert effect.high == pytest.approx(math.exp(0.2 + half), rel=1e-6)
    assert effect.distinguishable is False


def test_nothing_to_pair_gives_a_reason_and_no_number() -> None:
    """Missing is None with a reason, never 0 or 1."""
    for effect in (paired_ratio([], []), paired_ratio([1.0], [0.0]), no_effect("why not")):
        assert effect.ratio is None
        assert effect.missing_because


def test_windows_that_do_not_pair_are_refused() -> None:
    """Unequal numbers of windows are a mistake of the caller."""
    with pytest.raises(ValueError, match="pair"):
        paired_ratio([1.0, 2.0], [1.0])


@given(PAIRS)
def test_swapping_the_candidates_inverts_the_effect(pairs: list[tuple[float, float]]) -> None:
    """B against A and A against B say the same."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    forward, back = paired_ratio(a, b), paired_ratio(b, a)
    assert forward.ratio is not None
    assert back.ratio is not None
    assert forward.ratio == pytest.approx(1 / back.ratio, rel=1e-9)
    if forward.low is not None and back.high is not None:
        assert math.log(forward.low) == pytest.approx(-math.log(back.high), rel=1e-6, abs=1e-6)


@given(PAIRS, RATES)
def test_units_do_not_matter(pairs: list[tuple[float, float]], unit: float) -> None:
    """Counting in other units changes neither ratio nor interval."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    plain = paired_ratio(a, b)
    scaled = paired_ratio([x * unit for x in a], [y * unit for y in b])
    assert plain.ratio == pytest.approx(scaled.ratio, rel=1e-9)


def test_a_plain_interval_claims_no_difference() -> None:
    """With three blocks it may take a claim away; only from four on it gives one."""
    apart = paired_ratio([1.0, 1.0, 1.0], [2.0, 2.1, 2.05])
    assert apart.plain
    assert apart.low is not None
    assert apart.low > 1
    assert apart.distinguishable is None
    decided = paired_ratio([1.0] * 4, [2.0, 2.1, 2.05, 2.02])
    assert not decided.plain
    assert decided.distinguishable is True
    assert len(decided.logs) == 4


@pytest.mark.parametrize("blocks", [3, 6])
def test_intervals_cover_the_truth_as_often_as_they_claim(blocks: int) -> None:
    """Of 2,000 simulated studies at least 95 % of intervals hold the true ratio 1.2."""
    draw = random.Random(7)
    held = 0
    for _ in range(2000):
        a = [100 * math.exp(draw.gauss(0, 0.05)) for _ in range(blocks)]
        b = [120 * math.exp(draw.gauss(0, 0.05)) for _ in range(blocks)]
        effect = paired_ratio(a, b)
        assert effect.low is not None
        assert effect.high is not None
        held += effect.low <= 1.2 <= effect.high
    assert held / 2000 > 0.94
