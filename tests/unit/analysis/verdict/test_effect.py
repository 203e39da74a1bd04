"""The effect of one candidate against another, and that of the place in a block."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulated_studies import signs_of
from stithy.analysis.verdict.effect import no_effect, paired_ratio, position_effect

RATES = st.floats(min_value=1e-3, max_value=1e9)
PAIRS = st.lists(st.tuples(RATES, RATES), min_size=1, max_size=12)


def test_one_pair_gives_a_ratio_and_no_interval() -> None:
    """With one window each nothing is known of the spread."""
    effect = paired_ratio([100.0], [250.0])
    assert effect.ratio == pytest.approx(2.5)
    assert (effect.low, effect.high, effect.pairs) == (None, None, 1)
    assert effect.distinguishable is None


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


def test_a_known_small_case_gives_the_interval_computed_by_hand() -> None:
    """Means 0.13 and 0.07: half their difference is 0.03; squares 2 × 0.0002, t(2) = 4.3027."""
    found = position_effect([0.12, 0.06, 0.08, 0.14], [True, False, False, True])
    error = math.sqrt(0.0004 / 2 * (1 / 2 + 1 / 2)) / 2
    assert found.ratio == pytest.approx(math.exp(0.03))
    assert found.low == pytest.approx(math.exp(0.03 - 4.302653 * error), rel=1e-6)
    assert found.high == pytest.approx(math.exp(0.03 + 4.302653 * error), rel=1e-6)
    assert (found.visible, found.a_first, found.balanced) == (False, 2, True)


@pytest.mark.parametrize(
    "b_later", [[], [True, True], [True, False], [True, True, True, False], [False] * 8]
)
def test_without_two_blocks_of_each_order_nothing_is_said(b_later: list[bool]) -> None:
    """One block of an order has no spread; without one the place and the candidate are one."""
    found = position_effect([0.1] * len(b_later), b_later)
    assert (found.ratio, found.low, found.high, found.visible) == (None, None, None, None)
    assert found.balanced == (2 * sum(b_later) == len(b_later))


@pytest.mark.parametrize("blocks", [4, 8])
def test_the_interval_holds_the_truth_in_95_of_100_studies_and_finds_three_per_cent(
    blocks: int,
) -> None:
    """However much better a candidate is, and in the orders that the planner makes."""
    draw, held, seen, studies = random.Random(5), 0, 0, 2000
    for seed in range(studies):
        signs = signs_of(seed)[:blocks]
        logs = [0.2 + sign * math.log(1.03) + draw.gauss(0, 0.005) for sign in signs]
        found = position_effect(logs, [sign > 0 for sign in signs])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.03 <= found.high
        seen += found.visible is True
    assert held / studies == pytest.approx(0.95, abs=0.016)
    assert seen / studies > (0.95 if blocks > 4 else 0.85)
