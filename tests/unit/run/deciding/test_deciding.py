"""A run asks whether further blocks are needed, and leaves out those that are not."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.exits import Exit
from stithy.plan.steps import Plan
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.deciding.deciding import Standing
from stithy.run.events import Looked, RunStarted, StepFinished, StepSkipped, StepStarted
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest

SURE = 2
"""Blocks that are measured in any case here."""


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def with_options(plan: Plan) -> Plan:
    """The plan in which only the first blocks are sure."""
    steps = [
        replace(step, if_undecided=step.window is not None and step.window.block >= SURE)
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


class FakeJudge:
    """Decides as soon as so many blocks are there; `asked` are the blocks it saw."""

    def __init__(self, enough: int, needed: int | None = None, looks: int = 1) -> None:
        """It looks for a verdict after each `looks` blocks only."""
        self.enough = enough
        self.needed = needed
        self.looks = looks
        self.asked: list[int] = []

    def __call__(self, directory: RunDirectory) -> Standing:
        """By the windows that are written."""
        blocks = read_run(directory.root).window["block"].n_unique()
        self.asked.append(blocks)
        decided = blocks >= self.enough
        text = "b is better" if decided else "open"
        is_look = blocks % self.looks == 0
        return Standing(decided and is_look, blocks, text, is_look, self.needed)


def run(root: Path, judge: FakeJudge | None, *, repeat: int = 5) -> FakedRun:
    """A run of one level with so many blocks, of which only the first are sure."""
    faked = FakedRun(root, users=(1,), load={"repeat": str(repeat)})
    context = faked.start()
    outcome = execute(replace(context, plan=with_options(context.plan)), judge=judge)
    assert (outcome.end, outcome.left) == ("finished", ())
    return faked


def test_blocks_after_the_decision_are_left_out_and_written_down_as_such(tmp_path: Path) -> None:
    """Each of their steps, with the reason; the run ends as any other."""
    judge = FakeJudge(enough=3)
    faked = run(tmp_path, judge)
    assert judge.asked == [2, 3]
    skipped = entries(faked.out, "step-skipped")
    # Two blocks: a canary, and of two candidates a restore and a window.
    assert len(skipped) == 2 * (1 + 2 * 2)
    assert {each.facts["because"] for each in skipped} == {"b is better"}
    windows = {f"w-{name}-u1-b{block}" for name in "ab" for block in (3, 4)}
    assert set(manifest(faked.out)["plan"]["skipped"]) == windows
    done = {each.facts["id"] for each in entries(faked.out, "step-started")}
    assert not done & {each.facts["id"] for each in skipped}
    assert {"check-end-a", "check-end-b", "tear-down-a"} <= done
    assert left_by(faked.out) == []


def test_each_look_is_told_and_written_down(tmp_path: Path) -> None:
    """With where the question stands."""
    faked = run(tmp_path, FakeJudge(enough=3))
    told = [event for event in faked.events if isinstance(event, Looked)]
    assert told == [Looked("open", 2, decided=False), Looked("b is better", 3, decided=True)]
    assert [each.facts["blocks"] for each in entries(faked.out, "looked")] == [2, 3]


def test_blocks_between_looks_are_not_told(tmp_path: Path) -> None:
    """They decide nothing, and who reads of each would think that they might."""
    faked = run(tmp_path, FakeJudge(enough=3, looks=2))
    assert [each.facts["blocks"] for each in entries(faked.out, "looked")] == [2, 4]
    assert len(manifest(faked.out)["plan"]["skipped"]) == 2


def test_what_stays_undecided_is_measured_to_the_last_block(tmp_path: Path) -> None:
    """And looked at once more after it."""
    judge = FakeJudge(enough=99)
    faked = run(tmp_path, judge)
    assert judge.asked == [2, 3, 4, 5]
    assert entries(faked.out, "step-skipped") == []
    assert manifest(faked.out)["plan"]["skipped"] == []


def test_without_a_judge_every_block_is_measured(tmp_path: Path) -> None:
    """Nobody looks."""
    faked = run(tmp_path, None)
    assert entries(faked.out, "looked") == []
    assert len(manifest(faked.out)["plan"]["windows"]) == 2 * 5
    assert not any(isinstance(event, StepSkipped) for event in faked.events)
    [started] = [event for event in faked.events if isinstance(event, RunStarted)]
    assert started.time_s_undecided is None


def test_the_time_left_is_that_of_the_blocks_in_sight_and_of_all(tmp_path: Path) -> None:
    """Before the first look the sure ones; then those that a forecast expects."""
    faked = run(tmp_path, FakeJudge(enough=4, needed=4))
    starts = {e.step.id: e for e in faked.events if isinstance(e, StepStarted)}
    first, later = starts["restore-w-a-u1-b0"], starts["restore-w-a-u1-b2"]
    assert first.left_s_undecided is not None
    assert first.left_s < first.left_s_undecided
    assert later.left_s_undecided is not None
    assert later.left_s < later.left_s_undecided
    assert starts["tear-down-a"].left_s_undecided is None
    done = [e.step.id for e in faked.events if isinstance(e, StepFinished)]
    assert "w-a-u1-b3" in done
    assert "w-a-u1-b4" not in done


def test_a_run_stops_at_the_first_window_that_shows_its_question_has_no_answer(
    tmp_path: Path,
) -> None:
    """Nothing was known before; the level's other windows are not measured."""
    faked = FakedRun(tmp_path, users=(1, 2), primary="{users: 2, metric: p95}")
    outcome = faked.run()
    assert outcome.error is not None
    assert outcome.error.exit == Exit.INVALID
    assert "needs 2,000 values in each window" in str(outcome.error)
    assert "`duration: " in outcome.error.remedy
    at_level = [row for row in read_run(faked.out).window.to_dicts() if row["users"] == 2]
    assert len(at_level) == 1
    assert left_by(faked.out) == []
    windows = read_run(faked.out).window["window_id"].to_list()
    assert len(windows) == 3
