"""How often simulated studies are right, and what a study can expect."""

import time

import pytest

from simulated_studies import NOISES, OTHERS, Noise, Truth, Where, gaussian, signs_of, tally
from stithy.analysis.verdict.decide import Call
from stithy.analysis.verdict.prospects import STUDIES, margin_needed, prospects
from stithy.plan.order import blocks


@pytest.mark.parametrize(
    "where", [Where.BALANCED, Where.CANDIDATE], ids=["in-time", "in-a-candidate"]
)
@pytest.mark.parametrize(
    ("noise", "allowed_share"),
    [(noise, 0.07 if "AR" in name or "skew" in name else 0.055) for name, noise in NOISES.items()],
    ids=list(NOISES),
)
def test_a_difference_is_claimed_where_there_is_none_no_oftener_than_allowed(
    noise: Noise, allowed_share: float, where: Where
) -> None:
    """Also where the noise is correlated or one-sided, and no order of the candidates helps."""
    assert tally(noise, Truth(), where).different_share <= allowed_share


def test_a_difference_of_five_per_cent_takes_six_blocks_at_most_on_average() -> None:
    """At a noise of 2 % of the block's ratio; it is always found, and with its sign."""
    found = tally(gaussian, Truth(1.05, 0.02), Where.CANDIDATE)
    assert found.blocks_mean <= 6.0
    assert found.share(Call.BETTER) > 0.999


def test_what_is_equal_is_never_called_better_by_little_noise() -> None:
    """At a noise of 1 % nearly every study ends with equivalent, and few blocks."""
    found = tally(gaussian, Truth(1.0, 0.01), Where.BALANCED, studies=2000)
    assert found.share(Call.EQUIVALENT) > 0.97
    assert found.blocks_mean < 9


@pytest.mark.parametrize(
    "truth",
    [Truth(noise_share=0.005, position_share=0.03), Truth(noise_share=0.005, drift_share=0.2)],
    ids=["second-window-3-percent-faster", "drift-of-20-percent"],
)
@pytest.mark.parametrize("noise", [*NOISES.values(), OTHERS["AR(1) 0.5"]], ids=[*NOISES, "AR 0.5"])
def test_a_place_or_a_drift_makes_no_difference_of_equals(noise: Noise, truth: Truth) -> None:
    """Not by the plan's orders; coins give one of eight seeds a better place for four blocks."""
    assert tally(noise, truth, Where.BALANCED, studies=500).different_share <= 0.01
    if truth.position_share:
        assert tally(noise, truth, Where.COINS, studies=500).different_share > 0.07


def test_the_order_of_simulated_studies_is_that_of_plans() -> None:
    """Each candidate comes first in every second block, in no fixed pattern."""
    assert all(sum(signs_of(seed)) == 0 for seed in range(200))
    assert len({signs_of(seed) for seed in range(200)}) > 150
    [block, *_] = blocks("ab", [(8, 1)], 3)
    assert signs_of(3)[0] == (1 if block.candidates[1] == "b" else -1)


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
