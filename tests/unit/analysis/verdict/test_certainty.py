"""Cross-checks beside a verdict."""

import pytest

from stithy.analysis.verdict.boundaries import CAUTION
from stithy.analysis.verdict.certainty import certainty


def test_a_clear_comparison_has_every_cross_check() -> None:
    """The bootstrap holds the mean ratio; nothing is left to forecast."""
    checks = certainty([0.69, 0.70, 0.68, 0.695], seed=1, decided=True)
    assert checks.sign_flip_share == 2 / 16
    assert checks.widened == CAUTION
    assert checks.low is not None
    assert checks.high is not None
    assert checks.low < 2.0 < checks.high
    assert checks.lag_1 is not None
    assert checks.blocks_needed is None


def test_an_undecided_one_has_a_forecast() -> None:
    """At the spread so far the next look would decide."""
    assert certainty([0.05, 0.09, 0.03, 0.07], seed=1).blocks_needed == 6


def test_a_few_blocks_tell_what_they_can_and_one_tells_nothing() -> None:
    """Missing is None, never 0."""
    two = certainty([0.1, 0.2], seed=1)
    assert (two.lag_1, two.widened) == (None, None)
    assert two.sign_flip_share == 0.5
    assert two.low == pytest.approx(1.105, abs=1e-3)
    one = certainty([0.1], seed=1)
    assert (one.sign_flip_share, one.low, one.high, one.blocks_needed) == (None, None, None, None)


def test_the_seed_of_the_study_decides_the_draws() -> None:
    """Two reports of the same results are equal."""
    logs = [0.1, 0.31, 0.2, 0.254, 0.17]
    assert certainty(logs, seed=3) == certainty(logs, seed=3)
