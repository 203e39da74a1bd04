"""From block to block: what each look knew, and from which one on the verdict stood."""

import math
import random

import pytest

from stithy.analysis.verdict.boundaries import LOOKS
from stithy.analysis.verdict.course import course, decided_from
from stithy.analysis.verdict.decide import DIFFERENT, Call
from stithy.analysis.verdict.interval import interval
from stithy.analysis.verdict.student import t_beyond


def blocks(mean: float, spread: float, count: int, seed: int = 1) -> list[float]:
    """Log ratios of so many blocks."""
    draw = random.Random(seed)
    return [draw.gauss(mean, spread) for _ in range(count)]


def test_each_stage_knows_its_first_blocks_and_no_other() -> None:
    """Means and intervals as those blocks alone give them."""
    logs = blocks(0.1, 0.05, 12)
    stages = course(logs)
    assert [stage.blocks for stage in stages] == list(range(1, 13))
    for stage in stages:
        first = logs[: stage.blocks]
        assert stage.last == first[-1]
        assert stage.mean == pytest.approx(sum(first) / len(first))
        assert stage.known == interval(first)


def test_verdicts_are_looked_for_at_the_looks_the_limit_and_the_last_block() -> None:
    """And nowhere before the first look, whatever the limit."""
    looks = [stage.blocks for stage in course(blocks(0.0, 0.1, 15), limit=14) if stage.is_look]
    assert looks == [4, 6, 8, 10, 12, 14, 15]
    assert not any(stage.is_look for stage in course(blocks(0.0, 0.1, 3), limit=2))
    assert all(stage.boundary is None for stage in course(blocks(0.0, 0.1, 3)))


@pytest.mark.parametrize("among", [1, 3, 45])
def test_beyond_the_boundary_is_where_a_difference_is_claimed(among: int) -> None:
    """At every look of studies with differences of all sizes, for chosen pairs too."""
    seen = set()
    for seed in range(300):
        for stage in course(blocks(seed / 2000, 0.05, 20, seed), among=among):
            if stage.boundary is not None:
                beyond = abs(stage.mean) > stage.boundary
                assert beyond is (stage.verdict.call in DIFFERENT)
                seen.add(beyond)
    assert seen == {True, False}


def test_the_boundary_of_a_chosen_pair_is_where_chance_is_rarer_by_their_number() -> None:
    """Five of a hundred, shared by the looks so far and the pairs."""
    logs = blocks(0.1, 0.05, 8)
    stage = course(logs, among=10)[-1]
    known = interval(logs)
    assert known is not None
    assert stage.boundary is not None
    t = stage.boundary / (known.widened * known.error)
    assert t_beyond(t, 7) * 3 * 10 == pytest.approx(0.05)


def test_it_is_decided_from_the_first_look_after_which_all_said_the_same() -> None:
    """What was said for a while and given up again does not count."""
    steady = course([0.10, 0.11, 0.10, 0.11, 0.10, 0.11, 0.10, 0.11])
    found = decided_from(steady)
    assert found is not None
    assert (found.blocks, found.verdict.call) == (4, Call.BETTER)
    given_up = course([0.10, 0.11, 0.10, 0.11, -0.8, 0.9])
    assert given_up[3].verdict.decided
    assert decided_from(given_up) is None


def test_nothing_is_decided_by_too_few_blocks() -> None:
    """However clear they look."""
    assert decided_from(course([0.5, 0.5, 0.5])) is None
    assert course([]) == ()


def test_blocks_without_any_spread_have_a_boundary_of_nothing() -> None:
    """Equal blocks differ by their ratio, however small."""
    stage = course([math.log(1.1)] * 4)[-1]
    assert stage.boundary == pytest.approx(0.0, abs=1e-12)
    assert stage.verdict.call is Call.BETTER
    assert LOOKS[0] == stage.blocks
