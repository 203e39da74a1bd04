"""The verdict that follows from an interval, when it is looked for, and its history."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.decide import (
    DIFFERENT,
    Call,
    Next,
    decide,
    decided_from,
    farthest_pair,
    forecast,
    interim_history,
    next_step,
    pairs_among,
)
from stithy.analysis.verdict.statistics import INTERIM_BLOCKS, interval, t_beyond


def test_the_ends_are_the_pair_least_first() -> None:
    """Whatever their order; one candidate has no pair."""
    assert farthest_pair({"b": 2.0, "a": 3.0, "c": 1.0}) == ("c", "a")
    assert farthest_pair({"a": 1.0}) is None
    assert farthest_pair({}) is None


def test_the_order_of_the_study_decides_between_equals() -> None:
    """Equal results give equal sentences."""
    assert farthest_pair({"b": 1.0, "a": 1.0}) == ("b", "a")


def test_pairs_are_counted() -> None:
    """Two candidates have one, four have six; nobody chooses from none."""
    assert [pairs_among(count) for count in (0, 1, 2, 3, 4)] == [1, 1, 1, 3, 6]


def _around(mean: float, spread: float, blocks: int) -> list[float]:
    """Log ratios around the ratio `mean`, up and down in turns."""
    return [math.log(mean) + (spread if n % 2 else -spread) for n in range(blocks)]


@pytest.mark.parametrize(
    ("ratio", "spread", "call"),
    [
        (1.5, 0.02, Call.BETTER),
        (0.7, 0.02, Call.WORSE),
        (1.001, 0.005, Call.EQUIVALENT),
        (1.01, 0.002, Call.NEGLIGIBLE),
        (0.99, 0.002, Call.NEGLIGIBLE),
        (1.02, 0.02, Call.UNDECIDED),
        (1.0, 0.1, Call.UNDECIDED),
    ],
)
def test_the_call_follows_from_where_the_interval_lies(
    ratio: float, spread: float, call: Call
) -> None:
    """Beyond 1, within the margin of 2 %, both, or neither."""
    verdict = decide(_around(ratio, spread, 10))
    assert (verdict.call, verdict.blocks, verdict.margin_share) == (call, 10, 0.02)
    assert verdict.decided == (call is not Call.UNDECIDED)
    assert (verdict.because is None) == verdict.decided


def test_what_should_be_small_is_better_when_it_is_less() -> None:
    """A response time of half is better, not worse."""
    assert decide(_around(0.5, 0.02, 4), better="lower").call is Call.BETTER
    assert decide(_around(2.0, 0.02, 4), better="lower").call is Call.WORSE


@pytest.mark.parametrize("blocks", [0, 1, 2, 3])
def test_fewer_than_four_blocks_are_undecided_whatever_they_show(blocks: int) -> None:
    """And the reason says how many there are."""
    verdict = decide(_around(3.0, 0.001, blocks))
    told = {0: "no block", 1: "1 block"}.get(blocks, f"{blocks} blocks")
    assert verdict.call is Call.UNDECIDED
    assert verdict.because == f"{told}, at least 4 are needed"


def test_a_wider_margin_calls_more_equivalent() -> None:
    """The margin is the study's to say."""
    logs = _around(1.02, 0.03, 8)
    assert decide(logs).call is Call.UNDECIDED
    assert decide(logs, 0.10).call is Call.EQUIVALENT


def test_the_largest_of_many_differences_must_be_larger() -> None:
    """One chosen after all were seen is rarer than it looks; what is alike stays so."""
    logs = _around(1.05, 0.0175, 6)
    assert decide(logs).call is Call.BETTER
    verdict = decide(logs, among=15)
    assert verdict.call is Call.UNDECIDED
    assert verdict.because == "the difference is too small for one chosen among 15"
    assert decide(_around(1.5, 0.01, 6), among=15).call is Call.BETTER
    assert decide(_around(1.001, 0.005, 10), among=15).call is Call.EQUIVALENT


@given(st.lists(st.floats(min_value=-1, max_value=1), min_size=4, max_size=20))
def test_no_verdict_contradicts_its_interval(logs: list[float]) -> None:
    """A difference is claimed exactly where the interval excludes 1."""
    known, call = interval(logs), decide(logs).call
    assert known is not None
    excluded = known.low > 0 or known.high < 0
    assert (call in (Call.BETTER, Call.WORSE, Call.NEGLIGIBLE)) == excluded
    assert decide([-d for d in logs]).call is {
        Call.BETTER: Call.WORSE, Call.WORSE: Call.BETTER,
    }.get(call, call)  # fmt: skip


def test_a_difference_within_the_margin_that_is_not_borne_is_equivalence() -> None:
    """The interval tells that, whatever the pair was chosen from; no difference is claimed."""
    logs = _around(1.01, 0.004, 6)
    assert decide(logs).call is Call.NEGLIGIBLE
    chosen = decide(logs, among=45)
    assert (chosen.call, chosen.because) == (Call.EQUIVALENT, None)
    large = decide([5 * each for each in logs], among=45)
    assert large.call is Call.UNDECIDED
    assert large.because == "the difference is too small for one chosen among 45"


CLEAR = [0.69, 0.70, 0.68, 0.69, 0.70, 0.71]
"""A ratio of two with hardly any noise."""


def test_a_clear_difference_is_decided_at_the_first_look() -> None:
    """Three blocks are too few, the fourth decides."""
    steps = [next_step(CLEAR[:count]).step for count in range(5)]
    assert steps == [Next.ANOTHER_BLOCK] * 4 + [Next.DECIDED]
    assert next_step(CLEAR[:4]).verdict.call is Call.BETTER
    assert next_step(CLEAR[:4], better="lower").verdict.call is Call.WORSE


def test_between_looks_nothing_is_decided() -> None:
    """Each look more is a chance more to be misled."""
    assert next_step(CLEAR[:5]).step is Next.ANOTHER_BLOCK
    assert next_step(CLEAR[:6]).step is Next.DECIDED


def test_at_the_limit_there_is_a_last_look_wherever_it_lies() -> None:
    """A study of five blocks at most is decided at five, or not at all."""
    assert next_step(CLEAR[:5], limit=5).step is Next.DECIDED
    noisy = [0.5, -0.4, 0.3, -0.6, 0.2]
    assert next_step(noisy, limit=5).step is Next.LIMIT_REACHED
    assert next_step(CLEAR[:2], limit=2).step is Next.LIMIT_REACHED
    assert next_step(CLEAR[:2], limit=2).verdict.because == "2 blocks, at least 4 are needed"


@given(st.lists(st.floats(min_value=-1, max_value=1), max_size=24))
def test_only_looks_and_the_limit_end_a_study(logs: list[float]) -> None:
    """The simulation of whole studies asks at the looks alone; this is why it may."""
    step = next_step(logs).step
    if len(logs) < 20 and len(logs) not in INTERIM_BLOCKS:
        assert step is Next.ANOTHER_BLOCK
    if len(logs) >= 20:
        assert step is not Next.ANOTHER_BLOCK


def test_the_forecast_is_the_look_that_would_decide() -> None:
    """From the spread so far: small noise soon, large noise never."""
    assert forecast([0.05, 0.06, 0.055]) == 4
    assert forecast([0.05, 0.09, 0.03, 0.07]) == 6
    assert forecast([0.5, -0.5, 0.4, -0.4]) is None
    assert forecast([0.001, -0.001, 0.002]) == 4
    assert forecast([0.1]) is None


def test_the_forecast_is_as_cautious_as_the_verdict() -> None:
    """Eight blocks would do if the interval were not widened, as that of a verdict is."""
    assert forecast([0.0, 0.1, 0.02, 0.08, 0.04, 0.06]) == 10


@pytest.mark.parametrize("limit", [5, 9, 20])
def test_the_forecast_keeps_to_the_limit(limit: int) -> None:
    """What the study may not measure is not promised."""
    draw = random.Random(4)
    for _ in range(50):
        needed = forecast([draw.gauss(0.03, 0.03) for _ in range(4)], limit=limit)
        assert needed is None or 4 < needed <= limit


def blocks(mean: float, spread: float, count: int, seed: int = 1) -> list[float]:
    """Log ratios of so many blocks."""
    draw = random.Random(seed)
    return [draw.gauss(mean, spread) for _ in range(count)]


@pytest.mark.parametrize("among", [1, 3, 45])
def test_beyond_the_boundary_is_where_a_difference_is_claimed(among: int) -> None:
    """At every look of studies with differences of all sizes, for chosen pairs too."""
    seen = set()
    for seed in range(300):
        for stage in interim_history(blocks(seed / 2000, 0.05, 20, seed), among=among):
            if stage.boundary is not None:
                beyond = abs(stage.mean) > stage.boundary
                assert beyond is (stage.verdict.call in DIFFERENT)
                seen.add(beyond)
    assert seen == {True, False}


def test_the_boundary_of_a_chosen_pair_is_where_chance_is_rarer_by_their_number() -> None:
    """Five of a hundred, shared by the looks so far and the pairs."""
    logs = blocks(0.1, 0.05, 8)
    stage = interim_history(logs, among=10)[-1]
    known = interval(logs)
    assert known is not None
    assert stage.boundary is not None
    t = stage.boundary / (known.widened * known.error)
    assert t_beyond(t, 7) * 3 * 10 == pytest.approx(0.05)


def test_it_is_decided_from_the_first_look_after_which_all_said_the_same() -> None:
    """What was said for a while and given up again does not count."""
    steady = interim_history([0.10, 0.11, 0.10, 0.11, 0.10, 0.11, 0.10, 0.11])
    found = decided_from(steady)
    assert found is not None
    assert (found.blocks, found.verdict.call) == (4, Call.BETTER)
    given_up = interim_history([0.10, 0.11, 0.10, 0.11, -0.8, 0.9])
    assert given_up[3].verdict.decided
    assert decided_from(given_up) is None


def test_blocks_without_any_spread_have_a_boundary_of_nothing() -> None:
    """Equal blocks differ by their ratio, however small."""
    stage = interim_history([math.log(1.1)] * 4)[-1]
    assert stage.boundary == pytest.approx(0.0, abs=1e-12)
    assert stage.verdict.call is Call.BETTER
    assert INTERIM_BLOCKS[0] == stage.blocks
