"""The proof of the verdicts: how often they are wrong, and how many blocks they take.

20,000 studies each, by the functions that judge a real one; `benches/verdicts.py` prints more.
"""

import pytest

from simulated_studies import NOISES, Noise, Truth, gaussian, signs_of, tally
from stithy.analysis.verdict.decide import Call


@pytest.mark.parametrize("in_time", [True, False], ids=["in-time", "in-a-candidate"])
@pytest.mark.parametrize(
    ("noise", "allowed_share"),
    [(noise, 0.07 if "AR" in name or "skew" in name else 0.055) for name, noise in NOISES.items()],
    ids=list(NOISES),
)
def test_a_difference_is_claimed_where_there_is_none_no_oftener_than_allowed(
    noise: Noise, allowed_share: float, in_time: bool
) -> None:
    """Also where the noise is correlated or one-sided, and no order of the candidates helps."""
    assert tally(noise, Truth(), in_time=in_time).different_share <= allowed_share


def test_a_difference_of_five_per_cent_takes_six_blocks_at_most_on_average() -> None:
    """At a noise of 2 % of the block's ratio; it is always found, and with its sign."""
    found = tally(gaussian, Truth(1.05, 0.02), in_time=False)
    assert found.blocks_mean <= 6.0
    assert found.share(Call.BETTER) > 0.999


def test_what_is_equal_is_never_called_better_by_little_noise() -> None:
    """At a noise of 1 % nearly every study ends with equivalent, and few blocks."""
    found = tally(gaussian, Truth(1.0, 0.01), in_time=True, studies=2000)
    assert found.share(Call.EQUIVALENT) > 0.97
    assert found.blocks_mean < 9


def test_the_order_of_simulated_studies_is_that_of_plans() -> None:
    """Either candidate comes first about as often, in no fixed pattern."""
    signs = [sign for seed in range(200) for sign in signs_of(seed)]
    assert abs(sum(signs)) / len(signs) < 0.05
    assert len({tuple(signs_of(seed)) for seed in range(200)}) == 200
