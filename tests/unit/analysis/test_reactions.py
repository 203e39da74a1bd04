"""Onset and settling: by hand, and in simulated seconds with chance in them."""

import random
from statistics import fmean, median

import pytest

from stithy.scenarios.noisy_neighbour.reactions import (
    Felt,
    Moments,
    Reaction,
    find_reaction,
    summarise_reactions,
)

AT = [float(each) for each in range(100, 120)]


def _kept(low: range) -> list[float]:
    """Twenty seconds, of which these are disturbed."""
    return [0.5 if n in low else 1.0 for n in range(20)]


def test_onset_is_from_the_begin_of_the_cycle_and_settling_from_its_end() -> None:
    """A cycle from 104.3 to 110: felt from 106 to 112, to the second."""
    found = find_reaction(AT, _kept(range(6, 13)), 104.3, 110.0, 120.0)
    assert found == Reaction(onset_s=2.0, settling_s=3.0)


def test_what_is_felt_in_the_very_second_of_the_begin_has_an_onset_of_nothing() -> None:
    """And who is undisturbed when the cycle ends has settled."""
    assert find_reaction(AT, _kept(range(4, 10)), 104.5, 110.0, 120.0) == Reaction(0.0, 0.0)


def test_one_bad_second_is_chance_and_no_onset() -> None:
    """Three in a row are none; and who never felt it need not settle."""
    assert find_reaction(AT, _kept(range(6, 8)), 104.0, 110.0, 120.0) == Reaction(None, None)


def test_who_has_not_settled_before_the_next_cycle_has_no_settling_time() -> None:
    """It is not known, which is no time of nothing."""
    assert find_reaction(AT, _kept(range(5, 15)), 104.0, 110.0, 114.0) == Reaction(1.0, None)
    assert find_reaction(AT, _kept(range(0)), 200.0, 210.0, 220.0) is None


def test_cycles_at_once_are_one_disturbance_and_one_that_began_before_is_none() -> None:
    """Two databases whose cycles overlap begin once and end once. Nobody saw the other begin."""
    moments = Moments(AT, [(104.0, 108.0), (106.0, 110.0)])
    assert list(moments.list_reactions(_kept(range(5, 12)))) == [Reaction(1.0, 2.0)]
    assert moments.worked == tuple(4 <= n < 10 for n in range(20))
    always = Moments(AT, [(90.0, 130.0)])
    assert list(always.list_reactions(_kept(range(5, 12)))) == []
    assert always.worked == (True,) * 20
    assert Moments(AT).worked is None


def test_cycles_between_which_nobody_can_be_seen_to_settle_are_one_disturbance() -> None:
    """Cycles that follow at once leave a gap of milliseconds, and of seconds for cleaning up."""
    gaps = Moments(AT, [(104.0, 107.0), (107.001, 109.0), (111.9, 114.0)])
    assert list(gaps.list_reactions(_kept(range(5, 15)))) == [Reaction(1.0, 1.0)]
    apart = Moments(AT, [(104.0, 107.0), (110.0, 114.0)])
    assert list(apart.list_reactions(_kept(range(4, 15)))) == [
        Reaction(0.0, None),
        Reaction(0.0, 1.0),
    ]


@pytest.mark.parametrize(("begin", "onset"), [(90.0, None), (99.5, 2.0), (100.4, 1.0)])
def test_work_from_the_first_second_to_the_last_has_no_onset(
    begin: float, onset: float | None
) -> None:
    """Neither does it count as a cycle; what ends before has one if its begin was seen."""
    spans = [(begin, 105.0), (105.001, 112.0), (112.002, 120.5)]
    assert list(Moments(AT, spans).list_reactions(_kept(range(1, 20)))) == []
    seen = [] if onset is None else [Reaction(onset, None)]
    assert list(Moments(AT, spans[:2]).list_reactions(_kept(range(1, 20)))) == seen


def test_medians_are_of_cycles_that_were_felt() -> None:
    """Of four cycles three were felt, and of two the recovery was seen."""
    every = [Reaction(1.0, 2.0), Reaction(2.0, 4.0), Reaction(6.0, None), Reaction(None, None)]
    assert summarise_reactions(every) == Felt(4, 3, 2.0, 3.0)
    assert summarise_reactions([]) is None


def _seconds(draw: random.Random, levels: list[float]) -> list[float]:
    """Shares of the mean of 150 transactions a second that come by chance."""
    return [draw.gauss(150 * each, (150 * each) ** 0.5) / 150 for each in levels]


def test_by_chance_few_undisturbed_cycles_look_felt() -> None:
    """Of 1000 cycles of 10 s that nobody feels less than 2 %."""
    draw = random.Random(1)
    runs = [find_reaction(AT, _seconds(draw, [1.0] * 20), 104.0, 114.0, 120.0) for _ in range(1000)]
    assert sum(each is not None and each.onset_s is not None for each in runs) < 20


@pytest.mark.parametrize(("onset", "settling"), [(0, 0), (2, 1), (3, 2)])
def test_a_true_onset_and_settling_are_found_within_a_second(onset: int, settling: int) -> None:
    """Tenants that lose four tenths: medians of 300 cycles, and nearly all are felt."""
    draw = random.Random(2)
    low = range(4 + onset, 12 + settling)
    levels = [0.6 if n in low else 1.0 for n in range(20)]
    runs = [find_reaction(AT, _seconds(draw, levels), 104.0, 112.0, 120.0) for _ in range(300)]
    onsets = [each.onset_s for each in runs if each and each.onset_s is not None]
    settled = [each.settling_s for each in runs if each and each.settling_s is not None]
    assert len(onsets) > 295
    assert median(onsets) == onset
    assert median(settled) == settling
    # Chance breaks a row now and then, which lengthens the mean and never the median.
    assert fmean(settled) < settling + 1.5
