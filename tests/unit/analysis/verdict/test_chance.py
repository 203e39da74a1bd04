"""How often chance alone gives as much, and what that means among several comparisons."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.boundaries import CAUTION, critical
from stithy.analysis.verdict.chance import DRAWS, holm, repeated_chance, sign_flip_chance

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


def test_many_blocks_are_drawn_from_the_seed() -> None:
    """Beyond 32 the same seed gives the same share, near the exact one: a block of 0 adds none."""
    draw = random.Random(3)
    logs = [*(draw.gauss(0.03, 0.1) for _ in range(32)), 0.0]
    share = sign_flip_chance(logs, 5)
    assert share == sign_flip_chance(logs, 5)
    assert share is not None
    exact = sign_flip_chance(logs[:32], 5)
    assert exact is not None
    assert share >= 1 / (DRAWS + 1)
    assert share == pytest.approx(exact, abs=0.015)


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
