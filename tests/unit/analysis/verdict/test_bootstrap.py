"""The interval that draws the blocks anew."""

import random

import pytest

from stithy.analysis.verdict.bootstrap import bootstrap_interval


def test_with_many_blocks_it_is_that_of_the_normal_law() -> None:
    """1.96 standard errors to both sides."""
    draw = random.Random(2)
    logs = [draw.gauss(0.2, 0.1) for _ in range(200)]
    low, high = bootstrap_interval(logs, 1) or (0, 0)
    assert high - low == pytest.approx(2 * 1.96 * 0.1 / 200**0.5, rel=0.1)
    assert low < 0.2 < high


def test_the_seed_decides_the_draws() -> None:
    """Equal seeds give equal bounds, others nearly."""
    logs = [0.1, 0.31, 0.2, 0.254, 0.17, 0.28, 0.03, 0.221]
    first, other = bootstrap_interval(logs, 1), bootstrap_interval(logs, 2)
    assert first == bootstrap_interval(logs, 1)
    assert first != other
    assert first == pytest.approx(other, abs=0.02)


def test_a_single_block_has_none() -> None:
    """Drawn anew it is always itself."""
    assert bootstrap_interval([0.1], 1) is None
