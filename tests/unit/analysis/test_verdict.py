"""Boundaries, intervals and verdicts: cases worked out by hand, properties, simulated studies."""

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulated_studies import NOISES, Truth, Where, tally
from stithy.analysis.verdict import statistics
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
)
from stithy.analysis.verdict.effect import no_effect, paired_ratio
from stithy.analysis.verdict.prospects import margin_needed, prospects
from stithy.analysis.verdict.statistics import CAUTION, critical, interval

T_2 = 4.302652730
"""Two-sided 5 % point of Student's t with 2 degrees of freedom, from a printed table."""

BOUNDARIES = {4: 5.54, 6: 3.80, 8: 3.35, 10: 3.11, 12: 3.00, 16: 2.84, 20: 2.77}


def _around(mean: float, spread: float, count: int) -> list[float]:
    """Log ratios around the ratio `mean`, up and down in turns."""
    return [math.log(mean) + (spread if n % 2 else -spread) for n in range(count)]


@pytest.mark.parametrize("count", range(4, 41))
def test_between_two_looks_the_stricter_boundary_holds(count: int) -> None:
    """A study that lost a block is judged no more easily; looks count from the first one on."""
    looks = [each for each in BOUNDARIES if each <= count]
    assert critical(count) == BOUNDARIES[looks[-1]]
    assert statistics.analyses_until(count) == len(looks)
    with pytest.raises(ValueError, match="at least 4"):
        critical(3)


def test_intervals_are_those_worked_out_by_hand() -> None:
    """Plain with three values, of the boundaries with four; a rate is never below 0."""
    low, high = statistics.mean_interval([10.0, 11.0, 12.0])
    assert (low, high) == pytest.approx((11 - T_2 / 3**0.5, 11 + T_2 / 3**0.5))
    assert statistics.mean_interval([1.0, 100.0])[0] == 0.0
    low, high = statistics.factor_interval([1.0, 2.0, 4.0])
    factor = math.exp(T_2 * math.log(2) / math.sqrt(3))
    assert (low, high) == pytest.approx((2 / factor, 2 * factor))
    for of in (statistics.mean_interval, statistics.factor_interval):
        with pytest.raises(ValueError, match="two values"):
            of([1.0])
    three, four = interval([0.1, 0.2, 0.3]), interval(_around(1.0, 0.1, 4))
    assert three is not None
    assert four is not None
    assert (three.decides, four.decides) == (False, True)
    assert three.high == pytest.approx(0.2 + T_2 * 0.1 / 3**0.5)
    assert four.high == pytest.approx(5.54 * CAUTION * 0.1 * math.sqrt(4 / 3) / 2)
    assert four.low == pytest.approx(-four.high)
    assert interval([0.1]) is None


def test_a_large_correlation_widens_the_interval_and_a_small_one_does_not() -> None:
    """By the factor of an AR(1) mean, at most twice; from few blocks it is not believed."""
    rising, mild = [0.01 * n for n in range(12)], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0]
    assert (statistics.lag_1([1.0, -1.0] * 5) or 0) < -0.8
    assert statistics.lag_1([2.0] * 5) is statistics.lag_1([1.0, 2.0]) is None
    assert statistics.widening(rising) == pytest.approx(math.sqrt((1 + 0.6) / (1 - 0.6)))
    assert statistics.widening(rising[:7]) == statistics.widening([0.1, -0.1] * 6) == CAUTION
    seen = statistics.lag_1(mild) or 0.0
    assert 0.26 < seen < 0.6
    assert CAUTION < statistics.widening(mild) == pytest.approx(math.sqrt((1 + seen) / (1 - seen)))


def test_chances_are_those_of_coins_of_the_boundary_and_of_the_textbook() -> None:
    """All of one sign: 2 of 2ⁿ. At a boundary its level times the looks. Holm's example."""
    assert statistics.sign_flip_chance([0.1 + 0.01 * n for n in range(19)], 1) == 2 / 2**19
    assert statistics.sign_flip_chance([0.5] * 40, 1) == pytest.approx(1 / 20_001)
    spread, at = math.sqrt(5 / 6), critical(6) * CAUTION / math.sqrt(6)
    logs = [at + (spread if n % 2 else -spread) for n in range(6)]
    assert statistics.repeated_chance(logs) == pytest.approx(0.0236, rel=0.1)
    edges = ([0.1, 0.2, 0.3], [0.2] * 4, [0.0] * 4)
    assert [statistics.repeated_chance(each) for each in edges] == [None, 0.0, 1.0]
    assert statistics.holm([0.01, 0.04, 0.03, 0.9]) == pytest.approx((0.04, 0.09, 0.09, 0.9))


def test_an_effect_is_a_ratio_with_an_interval_or_a_reason() -> None:
    """One pair has no interval; a plain interval takes a claim away and gives none."""
    one = paired_ratio([100.0], [250.0])
    assert one.ratio == pytest.approx(2.5)
    assert (one.low, one.high, one.pairs) == (None, None, 1)
    for nothing in (paired_ratio([], []), paired_ratio([1.0], [0.0]), no_effect("why not")):
        assert nothing.ratio is None
        assert nothing.missing_because
    with pytest.raises(ValueError, match="pair"):
        paired_ratio([1.0, 2.0], [1.0])
    apart, near, four = [2.0, 2.1, 2.05], [0.5, 2.1, 1.05], [2.0, 2.1, 2.05, 2.02]
    told = [paired_ratio([1.0] * len(b), b).distinguishable for b in ([2.5], apart, near, four)]
    assert told == [None, None, False, True]


SMALL = "the difference is too small for a pair chosen among 15"


@pytest.mark.parametrize(("logs", "options", "call", "because"), [
    (_around(1.5, 0.02, 10), {}, Call.BETTER, None),
    (_around(0.7, 0.02, 10), {}, Call.WORSE, None),
    (_around(0.7, 0.02, 10), {"better": "lower"}, Call.BETTER, None),
    (_around(1.5, 0.02, 10), {"better": "lower"}, Call.WORSE, None),
    (_around(1.5, 0.02, 10), {"better": None}, Call.HIGHER, None),
    (_around(0.7, 0.02, 10), {"better": None}, Call.LOWER, None),
    (_around(1.001, 0.005, 10), {}, Call.EQUIVALENT, None),
    (_around(1.01, 0.002, 10), {}, Call.NEGLIGIBLE, None),
    (_around(0.99, 0.002, 10), {}, Call.NEGLIGIBLE, None),
    (_around(1.02, 0.02, 10), {}, Call.UNDECIDED,
     "the interval contains both 1 and differences beyond the margin"),
    (_around(1.02, 0.03, 8), {"margin_share": 0.10}, Call.EQUIVALENT, None),
    # From 0.9803 to 1.0201: the margin of 2 % ends at ln 1.02, and not at 0.02.
    (_around(1.0, 0.01477, 10), {}, Call.UNDECIDED,
     "the interval contains both 1 and differences beyond the margin"),
    ([], {}, Call.UNDECIDED, "no block, at least 4 are needed"),
    (_around(3.0, 0.001, 1), {}, Call.UNDECIDED, "1 block, at least 4 are needed"),
    (_around(3.0, 0.001, 3), {}, Call.UNDECIDED, "3 blocks, at least 4 are needed"),
    (_around(1.05, 0.0175, 6), {}, Call.BETTER, None),
    (_around(1.05, 0.0175, 6), {"among": 15}, Call.UNDECIDED, SMALL),
    (_around(1.5, 0.01, 6), {"among": 15}, Call.BETTER, None),
    (_around(1.001, 0.005, 10), {"among": 15}, Call.EQUIVALENT, None),
    (_around(1.01, 0.004, 6), {"among": 45}, Call.EQUIVALENT, None),
    (_around(1.5, 0.02, 4), {"b_later": (True, False, False, True)}, Call.BETTER, None),
    (_around(1.5, 0.02, 4), {"b_later": (True,) * 4}, Call.UNDECIDED,
     "every valid block has the same order of candidates, which may cause the difference; "
     "measure more blocks"),
])  # fmt: skip
def test_the_call_follows_from_where_the_interval_lies(
    logs: list[float], options: dict[str, object], call: Call, because: str | None
) -> None:
    """Beyond 1, within the margin, both, or neither; of a chosen pair by how rare it is."""
    verdict = decide(logs, **options)  # type: ignore[arg-type]  # options of decide, by their names
    assert (verdict.call, verdict.blocks, verdict.because) == (call, len(logs), because)
    assert verdict.decided == (call is not Call.UNDECIDED)


@given(st.lists(st.floats(min_value=-1, max_value=1), min_size=4, max_size=20))
def test_no_verdict_contradicts_its_interval(logs: list[float]) -> None:
    """A difference is claimed exactly where the interval excludes 1; turned, it is turned."""
    known, call = interval(logs), decide(logs).call
    assert known is not None
    assert (call in DIFFERENT) == (known.low > 0 or known.high < 0)
    turned = {Call.BETTER: Call.WORSE, Call.WORSE: Call.BETTER}
    assert decide([-d for d in logs]).call is turned.get(call, call)


def test_the_pair_is_that_of_the_ends_least_first() -> None:
    """The order of the study decides between equals."""
    assert farthest_pair({"b": 2.0, "a": 3.0, "c": 1.0}) == ("c", "a")
    assert farthest_pair({"b": 1.0, "a": 1.0}) == ("b", "a")
    assert farthest_pair({"a": 1.0}) is None


CLEAR = [0.69, 0.70, 0.68, 0.69, 0.70, 0.71]
"""A ratio of two with hardly any noise."""


def test_a_study_ends_at_looks_and_at_its_limit_alone() -> None:
    """Three blocks are too few, the fourth decides; the limit is a look wherever it lies."""
    steps = [next_step(CLEAR[:count]).step for count in range(7)]
    more, done = Next.ANOTHER_BLOCK, Next.DECIDED
    assert steps == [more, more, more, more, done, more, done]
    assert next_step(CLEAR[:4], better="lower").verdict.call is Call.WORSE
    assert next_step(CLEAR[:5], limit=5).step is Next.DECIDED
    assert next_step([0.5, -0.4, 0.3, -0.6, 0.2], limit=5).step is Next.LIMIT_REACHED
    assert next_step(CLEAR[:2], limit=2).step is Next.LIMIT_REACHED


@pytest.mark.parametrize(("logs", "limit", "needed"), [
    ([0.1], 20, None), ([0.05, 0.06, 0.055], 20, 4), ([0.05, 0.09, 0.03, 0.07], 20, 6),
    ([0.5, -0.5, 0.4, -0.4], 20, None), ([0.001, -0.001, 0.002], 20, 4),
    ([0.0, 0.1, 0.02, 0.08, 0.04, 0.06], 20, 10), ([0.0, 0.1, 0.02, 0.08, 0.04, 0.06], 9, None),
])  # fmt: skip
def test_a_forecast_is_the_deciding_look(logs: list[float], limit: int, needed: int | None) -> None:
    """From the spread so far, as cautiously as the verdict, and never beyond the limit."""
    assert forecast(logs, limit=limit) == needed


@pytest.mark.parametrize("among", [1, 3, 45])
def test_beyond_the_boundary_is_where_a_difference_is_claimed(among: int) -> None:
    """At every look of studies with differences of all sizes, for chosen pairs too."""
    seen = set()
    for seed in range(100):
        draw = random.Random(seed)
        logs = [draw.gauss(seed / 700, 0.05) for _ in range(20)]
        for stage in interim_history(logs, among=among):
            if stage.boundary is not None:
                beyond = abs(stage.mean) > stage.boundary
                assert beyond is (stage.verdict.call in DIFFERENT)
                seen.add(beyond)
    assert seen == {True, False}


def test_it_is_decided_from_the_first_look_after_which_all_said_the_same() -> None:
    """What was said for a while and given up again does not count."""
    found = decided_from(interim_history([0.10, 0.11] * 4))
    assert found is not None
    assert (found.blocks, found.verdict.call) == (4, Call.BETTER)
    given_up = interim_history([0.10, 0.11, 0.10, 0.11, -0.8, 0.9])
    assert given_up[3].verdict.decided
    assert decided_from(given_up) is None


@pytest.mark.parametrize("where", [Where.BALANCED, Where.CANDIDATE])
@pytest.mark.parametrize("name", NOISES)
def test_equals_are_told_apart_no_oftener_than_allowed(name: str, where: Where) -> None:
    """Also where the noise is correlated or one-sided, and no order of the candidates helps."""
    allowed_share = 0.07 if "AR" in name or "skew" in name else 0.055
    found = tally(NOISES[name], Truth(), where, studies=6000)
    assert found.different_share <= allowed_share + 0.005


def test_what_a_study_can_expect_is_what_simulated_studies_find() -> None:
    """Of 5 % at 2 % noise all, in six blocks; a fixed number is judged once and too few never."""
    few: dict[str, Any] = {"studies": 1000}
    [found] = prospects([1.05], 0.02, 0.02, 20, **few)
    assert found.shares[Call.BETTER] > 0.99
    assert found.blocks_mean == pytest.approx(5.92, abs=0.3)
    assert [margin_needed(0.02, blocks) for blocks in (6, 3)] == [pytest.approx(0.06), None]
    [three], [six] = (prospects([2.0], 0.01, 0.02, n, fixed=True, **few) for n in (3, 6))
    assert three.shares[Call.UNDECIDED] == six.shares[Call.BETTER] == 1.0
    [alone], [chosen] = (prospects([1.05], 0.04, 0.02, 8, among=n, **few) for n in (1, 6))
    assert chosen.different_share < alone.different_share
