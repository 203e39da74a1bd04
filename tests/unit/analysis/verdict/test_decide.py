"""The verdict that follows from an interval."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.verdict.decide import Call, decide
from stithy.analysis.verdict.interval import interval


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
