"""A run that asks `analysis` ends when the question is decided, and says whether it was."""

from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.running.looking import answered, look
from stithy.report.context import Context, context_of
from stithy.results.read import read_run
from stithy.run.events import Looked
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.running import entries, manifest
from support.sample_run import Shape, build_run

UNTIL_DECIDED = {"repeat": ""}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def context(directory: Path) -> Context:
    """What a report would be made of."""
    return context_of(read_run(directory))


def test_a_run_of_equals_ends_at_the_first_look(tmp_path: Path) -> None:
    """The fake hammer does as much for everybody: equivalent after four of twenty blocks."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), load=UNTIL_DECIDED)
    assert execute(faked.start(), judge=look).end == "finished"
    [looked] = [event for event in faked.events if isinstance(event, Looked)]
    assert (looked.blocks, looked.decided) == (4, True)
    assert "equivalent within 2 %" in looked.text
    assert len(manifest(faked.out)["plan"]["skipped"]) == 2 * 16
    assert len(list((faked.out / "windows").iterdir())) == 2 * (1 + 4)
    read = context(faked.out)
    assert answered(read)
    assert read.evidence.asked.users == 2


def test_a_question_without_a_valid_block_is_not_answered(tmp_path: Path) -> None:
    """All blocks are tried; windows that were cut short are invalid."""
    hammer = FakeHammer(complete=False)
    faked = FakedRun(tmp_path, hammer=hammer, load=UNTIL_DECIDED)
    execute(faked.start(), judge=look)
    assert entries(faked.out, "step-skipped") == []
    assert {each.facts["blocks"] for each in entries(faked.out, "looked")} == {0}
    assert not answered(context(faked.out))


def test_a_single_candidate_is_answered_by_a_valid_window(tmp_path: Path) -> None:
    """There is nothing to compare."""
    shape = Shape(candidates=("disk",), users=(4,), duration_s=2, series=False)
    assert answered(context(build_run(tmp_path / "run", shape).root))


def test_a_null_study_that_finds_a_difference_is_not_answered(tmp_path: Path) -> None:
    """The sample's second candidate is much faster: as a null study, that is a false alarm."""
    shape = Shape(users=(4,), duration_s=2, series=False, repeat=4)
    plain = context(build_run(tmp_path / "plain", shape).root)
    assert answered(plain)
    false_alarm = build_run(tmp_path / "null", Shape(**{**vars(shape), "null": True}))
    assert not answered(context(false_alarm.root))


def test_a_null_study_measures_two_volumes_that_are_alike(tmp_path: Path) -> None:
    """They are equivalent; every result says what it is, and each volume is made and removed."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), load=UNTIL_DECIDED)
    outcome = execute(faked.start(null=True), judge=look)
    assert (outcome.end, outcome.left) == ("finished", ())
    read = context(faked.out)
    assert read.evidence.candidates == ("a", "a-again")
    assert read.label is not None
    assert "NULL STUDY" in read.label
    assert answered(read)
    paths = [each["path"] for each in manifest(faked.out)["candidates"]]
    assert paths == [str(tmp_path / name) for name in ("a", "a-again")]
    provisioned = [each for each in entries(faked.out, "step-started") if "provision" in str(each)]
    assert len(provisioned) == 2
    assert not any(map(Path.exists, map(Path, paths)))
    restores = {row["candidate"] for row in read.run.restores.to_dicts()}
    assert restores == {"a", "a-again"}


class Cut(Exception):
    """What ends a run here in the middle, as a bug would."""


def test_a_resumed_run_ends_at_the_look_at_which_it_would_have_ended(tmp_path: Path) -> None:
    """Cut off in its third block, it measures the rest of the four, on its two volumes again."""
    hammer = FakeHammer(sound=True)
    faked = FakedRun(tmp_path, hammer=hammer, users=(1,), load=UNTIL_DECIDED)

    def cut() -> None:
        if len(hammer.runs) == 5:
            raise Cut

    hammer.before_run = cut
    with pytest.raises(Cut):
        execute(faked.start(null=True), judge=look)
    hammer.before_run = lambda: None
    assert faked.resume(judge=look).end == "finished"
    windows = {path.name for path in (faked.out / "windows").iterdir()}
    assert windows == {f"w-{name}-u1-b{block}" for name in ("a", "a-again") for block in range(4)}
    assert answered(context(faked.out))
