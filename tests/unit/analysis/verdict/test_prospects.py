"""How likely each answer is before a study runs."""

import time

import pytest

from stithy.analysis.verdict.decide import Call
from stithy.analysis.verdict.prospects import STUDIES, margin_needed, prospects


def test_six_blocks_at_two_per_cent_can_hardly_end_with_equivalent() -> None:
    """2.3 % of equal studies; with up to 20 blocks it is 59 %, and a margin of 6 % mends six."""
    [six] = prospects([1.0], 0.02, 0.02, 6, studies=2000)
    [twenty] = prospects([1.0], 0.02, 0.02, 20, studies=2000)
    assert six.shares[Call.EQUIVALENT] == pytest.approx(0.023, abs=0.012)
    assert twenty.shares[Call.EQUIVALENT] == pytest.approx(0.59, abs=0.04)
    margin = margin_needed(0.02, 6)
    assert margin == pytest.approx(0.06, abs=0.006)
    [mended] = prospects([1.0], 0.02, margin or 0.0, 6, studies=2000)
    assert mended.shares[Call.EQUIVALENT] > 0.75


def test_the_shares_are_those_of_the_bench_and_of_one_whole() -> None:
    """A ratio of 1.05 at 2 % noise takes about six blocks and is always found."""
    [found] = prospects([1.05], 0.02, 0.02, 20)
    assert found.shares[Call.BETTER] > 0.99
    assert found.blocks_mean == pytest.approx(5.92, abs=0.3)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert found.different_share == 1 - found.shares[Call.EQUIVALENT] - found.shares[Call.UNDECIDED]


def test_the_same_seed_gives_the_same_answer_within_a_second() -> None:
    """Three ratios, the longest studies there are."""
    began_s = time.process_time()
    first = prospects([1.0, 1.02, 1.04], 0.03, 0.02, 20, seed=3)
    assert time.process_time() - began_s < 1.0
    assert first == prospects([1.0, 1.02, 1.04], 0.03, 0.02, 20, seed=3, studies=STUDIES)
    assert first != prospects([1.0, 1.02, 1.04], 0.03, 0.02, 20, seed=4)


def test_a_fixed_number_of_blocks_is_judged_once_and_too_few_never() -> None:
    """Three blocks decide nothing, whatever they show; six are looked at after all six."""
    [three] = prospects([2.0], 0.01, 0.02, 3, fixed=True)
    assert three.shares[Call.UNDECIDED] == 1.0
    [six] = prospects([2.0], 0.01, 0.02, 6, fixed=True)
    assert (six.shares[Call.BETTER], six.blocks_mean) == (1.0, 6.0)
    assert margin_needed(0.02, 3) is None


def test_a_pair_chosen_among_several_is_claimed_less_often() -> None:
    """As the verdict has it."""
    [alone] = prospects([1.05], 0.04, 0.02, 8)
    [chosen] = prospects([1.05], 0.04, 0.02, 8, among=6)
    assert chosen.different_share < alone.different_share
