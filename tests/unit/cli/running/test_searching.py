"""A run whose study searches: which windows it measures, and how it goes on after a cut."""

from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.analysis.search.served import served
from stithy.cli.running.advisers import advisers
from stithy.cli.running.looking import answered
from stithy.cli.running.searching import searched
from stithy.errors import InfrastructureError
from stithy.report.context import Context, context_of
from stithy.results.read import read_run
from stithy.run.events import StepStarted
from stithy.run.executor import execute
from stithy.workload.program import RunRequest
from support.faked_run import FakedRun
from support.running import entries, manifest

FIND = {"find": "max users with p95 of new-order <= 10 ms", "find_within": "[1, 64]"}
SERVES = {"a": 3, "b": 5}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def response_s(request: RunRequest) -> float:
    """2 ms for each user and the share of what the candidate serves within 10 ms."""
    assert request.hlog_stem is not None  # a run always keeps its latencies
    candidate = request.hlog_stem.parent.name.split("-")[1]
    return 0.010 * request.users / SERVES[candidate]


def faked_run(root: Path, *, users: tuple[int, ...] | None = None) -> FakedRun:
    """A run of a search with candidates that serve 3 and 5 users."""
    load = {**FIND, **({} if users else {"repeat": ""})}
    hammer = FakeHammer(sound=True, response_s=response_s)
    return FakedRun(root, hammer=hammer, users=users, load=load, advisers=(searched,))


def measured(faked: FakedRun) -> list[str]:
    """The windows that came to their end, in order, over all sessions."""
    ended = [str(each.facts["id"]) for each in entries(faked.out, "step-finished")]
    return [step for step in ended if step.startswith("w-")]


def context(faked: FakedRun) -> Context:
    """What a report would be made of."""
    return context_of(read_run(faked.out))


def brackets(faked: FakedRun) -> dict[str, tuple[int | None, int | None, int | None]]:
    """Both ends of each candidate's bracket, and its windows at the end that has fewer."""
    found = served(context(faked).evidence)
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
    assert answered(context(faked))


def test_windows_at_tried_levels_are_marked_and_otherwise_as_all_others(tmp_path: Path) -> None:
    """They are told apart in the results, in the journal and in the manifest."""
    faked = faked_run(tmp_path)
    faked.run()
    evidence = context(faked).evidence
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
    tried = [window for window in context(faked).evidence.windows if window.tried]
    assert {window.users for window in tried} == {3, 4, 8, 6, 5}
    assert [window.id for window in tried if window.users == 4] == ["w-a-u4-b1"]
    assert context(faked).evidence.listed == (2, 4)


def test_blocks_of_the_list_are_measured_again_and_levels_of_the_search_by_itself(
    tmp_path: Path,
) -> None:
    """Both advisers of a run together: what says nothing is measured once more, by one of them."""
    faked = faked_run(tmp_path, users=(2,))
    faked.advisers = advisers()
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
    evidence = context(faked).evidence
    assert [each.users for each in evidence.windows if each.failures] == [2, 4]
    assert sum(each.users == 4 and each.block == 1 for each in evidence.windows) > 0


def test_after_a_cut_the_search_goes_on_to_the_same_windows(tmp_path: Path) -> None:
    """Wherever it was cut off, from journal and results alone."""
    (tmp_path / "whole").mkdir()
    whole = faked_run(tmp_path / "whole")
    whole.run()
    for cut in (0, 5):
        root = tmp_path / f"cut-{cut}"
        root.mkdir()
        faked = faked_run(root)
        _fail_after(faked, cut)
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
    faked = FakedRun(tmp_path, advisers=(searched,))
    assert execute(faked.start(), advisers=faked.advisers).end == "finished"
    assert entries(faked.out, "windows-added") == []


def test_a_search_in_which_nothing_is_valid_answers_nothing(tmp_path: Path) -> None:
    """The lowest level is tried twice, and no other."""
    faked = faked_run(tmp_path)
    faked.hammer = FakeHammer(complete=False)
    faked.run()
    assert len(measured(faked)) == 4
    assert not answered(context(faked))
