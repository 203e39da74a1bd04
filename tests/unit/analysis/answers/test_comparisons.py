"""Every comparison of a run, with its verdict."""

from pathlib import Path

import pytest

from stithy.analysis.answers.comparisons import comparisons, descriptive, primary
from stithy.analysis.answers.findings import question
from stithy.analysis.evidence import Evidence
from stithy.analysis.gathering import gather
from stithy.analysis.verdict.decide import Call, decide
from stithy.metrics import NOPM, P95
from stithy.results.read import read_run
from support.reported import frames
from support.sample_run import Shape, build_run, window_id

DONE = 1000.0
SLIGHT = (1.030, 1.034, 1.027, 1.029, 1.033, 1.027)
"""Ratios that six blocks alone just tell from 1."""


def _evidence(root: Path, ratios: dict[int, tuple[float, ...]]) -> Evidence:
    """Two candidates whose NOPM in each block have these ratios, by level."""
    blocks = max(len(each) for each in ratios.values())
    changes = {
        window_id(name, users, block): {"nopm": DONE * (ratio if name == "b" else 1.0)}
        for users, each in ratios.items()
        for block, ratio in enumerate(each)
        for name in ("a", "b")
    }
    built = Shape(
        candidates=("a", "b"), users=tuple(ratios), repeat=blocks, duration_s=20, series=False,
        changes=changes,
    )  # fmt: skip
    build_run(root, built)
    return gather(frames(read_run(root)), ("a", "b"), tuple(ratios))


def test_the_primary_comparison_is_judged_by_itself(tmp_path: Path) -> None:
    """With two candidates nothing was chosen, so nothing is adjusted."""
    evidence = _evidence(tmp_path, {4: SLIGHT, 8: SLIGHT})
    found = primary(evidence, "a", "b", 8)
    assert (found.verdict.call, found.primary) == (Call.BETTER, True)
    assert found.chance_share is not None
    assert found.chance_share < 0.05


def test_a_slight_difference_at_one_of_many_levels_is_undecided(tmp_path: Path) -> None:
    """By itself it would be claimed; among six levels one such comes by chance."""
    nothing = (1.03, 0.97, 1.02, 0.98, 1.04, 0.96)
    slight = (1.030, 1.046, 1.016, 1.024, 1.040, 1.020)
    evidence = _evidence(tmp_path, {1: slight, **dict.fromkeys((2, 4, 8, 16, 32), nothing)})
    alone, *_ = descriptive(evidence, "a", "b", NOPM, without=(2, 4, 8, 16, 32))
    assert alone.verdict.call is Call.BETTER
    among, *rest = descriptive(evidence, "a", "b", NOPM)
    assert among.verdict.call is Call.UNDECIDED
    assert among.verdict.because == "the difference is too small for one of 6 levels"
    assert among.chance_share is not None
    assert alone.chance_share is not None
    assert among.chance_share == pytest.approx(6 * alone.chance_share)
    assert all(each.verdict.call is Call.UNDECIDED for each in rest)


def test_levels_with_few_blocks_are_told_and_not_counted(tmp_path: Path) -> None:
    """A level that has no chance to be decided takes none from the others."""
    evidence = _evidence(tmp_path, {1: SLIGHT, 2: SLIGHT[:1]})
    gone = [w for w in evidence.windows if w.users == 1 or w.block == 0]
    fewer = Evidence(evidence.candidates, evidence.levels, tuple(gone))
    six, one = descriptive(fewer, "a", "b", NOPM)
    assert six.verdict.call is Call.BETTER
    assert one.chance_share is None
    assert one.verdict.because == "1 block, at least 4 are needed"


def test_among_three_candidates_the_chosen_pair_must_differ_more(tmp_path: Path) -> None:
    """Its chance is that of the largest of three differences."""
    shape = Shape(candidates=("a", "b", "c"), users=(4,), repeat=4, duration_s=2, series=False)
    build_run(tmp_path, shape)
    evidence = gather(frames(read_run(tmp_path)), shape.candidates, shape.users)
    found = question(evidence)
    assert found is not None
    two = Evidence((found.a, found.b), evidence.levels, evidence.windows)
    alone = primary(two, found.a, found.b, 4)
    assert alone.chance_share is not None
    assert found.chance_share == pytest.approx(3 * alone.chance_share)
    assert found.verdict == decide(found.effect.logs, among=3)


def test_the_answer_comes_first_and_is_not_told_twice(tmp_path: Path) -> None:
    """Then the other levels of NOPM, then all of the response time."""
    evidence = _evidence(tmp_path, {4: SLIGHT, 8: SLIGHT})
    found = comparisons(evidence, question(evidence))
    assert [(each.metric, each.users, each.primary) for each in found] == [
        (NOPM, 8, True), (NOPM, 4, False),
        (P95, 4, False), (P95, 8, False),
    ]  # fmt: skip


def test_a_longer_response_time_is_worse(tmp_path: Path) -> None:
    """Less of it is better; the sample's second candidate answers sooner."""
    shape = Shape(users=(13,), repeat=4, duration_s=20, series=False)
    build_run(tmp_path, shape)
    evidence = gather(frames(read_run(tmp_path)), shape.candidates, shape.users)
    (forward,) = descriptive(evidence, "disk", "memory", P95)
    (back,) = descriptive(evidence, "memory", "disk", P95)
    assert (forward.verdict.call, back.verdict.call) == (Call.BETTER, Call.WORSE)


def test_a_single_candidate_has_no_comparison(tmp_path: Path) -> None:
    """There is nobody to be better than."""
    shape = Shape(candidates=("a",), users=(4,), duration_s=2, series=False)
    build_run(tmp_path, shape)
    evidence = gather(frames(read_run(tmp_path)), shape.candidates, shape.users)
    assert comparisons(evidence, question(evidence)) == ()
    assert comparisons(gather({}), None) == ()
