"""The proof by null studies counts what it says: wrong verdicts, and studies that failed."""

from pathlib import Path
from typing import Any

import pytest

import null_studies
from book import Done, Part
from null_studies import DIRECTORY, PROOF, STUDIES, judged, storage, study_text, told
from stithy.analysis.verdict.decide import DIFFERENT, Call
from stithy.plan.expand import nulled
from stithy.study.load import parse_study
from support.sample_run import Shape, build_run


def done(call: Call, ratio: float = 1.0, blocks: int = 8) -> Done:
    """A study with this verdict, of which a window was invalid."""
    seen: dict[str, Any] = {
        "storage": DIRECTORY,
        "call": call.value,
        "blocks": blocks,
        "ratio": ratio,
        "low": ratio / 1.1,
        "high": ratio * 1.1,
        "windows": [{"valid": True}, {"valid": False}],
    }
    return Done(Part(PROOF, 0), call not in DIFFERENT, seen)


def test_every_study_can_be_run_and_has_a_seed_of_its_own() -> None:
    """On each kind of storage, at most six blocks, with the margin that is the default."""
    studies = [parse_study("s.yaml", study_text(seed).encode()) for seed in range(STUDIES)]
    assert [study.seed for study in studies] == list(range(STUDIES))
    assert {study.primary.blocks for study in studies} == {6}
    assert {study.primary.margin_percent for study in studies} == {2.0}
    assert [storage(seed) for seed in range(STUDIES)].count(DIRECTORY) == STUDIES // 2
    assert {storage(seed) for seed in range(0, STUDIES, 2)} == set(null_studies.DRIVES)


def test_a_null_study_has_two_volumes_that_are_alike() -> None:
    """What is done to one of them alone would show."""
    for seed in range(STUDIES):
        alone = nulled(parse_study("s.yaml", study_text(seed).encode()))
        first, second = (each.spec for each in alone.candidates.values())
        assert (first == second) is (storage(seed) != DIRECTORY)


def test_the_verdict_is_that_of_the_report(tmp_path: Path) -> None:
    """With its blocks and every window behind it; without enough of them it is undecided."""
    names = ("same", "same-again")
    build_run(tmp_path, Shape(candidates=names, users=(4,), repeat=2, null=True))
    seen = judged(tmp_path)
    assert (seen["call"], seen["blocks"]) == ("undecided", 2)
    assert len(seen["logs"]) == 2
    assert {each["block"] for each in seen["windows"]} == {0, 1}
    assert all(each["invalid_because"] == [] for each in seen["windows"])


@pytest.mark.parametrize("call", Call)
def test_only_a_claimed_difference_is_wrong(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """Also a negligible one; the target is missed by the second."""
    wrong = call not in (Call.EQUIVALENT, Call.UNDECIDED)
    assert told([done(call)]) == 0
    assert told([done(call), done(call)]) == (99 if wrong else 0)
    assert f"{call.value}: 2{' (wrong)' if wrong else ''}" in capsys.readouterr().out


def test_a_study_that_failed_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """It fails the proof, whatever the others say."""
    failed = Done(Part(PROOF, 1), False, {"storage": "gp3", "failed": "no room", "code": 4})
    assert told([done(Call.EQUIVALENT), failed]) == 5
    assert "2 studies, 1 failed" in capsys.readouterr().out


def test_the_worst_ratio_is_told_from_studies_with_enough_blocks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A factor below 1 counts as its inverse."""
    told([done(Call.UNDECIDED, 1.1), done(Call.UNDECIDED, 0.8), done(Call.UNDECIDED, 3.0, 2)])
    printed = capsys.readouterr().out
    assert "farthest from 1: directory: undecided, ratio 0.800 (0.727 to 0.880)" in printed
    assert "windows: 6, 3 invalid" in printed
