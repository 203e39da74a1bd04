"""A run that asks `analysis`: it ends when decided, repeats what is invalid, searches."""

from pathlib import Path
from typing import Any

import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.analysis.search.capacity import capacity_finding
from stithy.cli.running.deciding import answered, deciders, invalid, searched, status
from stithy.errors import InfrastructureError
from stithy.metrics import NOPM
from stithy.report.context import Context, context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.deciding import Deciders
from stithy.run.events import InterimAnalysis, StepStarted
from stithy.run.executor import execute
from stithy.workload.program import RunRequest
from support.faked_run import FakedRun
from support.running import entries, manifest
from support.sample_run import Shape, build_run

UNTIL_DECIDED = {"repeat": ""}


def context(directory: Path) -> Context:
    """What a report would be made of."""
    return context_of(read_run(directory))


def test_a_run_of_equals_ends_at_the_first_look(tmp_path: Path) -> None:
    """The fake hammer does as much for everybody: equivalent after four of twenty blocks."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), load=UNTIL_DECIDED)
    assert execute(faked.start(), Deciders(status)).end == "finished"
    [interim] = [event for event in faked.events if isinstance(event, InterimAnalysis)]
    assert (interim.blocks, interim.decided) == (4, True)
    assert "equivalent within 2 %" in interim.text
    assert len(manifest(faked.out)["plan"]["skipped"]) == 2 * 16
    assert len(list((faked.out / "windows").iterdir())) == 2 * (1 + 4)
    read = context(faked.out)
    assert answered(read)
    assert read.evidence.primary.users == 2


def test_a_question_without_a_valid_block_is_not_answered(tmp_path: Path) -> None:
    """All blocks are tried; windows that were cut short are invalid."""
    hammer = FakeHammer(complete=False)
    faked = FakedRun(tmp_path, hammer=hammer, load=UNTIL_DECIDED, primary="{blocks: 5}")
    execute(faked.start(), Deciders(status))
    assert entries(faked.out, "step-skipped") == []
    assert {each.facts["blocks"] for each in entries(faked.out, "interim-analysis")} == {0}
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
    outcome = execute(faked.start(null=True), Deciders(status))
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
        execute(faked.start(null=True), Deciders(status))
    hammer.before_run = lambda: None
    assert faked.resume(judge=status).end == "finished"
    windows = {path.name for path in (faked.out / "windows").iterdir()}
    assert windows == {f"w-{name}-u1-b{block}" for name in ("a", "a-again") for block in range(4)}
    assert answered(context(faked.out))


def failing(*numbers: int) -> FakeHammer:
    """A hammer whose windows are valid, but for those with these numbers, in which it dies."""
    hammer = FakeHammer(sound=True)
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        if len(calls) in numbers:
            raise InfrastructureError("the hammer died", where="window", remedy="none")

    hammer.before_run = fail
    return hammer


def again(faked: FakedRun) -> list[str]:
    """The windows that were measured beside those of the plan."""
    found: list[str] = manifest(faked.out)["plan"]["further"]
    return found


def test_valid_blocks_are_measured_once(tmp_path: Path) -> None:
    """Nothing is added, and nobody is told of it."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), schedulers=deciders().schedulers)
    faked.run()
    assert again(faked) == []


def test_a_window_without_numbers_is_invalid(tmp_path: Path) -> None:
    """Its block is measured again, and then the question is answered by as many blocks as ever."""
    faked = FakedRun(tmp_path, users=(2,), hammer=failing(3), load={"repeat": ""})
    assert execute(faked.start(), deciders()).end == "finished"
    assert sorted(again(faked)) == ["w-a-u2-b1-again", "w-b-u2-b1-again"]
    [added] = entries(faked.out, "windows-added")
    assert "(no numbers)" in added.facts["because"]
    evidence = context_of(read_run(faked.out)).evidence
    assert evidence.effect("a", "b", 2, NOPM).pairs == 4
    assert len(evidence.windows) == 10
    [interim] = entries(faked.out, "interim-analysis")
    assert interim.facts["blocks"] == 4


def test_a_server_that_ended_by_itself_makes_its_window_invalid(tmp_path: Path) -> None:
    """For want of memory, for example; if it ends again that is told, and not tried once more."""
    engine = FakeEngine(ended_starts=frozenset({3, 5}))
    hammer = FakeHammer(sound=True)

    def lose() -> None:
        if len(engine.starts) in (3, 5):
            raise InfrastructureError("connection lost", where="hammer", remedy="none")

    hammer.before_run = lose
    faked = FakedRun(
        tmp_path, users=(1,), engine=engine, hammer=hammer, schedulers=deciders().schedulers
    )
    assert faked.run().end == "finished"
    assert sorted(again(faked)) == ["w-a-u1-b0-again", "w-b-u1-b0-again"]
    windows = {each.id: each for each in context_of(read_run(faked.out)).evidence.windows}
    assert "ended by SIGKILL" in windows["w-b-u1-b0-again"].row["missing_because"]


def test_a_run_that_a_person_stops_measures_nothing_again(tmp_path: Path) -> None:
    """The window that was cut short is left for `stithy resume`."""
    faked = FakedRun(tmp_path, users=(1,), schedulers=deciders().schedulers)
    faked.hammer = FakeHammer(complete=False, before_run=lambda: faked.stop.signal())
    assert faked.run().end == "interrupted"
    assert again(faked) == []


def test_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    """Every window would meet it."""
    faked = FakedRun(tmp_path, users=(1,), schedulers=deciders().schedulers)

    def fill() -> None:
        log = RunDirectory(faked.out).window("w-b-u1-b0").server_log
        log.write_text("PANIC: could not write to file: No space left on device\n")

    faked.hammer = FakeHammer(before_run=fill)
    assert faked.run().end == "failed"
    assert again(faked) == []


def test_unsteady_windows_are_valid(tmp_path: Path) -> None:
    """A stall is the storage's doing; what is merely noted is valid, too."""
    late, other = "w-disk-u4-b0", "w-memory-u4-b0"
    notes: dict[str, Any] = {"memory_limit_enforced": False, "checkpoints_inside": 0}
    changes: dict[str, dict[str, Any]] = {late: {"lateness_p99_s": 1.0}, other: notes}
    build_run(tmp_path, Shape(users=(4,), changes=changes))
    found = invalid(RunDirectory(tmp_path), [late, other, "w-none-u4-b0"])
    assert found == {late: "driver late"}
    assert invalid(RunDirectory(tmp_path), [other]) == {}


FIND = {"find": "max users with p95 of new-order <= 10 ms", "find_within": "[1, 64]"}


SERVES = {"a": 3, "b": 5}


def response_s(request: RunRequest) -> float:
    """2 ms for each user and the share of what the candidate serves within 10 ms."""
    assert request.hlog_stem is not None  # a run always keeps its latencies
    candidate = request.hlog_stem.parent.name.split("-")[1]
    return 0.010 * request.users / SERVES[candidate]


def faked_run(root: Path, *, users: tuple[int, ...] | None = None) -> FakedRun:
    """A run of a search with candidates that serve 3 and 5 users."""
    load = {**FIND, **({} if users else {"repeat": ""})}
    hammer = FakeHammer(sound=True, response_s=response_s)
    return FakedRun(root, hammer=hammer, users=users, load=load, schedulers=(searched,))


def measured(faked: FakedRun) -> list[str]:
    """The windows that came to their end, in order, over all sessions."""
    ended = [str(each.facts["id"]) for each in entries(faked.out, "step-finished")]
    return [step for step in ended if step.startswith("w-")]


def context_so_far(faked: FakedRun) -> Context:
    """What a report would be made of."""
    return context_of(read_run(faked.out))


def brackets(faked: FakedRun) -> dict[str, tuple[int | None, int | None, int | None]]:
    """Both ends of each candidate's bracket, and its windows at the end that has fewer."""
    found = capacity_finding(context_so_far(faked).evidence)
    assert found is not None
    return {
        each.candidate: (
            each.low.users if each.low else None,
            each.high.users if each.high else None,
            each.windows_least,
        )
        for each in found.of
    }


def test_a_search_alone_measures_what_it_needs_and_no_more(tmp_path: Path) -> None:
    """Candidates share the levels that both need; each end is measured twice."""
    faked = faked_run(tmp_path)
    assert faked.run().end == "finished"
    assert brackets(faked) == {"a": (3, 4, 2), "b": (5, 6, 2)}
    levels = [window.rsplit("-", 2)[1:] for window in measured(faked)]
    assert [int(users[1:]) for users, _ in levels] == [
        1, 1, 2, 2, 4, 4, 3, 3, 4, 8, 6, 5, 5, 6,
    ]  # fmt: skip
    assert answered(context_so_far(faked))


def test_windows_at_tried_levels_are_marked_and_otherwise_as_all_others(tmp_path: Path) -> None:
    """They are told apart in the results, in the journal and in the manifest."""
    faked = faked_run(tmp_path)
    faked.run()
    evidence = context_so_far(faked).evidence
    assert all(window.tried for window in evidence.windows)
    assert evidence.listed == ()
    plan = manifest(faked.out)["plan"]
    assert (plan["windows"], plan["question"]) == ([], None)
    assert plan["further"] == measured(faked)
    assert plan["search"]["alone"]
    added = [each.facts["because"] for each in entries(faked.out, "windows-added")]
    assert added[0] == "the search tries 1 user on a and b"
    assert added[-1] == "the search measures 6 users again on b"


def test_a_search_begins_with_what_the_listed_levels_told(tmp_path: Path) -> None:
    """Their windows count; an end that is listed is measured once more, as its next block."""
    faked = faked_run(tmp_path, users=(2, 4))
    faked.run()
    assert brackets(faked) == {"a": (3, 4, 2), "b": (5, 6, 2)}
    tried = [window for window in context_so_far(faked).evidence.windows if window.tried]
    assert {window.users for window in tried} == {3, 4, 8, 6, 5}
    assert [window.id for window in tried if window.users == 4] == ["w-a-u4-b1"]
    assert context_so_far(faked).evidence.listed == (2, 4)


def test_blocks_of_the_list_are_measured_again_and_levels_of_the_search_by_itself(
    tmp_path: Path,
) -> None:
    """Both schedulers together: what says nothing is measured once more, by one of them."""
    faked = faked_run(tmp_path, users=(2,))
    faked.schedulers = deciders().schedulers
    fails = iter((True, False, False, False, True))

    def fail() -> None:
        if next(fails, False):
            raise InfrastructureError("the hammer died", where="window", remedy="none")

    faked.hammer.before_run = fail
    assert faked.run().end == "finished"
    assert brackets(faked) == {"a": (3, 4, 2), "b": (5, 6, 2)}
    found = [window.rsplit("-u", 1)[1] for window in measured(faked)]
    assert found[:4] == ["2-b0", "2-b0", "2-b0-again", "2-b0-again"]
    assert not any("again" in each for each in found[4:])
    evidence = context_so_far(faked).evidence
    assert [each.users for each in evidence.windows if each.failures] == [2, 4]
    assert sum(each.users == 4 and each.block == 1 for each in evidence.windows) > 0


def test_after_a_cut_the_search_goes_on_to_the_same_windows(tmp_path: Path) -> None:
    """Wherever it was cut off, from journal and results alone."""
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    whole, faked = faked_run(tmp_path / "whole"), faked_run(tmp_path / "cut")
    whole.run()
    _fail_after(faked, 5)
    assert faked.run().end == "failed"
    faked.on_event = lambda event: None
    assert faked.resume().end == "finished"
    assert sorted(measured(faked)) == sorted(measured(whole))
    assert brackets(faked) == brackets(whole)


def _fail_after(faked: FakedRun, windows: int) -> None:
    """The run fails at the start of a window, once so many are measured."""

    def fail(event: object) -> None:
        begins = isinstance(event, StepStarted) and event.step.kind == "window"
        if begins and len(measured(faked)) == windows:
            raise InfrastructureError("the disk is gone", where="here", remedy="put it back")

    faked.on_event = fail


def test_a_window_that_cannot_be_read_ends_the_search(tmp_path: Path) -> None:
    """It would be tried for ever; what was found by then is told as cut off."""
    faked = faked_run(tmp_path)

    def lose(event: object) -> None:
        if isinstance(event, StepStarted) and event.step.id == "w-a-u4-b0":
            for path in (faked.out / "windows").glob("w-*-u2-b0/window.parquet"):
                path.unlink()

    faked.on_event = lose
    assert faked.run().end == "finished"
    assert {window.rsplit("-", 2)[1] for window in measured(faked)} == {"u1", "u2", "u4"}


def test_a_study_without_a_search_is_not_asked_for_windows(tmp_path: Path) -> None:
    """Nothing is read for it, either."""
    faked = FakedRun(tmp_path, schedulers=(searched,))
    assert execute(faked.start(), Deciders(schedulers=faked.schedulers)).end == "finished"
    assert entries(faked.out, "windows-added") == []


def test_a_search_in_which_nothing_is_valid_answers_nothing(tmp_path: Path) -> None:
    """The lowest level is tried twice, and no other."""
    faked = faked_run(tmp_path)
    faked.hammer = FakeHammer(complete=False)
    faked.run()
    assert len(measured(faked)) == 4
    assert not answered(context_so_far(faked))
