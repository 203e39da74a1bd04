"""What is measured next: blocks are left out, repeated and added, whatever cuts a run off."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.exits import Exit
from stithy.plan.steps import Plan
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.deciding import Deciders, Repeats, SoFar, Status
from stithy.run.events import (
    InterimAnalysis,
    RunStarted,
    StepFinished,
    StepSkipped,
    StepStarted,
    WindowsAdded,
)
from stithy.run.executor import execute
from support.faked_run import FakedRun
from support.more_windows import two_more
from support.running import entries, left_by, manifest, window_row

SURE = 2
"""Blocks that are measured in any case here."""


def with_options(plan: Plan) -> Plan:
    """The plan in which only the first blocks are sure."""
    steps = [
        replace(step, if_undecided=step.window is not None and step.window.block >= SURE)
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


class FakeJudge:
    """Decides as soon as so many blocks are there; `asked` are the blocks it saw."""

    def __init__(self, enough: int, needed: int | None = None, every: int = 1) -> None:
        """The stopping rule is evaluated after each `every` blocks only."""
        self.enough = enough
        self.needed = needed
        self.every = every
        self.asked: list[int] = []

    def __call__(self, directory: RunDirectory) -> Status:
        """By the windows that are written."""
        blocks = read_run(directory.root).window["block"].n_unique()
        self.asked.append(blocks)
        decided = blocks >= self.enough
        text = "b is better" if decided else "open"
        is_interim = blocks % self.every == 0
        return Status(decided and is_interim, blocks, text, is_interim, self.needed)


def run(root: Path, judge: FakeJudge | None, *, repeat: int = 5) -> FakedRun:
    """A run of one level with so many blocks, of which only the first are sure."""
    faked = FakedRun(root, users=(1,), load={"repeat": str(repeat)})
    context = faked.start()
    outcome = execute(replace(context, plan=with_options(context.plan)), Deciders(judge))
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
    told = [event for event in faked.events if isinstance(event, InterimAnalysis)]
    assert told == [
        InterimAnalysis("open", 2, decided=False),
        InterimAnalysis("b is better", 3, decided=True),
    ]
    assert [each.facts["blocks"] for each in entries(faked.out, "interim-analysis")] == [2, 3]


def test_blocks_between_looks_are_not_told(tmp_path: Path) -> None:
    """They decide nothing, and who reads of each would think that they might."""
    faked = run(tmp_path, FakeJudge(enough=3, every=2))
    assert [each.facts["blocks"] for each in entries(faked.out, "interim-analysis")] == [2, 4]
    assert len(manifest(faked.out)["plan"]["skipped"]) == 2


def test_what_stays_undecided_is_measured_to_the_last_block(tmp_path: Path) -> None:
    """And looked at once more after it."""
    judge = FakeJudge(enough=99)
    faked = run(tmp_path, judge)
    assert judge.asked == [2, 3, 4, 5]
    assert entries(faked.out, "step-skipped") == []
    assert manifest(faked.out)["plan"]["skipped"] == []


def test_without_a_judge_every_block_is_measured(tmp_path: Path) -> None:
    """Nobody judges."""
    faked = run(tmp_path, None)
    assert entries(faked.out, "interim-analysis") == []
    assert len(manifest(faked.out)["plan"]["windows"]) == 2 * 5
    assert not any(isinstance(event, StepSkipped) for event in faked.events)
    [started] = [event for event in faked.events if isinstance(event, RunStarted)]
    assert started.time_s_undecided is None


def test_the_time_left_is_that_of_the_blocks_in_sight_and_of_all(tmp_path: Path) -> None:
    """Before the first interim analysis the sure ones; then those that a forecast expects."""
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


BLOCK = ["w-b-u1-b0", "w-a-u1-b0"]


AGAIN = [f"{name}-again" for name in BLOCK]


class FakeInvalid:
    """Calls windows invalid by name; `asked` are the blocks that it was asked about."""

    def __init__(self, *invalid: str) -> None:
        """These are."""
        self._invalid = invalid
        self.asked: list[list[str]] = []

    def __call__(self, directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        """Only of those that it is asked about."""
        self.asked.append(list(windows))
        return {name: "driver late" for name in windows if name in self._invalid}


def measured(faked: FakedRun) -> list[str]:
    """The windows that were begun, in order, over all sessions."""
    return [e.facts["id"] for e in entries(faked.out, "step-started", kind="window")]


def test_the_whole_block_is_measured_once_more_at_once(tmp_path: Path) -> None:
    """In the same order, each window from a fresh restore; then the study goes on."""
    judge = FakeInvalid(BLOCK[0])
    faked = FakedRun(tmp_path, schedulers=(Repeats(judge),))
    assert faked.run().end == "finished"
    assert measured(faked)[:5] == [*BLOCK, *AGAIN, "w-a-u2-b0"]
    assert judge.asked == [BLOCK, ["w-a-u2-b0", "w-b-u2-b0"]]
    [added] = entries(faked.out, "windows-added")
    assert added.facts["because"] == (
        "the block is measured a second time, because this is invalid: w-b-u1-b0 (driver late)"
    )
    first, second = (window_row(faked.out, name) for name in (BLOCK[0], AGAIN[0]))
    assert (first["attempt"], second["attempt"]) == (0, 1)
    assert (first["block"], first["position"]) == (second["block"], second["position"])
    users = [run for run in faked.hammer.runs if run.users == 1]
    assert len({run.seed for run in users}) == 1
    assert left_by(faked.out) == []


def test_what_fails_again_is_not_measured_a_third_time(tmp_path: Path) -> None:
    """The study goes on without that block."""
    faked = FakedRun(tmp_path, users=(1,), schedulers=(Repeats(FakeInvalid(*BLOCK, *AGAIN)),))
    assert faked.run().end == "finished"
    assert measured(faked) == [*BLOCK, *AGAIN]


def test_a_block_that_replaces_another_is_not_one_more(tmp_path: Path) -> None:
    """As many blocks as the study has it are looked at; the rerun is none of them."""
    seen: list[int] = []

    def judge(directory: RunDirectory) -> Status:
        seen.append(len(list(directory.windows.iterdir())))
        return Status(decided=False, blocks=len(seen), text="open")

    faked = FakedRun(tmp_path, users=(1,), load={"repeat": ""}, primary="{blocks: 7}")
    invalid = FakeInvalid("w-a-u1-b5")
    execute(faked.start(), Deciders(judge, (Repeats(invalid),)))
    assert len(measured(faked)) == 2 * 8
    # Before each block from the fifth on, and at the end; never inside the one that is repeated.
    assert seen == [8, 10, 14, 16]
    assert manifest(faked.out)["plan"]["further"] == [
        f"{e.facts['id']}-again"
        for e in entries(faked.out, "step-started", kind="window")
        if e.facts["id"].endswith("b5")
    ]


class Cut(Exception):
    """What ends a run here in the middle, as a bug would."""


@pytest.mark.parametrize("runs", [2, 3])
def test_a_run_killed_before_or_within_the_second_attempt_goes_on_with_it(
    tmp_path: Path, runs: int
) -> None:
    """Of the block that is measured again each window is measured once."""
    faked = FakedRun(tmp_path, users=(1,), schedulers=(Repeats(FakeInvalid(BLOCK[1])),))

    def cut() -> None:
        if len(faked.hammer.runs) == runs:
            raise Cut

    faked.hammer.before_run = cut
    with pytest.raises(Cut):
        faked.run()
    faked.hammer.before_run = lambda: None
    faked.schedulers = (Repeats(FakeInvalid(BLOCK[1])),)
    assert faked.resume().end == "finished"
    assert len(entries(faked.out, "windows-added")) == 1
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    assert [each for each in done if each.startswith("w-")] == [*BLOCK, *AGAIN]


def test_a_run_killed_before_anybody_judged_its_last_block_measures_it_again(
    tmp_path: Path,
) -> None:
    """Nothing else was left to do."""

    def dead(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        raise Cut

    faked = FakedRun(tmp_path, users=(1,), schedulers=(Repeats(dead),))
    with pytest.raises(Cut):
        faked.run()
    faked.schedulers = (Repeats(FakeInvalid(BLOCK[0])),)
    assert faked.resume().end == "finished"
    assert measured(faked) == [*BLOCK, *AGAIN]


MORE = ["w-b-u1-b0-more1", "w-b-u1-b0-more2"]


def faked_run(root: Path) -> FakedRun:
    """A run of two candidates at one level, the first window of which asks for two more."""
    return FakedRun(root, users=(1,), schedulers=(two_more,))


def test_they_are_measured_next(tmp_path: Path) -> None:
    """Each from a fresh restore; what was planned comes after them."""
    faked = faked_run(tmp_path)
    assert faked.run().end == "finished"
    assert measured(faked) == ["w-b-u1-b0", *MORE, "w-a-u1-b0"]
    started = [e.facts["id"] for e in entries(faked.out, "step-started")]
    at = started.index("w-b-u1-b0") + 1
    assert started[at : at + 3] == [f"baseline-check-{MORE[0]}", f"restore-{MORE[0]}", MORE[0]]
    assert started.index("check-end-b") > started.index("w-a-u1-b0")
    assert left_by(faked.out) == []


def test_they_are_written_down_with_the_reason_before_they_begin(tmp_path: Path) -> None:
    """In the journal; the manifest tells them apart from planned ones."""
    faked = faked_run(tmp_path)
    faked.run()
    added = entries(faked.out, "windows-added")
    assert [each.facts["because"] for each in added] == [
        "w-b-u1-b0 was measured",
        f"{MORE[0]} was measured",
    ]
    [begun] = [e for e in entries(faked.out, "step-started") if e.facts["id"] == MORE[0]]
    assert added[0].sequence < begun.sequence
    plan = manifest(faked.out)["plan"]
    assert plan["further"] == MORE
    assert set(plan["windows"]) == {"w-a-u1-b0", "w-b-u1-b0"}


def test_the_count_and_the_time_left_hold_them(tmp_path: Path) -> None:
    """From the moment at which they are decided."""
    faked = faked_run(tmp_path)
    faked.run()
    starts = [event for event in faked.events if isinstance(event, StepStarted)]
    assert [each.number for each in starts] == list(range(1, len(starts) + 1))
    counts = {each.step.id: each.steps for each in starts}
    assert counts["w-b-u1-b0"] + 3 == counts[MORE[0]]
    assert counts["tear-down-b"] == len(starts) == counts["w-b-u1-b0"] + 6
    left = {each.step.id: each.left_s for each in starts}
    [first, _] = [event for event in faked.events if isinstance(event, WindowsAdded)]
    assert first.windows == (MORE[0],)
    assert first.time_s > 0
    assert left[f"baseline-check-{MORE[0]}"] > left["restore-w-a-u1-b0"] + first.time_s * 0.99


def test_an_adviser_sees_every_window_that_is_over(tmp_path: Path) -> None:
    """And is asked before the first as well: a study may have no window in its plan."""
    seen: list[set[str]] = []

    def watch(so_far: SoFar) -> None:
        windows = {step.id for step in so_far.steps if step.kind == "window"}
        seen.append(windows & so_far.done)

    faked = FakedRun(tmp_path, users=(1,), schedulers=(watch,))
    faked.run()
    assert seen == [set(), {"w-b-u1-b0"}, {"w-a-u1-b0", "w-b-u1-b0"}]


def cut_in(root: Path, number: int) -> FakedRun:
    """A run that ended in the window with this number, counted from 1."""
    faked = faked_run(root)

    def cut() -> None:
        if len(faked.hammer.runs) == number - 1:
            raise Cut

    faked.hammer.before_run = cut
    with pytest.raises(Cut):
        faked.run()
    faked.hammer.before_run = lambda: None
    return faked


@pytest.mark.parametrize("number", [2, 4])
def test_a_resumed_run_ends_with_the_same_windows(tmp_path: Path, number: int) -> None:
    """Wherever it was cut off: what was decided stays so, and is decided once."""
    faked = cut_in(tmp_path, number)
    assert faked.resume().end == "finished"
    assert len(entries(faked.out, "windows-added")) == 2
    assert manifest(faked.out)["plan"]["further"] == MORE
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    windows = [each for each in done if each.startswith("w-")]
    assert windows == ["w-b-u1-b0", *MORE, "w-a-u1-b0"]
    assert {f"restore-{each}" for each in MORE} <= {*done}


def test_what_nobody_had_asked_for_is_asked_for_on_resuming(tmp_path: Path) -> None:
    """Killed after the window that needs further ones, and before they were written down."""
    faked = FakedRun(tmp_path, users=(1,))

    def fail(so_far: SoFar) -> None:
        if "w-a-u1-b0" in so_far.done:
            raise InfrastructureError("gone", where="here", remedy="none")

    outcome = execute(faked.start(), Deciders(schedulers=(fail,)))
    assert outcome.end == "failed"
    assert measured(faked) == ["w-b-u1-b0", "w-a-u1-b0"]
    faked.schedulers = (two_more,)
    assert faked.resume().end == "finished"
    assert measured(faked)[2:] == MORE
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    assert done.count("prepare") == 2, "there was nothing left but what nobody had asked for"
