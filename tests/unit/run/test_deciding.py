"""What is measured next: blocks are left out, repeated and added, whatever cuts a run off."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.errors import Exit, NothingValid
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.run.deciders import Repeats
from stithy.run.deciding import Deciders, Invalid, Judge, QuestionStatus, SoFar
from stithy.run.events import InterimAnalysis, Note, StepFinished, StepStarted, WindowsAdded
from stithy.run.executor import execute
from support.faked_run import FakedRun, two_more
from support.running import entries, manifest, window_row, write_study

pytestmark = pytest.mark.usefixtures("own_state")
SURE = 2
"""Blocks that are measured in any case here, of five."""


def judge(enough: int, *, every: int = 1) -> Judge:
    """Decides with so many blocks; the stopping rule is evaluated after each `every` only."""

    def status(directory: RunDirectory) -> QuestionStatus:
        blocks = read_run(directory.root).window["block"].n_unique()
        decided, is_interim = blocks >= enough, blocks % every == 0
        text = "b is better" if decided else "open"
        return QuestionStatus(decided and is_interim, blocks, text, is_interim, 4)

    return status


@pytest.mark.parametrize(("judge", "looks"), [
    (judge(3), {2: False, 3: True}),
    (judge(3, every=2), {2: False, 4: True}),
    (judge(99), {2: False, 3: False, 4: False, 5: False}),
    (None, {}),
], ids=["decided", "decided between looks", "undecided", "nobody judges"])  # fmt: skip
def test_blocks_after_the_decision_are_left_out_and_written_down_as_such(
    judge: Judge | None, looks: dict[int, bool], tmp_path: Path
) -> None:
    """Each of their steps, with the reason; looks are reported, and the run ends as any other."""
    faked = FakedRun(tmp_path, users=(1,), load={"repeat": "5"})
    context = faked.start()
    steps = [
        replace(step, if_undecided=step.window is not None and step.window.block >= SURE)
        for step in context.plan.steps
    ]
    plan = replace(context.plan, steps=tuple(steps))
    assert execute(replace(context, plan=plan), Deciders(judge)).end == "finished"
    shown = [event for event in faked.events if isinstance(event, InterimAnalysis)]
    assert {event.blocks: event.decided for event in shown} == looks
    written = [entry.facts for entry in entries(faked.out, "interim-analysis")]
    assert [(each["blocks"], each["decided"]) for each in written] == list(looks.items())
    spared = range(max(looks), 5) if True in looks.values() else range(0)
    skipped = entries(faked.out, "step-skipped")
    # A block: a baseline check, and of two candidates a restore and a window.
    assert len(skipped) == len(spared) * (1 + 2 * 2)
    assert {each.facts["because"] for each in skipped} <= {"b is better"}
    windows = {f"w-{name}-u1-b{block}" for name in "ab" for block in spared}
    assert set(manifest(faked.out)["plan"]["skipped"]) == windows
    done = {each.facts["id"] for each in entries(faked.out, "step-started")}
    assert not done & {each.facts["id"] for each in skipped}
    assert {"check-end-a", "check-end-b", "tear-down-a"} <= done
    left = [(e.left_s, e.left_s_undecided) for e in faked.events if isinstance(e, StepStarted)]
    assert all(sure_s < most_s for sure_s, most_s in left if most_s is not None)
    assert (left[5][1] is None, left[-1][1]) == (judge is None, None)


def test_a_run_stops_at_the_first_window_that_shows_it_has_no_answer(tmp_path: Path) -> None:
    """Nothing was known before; the level's other windows are not measured."""
    faked = FakedRun(tmp_path, users=(1, 2), primary="{users: 2, metric: p95}")
    outcome = faked.run()
    assert outcome.error is not None
    assert outcome.error.exit == Exit.INVALID
    assert sorted(read_run(faked.out).window["users"]) == [1, 1, 2]
    notes = {at: event.text for at, event in enumerate(faked.events) if isinstance(event, Note)}
    why = "needs 2,000 values in each window, and by what users do in w-"
    [noted] = [at for at, text in notes.items() if why in text]
    done = [
        e for e in faked.events[:noted] if isinstance(e, StepFinished) and e.step.kind == "window"
    ]
    assert len(done) == 1, "the first window says it"


@pytest.mark.parametrize(("slow", "stops"), [("a", True), ("b", True), ("c", False)])
def test_a_compared_candidate_stops_a_run_though_another_one_was_first(
    slow: str, stops: bool, tmp_path: Path
) -> None:
    """Blocks without a value of both would be measured in vain; nobody asks about the third."""
    places = {name: tmp_path / name for name in "abc"}
    asked = "{metric: p95, candidates: [a, b]}"
    own = tmp_path / "three.yaml"
    study = write_study(own, places, users=(1,), load={"pace": ""}, primary=asked)
    hammer = FakeHammer(
        sound=True,
        response_s=lambda request: 0.002 if f"/w-{slow}-" in str(request.hlog_stem) else 0.001,
    )
    error = FakedRun(tmp_path, hammer=hammer, text=study.read_text()).run().error
    assert (error.where if error else None) == (f"window w-{slow}-u1-b0" if stops else None)


BLOCK = ["w-b-u1-b0", "w-a-u1-b0"]
AGAIN = [f"{name}-again" for name in BLOCK]


def invalid(*names: str) -> Invalid:
    """Calls windows invalid by name, only of those that it is asked about."""
    return lambda _, windows: {name: "driver late" for name in windows if name in names}


def measured(faked: FakedRun) -> list[str]:
    """The windows that were begun, in order, over all sessions."""
    return [e.facts["id"] for e in entries(faked.out, "step-started", kind="window")]


def test_the_whole_block_is_measured_once_more_at_once(tmp_path: Path) -> None:
    """In the same order with the same draws, each window restored; then the study goes on."""
    faked = FakedRun(tmp_path, schedulers=(Repeats(invalid(BLOCK[0], AGAIN[1])),))
    assert faked.run().end == "finished"
    assert measured(faked) == [*BLOCK, *AGAIN, "w-a-u2-b0", "w-b-u2-b0"]
    [added] = entries(faked.out, "windows-added")
    assert f"invalid: {BLOCK[0]} (driver late)" in added.facts["because"]
    first, second = (window_row(faked.out, name) for name in (BLOCK[0], AGAIN[0]))
    assert (first["attempt"], second["attempt"]) == (0, 1)
    assert (first["block"], first["position"]) == (second["block"], second["position"])
    assert len({run.seed for run in faked.hammer.runs if run.users == 1}) == 1
    assert {f"restore-{each}" for each in AGAIN} <= {
        e.facts["id"] for e in entries(faked.out, "step-finished")
    }


def test_a_block_that_later_ones_show_to_be_invalid_is_measured_again(tmp_path: Path) -> None:
    """After those that showed it: what the machine can do is known from all windows."""

    def judge(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        return {"w-a-u1-b0": "drive late"} if "w-b-u2-b0" in windows else {}

    faked = FakedRun(tmp_path, schedulers=(Repeats(judge),))
    assert faked.run().end == "finished"
    assert measured(faked) == [*BLOCK, "w-a-u2-b0", "w-b-u2-b0", *AGAIN]


def test_a_block_that_replaces_another_is_not_one_more(tmp_path: Path) -> None:
    """As many blocks as the study has it are looked at; never inside the one that is repeated."""
    seen: list[int] = []

    def look(directory: RunDirectory) -> QuestionStatus:
        seen.append(len(list(directory.windows.iterdir())))
        return QuestionStatus(decided=False, blocks=len(seen), text="open")

    faked = FakedRun(tmp_path, users=(1,), load={"repeat": ""}, primary="{blocks: 6}")
    execute(faked.start(), Deciders(look, (Repeats(invalid("w-a-u1-b4")),)))
    # Before each block from the fifth on, and at the end.
    assert seen == [8, 12, 14]
    assert sorted(manifest(faked.out)["plan"]["further"]) == [
        "w-a-u1-b4-again", "w-b-u1-b4-again",
    ]  # fmt: skip


class Cut(Exception):
    """What ends a run here in the middle, as a bug would."""


def dead(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
    """A judge in whose hands the run ends."""
    raise Cut


@pytest.mark.parametrize(
    ("judge", "windows"),
    [(invalid(*BLOCK, *AGAIN), 2), (invalid(BLOCK[0]), 3), (dead, 9)],
    ids=["before the second attempt", "within it", "before anybody judged"],
)
def test_a_run_cut_off_around_a_second_attempt_goes_on(
    judge: Invalid, windows: int, tmp_path: Path
) -> None:
    """Of the block each window is finished once more, and not a third time, however it fails."""
    faked = FakedRun(tmp_path, users=(1,), schedulers=(Repeats(judge),))

    def cut() -> None:
        if len(faked.hammer.runs) == windows:
            raise Cut

    faked.hammer.before_run = cut
    with pytest.raises(Cut):
        faked.run()
    faked.hammer.before_run = lambda: None
    faked.schedulers = (Repeats(invalid(*BLOCK, *AGAIN)),)
    assert faked.resume().end == "finished"
    assert len(entries(faked.out, "windows-added")) == 1
    done = [e.facts["id"] for e in entries(faked.out, "step-finished")]
    assert [each for each in done if each.startswith("w-")] == [*BLOCK, *AGAIN]
    # A run that had nothing left but what nobody had asked for loads its database again, too.
    assert done.count("prepare") == 2


@pytest.mark.parametrize(("valid", "measured_blocks"), [
    ((), [0, 0, 1, 1, 2, 2]),
    ((1,), [0, 0, 1, 2, 2, 3, 3, 4, 4]),
    ((2, 4), [0, 0, 1, 1, 2, 3, 3, 4]),
], ids=["none is valid", "three in a row", "never three in a row"])  # fmt: skip
def test_a_run_stops_after_three_blocks_in_a_row_without_a_valid_window(
    valid: tuple[int, ...], measured_blocks: list[int], tmp_path: Path
) -> None:
    """Each was measured twice. It says why and what to do; resumed, it measures the rest."""

    def judged(_: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        blocks = {name: int(name.split("-b")[-1].partition("-")[0]) for name in windows}
        return {name: "driver late" for name in windows if blocks[name] not in valid}

    faked = FakedRun(tmp_path, users=(1,), load={"repeat": "6"}, invalid=judged)
    faked.schedulers = (Repeats(judged),)
    error = faked.run().error
    blocks = [window_row(faked.out, name)["block"] for name in measured(faked)[::2]]
    if len(valid) > 1:
        assert (error, blocks[:8]) == (None, measured_blocks)
        return
    assert blocks == measured_blocks
    assert isinstance(error, NothingValid)
    assert error.exit == Exit.INVALID
    assert "driver late (12 of 12)" in error.problem
    faked.invalid = None
    assert faked.resume().end == "finished"
    assert len(entries(faked.out, "step-started", kind="prepare")) == 1
    assert window_row(faked.out, "w-a-u1-b5")["complete"]


def hopeless(*valid: str, of: str = "w-b-u2-", also: str = "") -> Invalid:
    """Calls all of a candidate at a level invalid but the `valid`, and one more."""
    return lambda _, windows: {
        name: "driver late"
        for name in windows
        if name == also or (name.startswith(of) and name not in valid)
    }


def noted(faked: FakedRun) -> list[str]:
    """What was said of windows that never were valid."""
    texts = (event.text for event in faked.events if isinstance(event, Note))
    return [text for text in texts if "for its sake" in text]


@pytest.mark.parametrize(("judge", "again"), [
    (hopeless(), [0, 1, 2]),
    (hopeless(also="w-a-u2-b4"), [0, 1, 2, 4]),
    (hopeless("w-b-u2-b4"), [0, 1, 2, 3]),
    (hopeless("w-b-u2-b0-again"), [0, 1, 2, 3, 4]),
], ids=["never valid", "another is invalid", "valid after all", "valid once"])  # fmt: skip
def test_no_block_is_repeated_for_who_never_was_valid_in_three(
    judge: Invalid, again: list[int], tmp_path: Path
) -> None:
    """The run says so once and measures the same blocks, each without a break."""
    faked = FakedRun(tmp_path, load={"repeat": "5"}, invalid=judge, schedulers=(Repeats(judge),))
    assert faked.run().end == "finished"
    windows = measured(faked)
    first = [name for name in windows if "-again" not in name]
    assert first == [*manifest(faked.out)["plan"]["windows"]]
    assert {*windows} - {*first} == {f"w-{of}-u2-b{at}-again" for of in "ab" for at in again}
    blocks = [name.replace("w-a-", "").replace("w-b-", "") for name in windows]
    assert blocks[::2] == blocks[1::2]
    assert noted(faked) == ([] if len(again) == 5 else [
        "no window of b at 2 users is valid in 3 blocks, so no block is measured a second time "
        "for its sake: driver late (6 of 6). read why"
    ])  # fmt: skip


def test_a_run_stops_where_every_comparison_needs_who_never_was_valid(tmp_path: Path) -> None:
    """Resumed, it measures the rest, each block once."""
    judge = hopeless(of="w-b-")
    faked = FakedRun(tmp_path, users=(1,), load={"repeat": "5"}, invalid=judge)
    faked.schedulers = (Repeats(judge),)
    error = faked.run().error
    assert isinstance(error, NothingValid)
    need = "every comparison needs a valid window of b at 1 user"
    assert error.problem == f"{need}, so the run stops: driver late (6 of 6)"
    assert len(measured(faked)) == 3 * 2 * 2
    assert faked.resume().end == "finished"
    assert len(measured(faked)) == 3 * 2 * 2 + 2 * 2
    assert len(noted(faked)) == 1


def test_who_is_compared_with_itself_is_measured_to_the_end(tmp_path: Path) -> None:
    """At two values of a factor, though the other candidate never is valid."""
    judge, vary = hopeless(of="w-b-"), "{database.settings.cluster_name: [x, y]}"
    faked = FakedRun(tmp_path, users=(2,), load={"repeat": "4"}, vary=vary, invalid=judge)
    faked.schedulers = (Repeats(judge),)
    assert faked.run().end == "finished"
    assert len(measured(faked)) == 2 * 2 * (4 + 3)
    assert sorted("cluster_name x" in text for text in noted(faked)) == [False, True]


MORE = [f"{BLOCK[0]}-more1", f"{BLOCK[0]}-more2"]


def test_additional_windows_are_written_down_first_and_measured_next(tmp_path: Path) -> None:
    """Each from a fresh restore; what was planned comes after them, count and time hold all."""
    seen: list[set[str]] = []

    def watch(so_far: SoFar) -> None:
        windows = {step.id for step in so_far.steps if step.kind == "window"}
        seen.append(windows & so_far.done)

    faked = FakedRun(tmp_path, users=(1,), schedulers=(watch, two_more))
    assert faked.run().end == "finished"
    assert measured(faked) == [BLOCK[0], *MORE, BLOCK[1]]
    # Schedulers are asked before the first window as well: a plan may have none.
    assert seen == [{*measured(faked)[:count]} for count in range(5)]
    started, added = entries(faked.out, "step-started"), entries(faked.out, "windows-added")
    order = [e.facts["id"] for e in started]
    at = order.index(BLOCK[0]) + 1
    assert order[at : at + 3] == [f"baseline-check-{MORE[0]}", f"restore-{MORE[0]}", MORE[0]]
    assert order.index("check-end-b") > order.index(BLOCK[1])
    assert added[0].facts["because"] == f"{BLOCK[0]} was measured"
    assert added[0].sequence < started[at].sequence
    plan = manifest(faked.out)["plan"]
    assert (plan["further"], set(plan["windows"])) == (MORE, set(BLOCK))
    starts = [event for event in faked.events if isinstance(event, StepStarted)]
    assert [each.number for each in starts] == list(range(1, len(starts) + 1))
    counts = {start.step.id: start.steps for start in starts}
    assert counts["tear-down-b"] == len(starts) == counts[BLOCK[0]] + 6
    first, _ = [event for event in faked.events if isinstance(event, WindowsAdded)]
    left = {each.step.id: each.left_s for each in starts}
    after = left[f"baseline-check-{MORE[0]}"] - left[f"restore-{BLOCK[1]}"]
    assert after > first.time_s * 0.99 > 0
