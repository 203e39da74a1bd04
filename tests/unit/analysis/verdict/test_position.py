"""What the place in a block does, told from what the candidates do."""

import math
import random

import pytest

from simulated_studies import signs_of
from stithy.analysis.verdict.position import position_effect


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
