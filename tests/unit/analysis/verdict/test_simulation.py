"""The proof of the verdicts: how often they are wrong, and how many blocks they take.

20,000 studies each, by the functions that judge a real one; `benches/verdicts.py` prints more.
"""

import pytest

from simulated_studies import NOISES, OTHERS, Noise, Truth, Where, gaussian, signs_of, tally
from stithy.analysis.verdict.decide import Call
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
