"""The steps are done in order and written down; however a run ends, nothing is left."""

from pathlib import Path

import polars as pl
import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from stithy.errors import InfrastructureError, Interrupted, InvalidMeasurement, PreconditionError
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.run.events import Event, RunStarted, SecondPassed, StepFinished, StepStarted
from stithy.wire.messages import ErrorCount
from support.faked_run import FakedRun
from support.running import entries, left_by, manifest, window_row


@pytest.fixture
def faked(tmp_path: Path) -> FakedRun:
    """A run that works."""
    return FakedRun(tmp_path)


def fault(text: str = "the drive is gone") -> InfrastructureError:
    """An error from outside."""
    return InfrastructureError(text, where="somewhere", remedy="none")


def test_every_step_of_the_plan_is_done_and_written_down(faked: FakedRun) -> None:
    """Started and finished, in the plan's order, for the journal and for who watches."""
    context = faked.start()
    planned = [step.id for step in context.plan.steps]
    from stithy.run.executor import execute

    outcome = execute(context)
    assert (outcome.end, outcome.error, outcome.left) == ("finished", None, ())
    assert [each.facts["id"] for each in entries(faked.out, "step-started")] == planned
    assert [each.facts["id"] for each in entries(faked.out, "step-finished")] == planned
    kinds = [type(event) for event in faked.events]
    assert kinds[0] is RunStarted
    assert kinds.count(StepStarted) == kinds.count(StepFinished) == len(planned)
    assert kinds.count(SecondPassed) == 4


def test_results_are_whole_and_nothing_else_is_left(faked: FakedRun, tmp_path: Path) -> None:
    """All tables can be read; candidates, sockets and the register's entry are gone."""
    faked.run()
    run = read_run(faked.out)
    assert run.problems == ()
    assert run.window.height == 4
    assert run.window["complete"].all()
    assert run.restores["identical"].all()
    assert manifest(faked.out)["end"] == "finished"
    assert left_by(faked.out) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "state", "study.yaml"]
    assert list((tmp_path / "state/runs").iterdir()) == []


def test_each_window_starts_from_the_master_copy(tmp_path: Path) -> None:
    """What one window changed is not there in the next."""
    seen: list[str] = []
    engine = FakeEngine()
    faked = FakedRun(tmp_path, engine=engine)
    faked.hammer = FakeHammer(
        before_run=lambda: seen.append((engine.starts[-1].data / "log").read_text())
    )
    faked.run()
    # Loading, the check after it, and the window's own start.
    assert seen == ["empty" + "started\n" * 3] * 4


def test_a_failing_window_is_written_down_and_the_run_goes_on(tmp_path: Path) -> None:
    """The row has no numbers and says why; the other windows are measured."""
    # Starts: loading, check, then the windows.
    faked = FakedRun(tmp_path, engine=FakeEngine(broken_starts=frozenset({3})))
    outcome = faked.run()
    assert outcome.end == "finished"
    rows = [window_row(faked.out, window) for window in manifest(faked.out)["plan"]["windows"]]
    assert [row["complete"] for row in rows] == [False, True, True, True]
    assert rows[0]["missing_because"] == "fake server: it fell over"
    assert rows[0]["nopm"] is None
    assert rows[0]["errors"] is None


def test_a_server_in_trouble_is_not_asked_to_end_the_ordinary_way(tmp_path: Path) -> None:
    """One that recovers from a crash would wait for ever; those of good windows end as they do."""
    engine = FakeEngine()
    FakedRun(tmp_path, engine=engine, hammer=FakeHammer({"run": fault()})).run()
    # Loading, the check after it, four windows; in between, two checks at the candidates' ends.
    assert sorted(engine.stops) == [False] * 4 + [True] * 4


def test_a_server_that_held_its_answers_back_is_ended_at_once(tmp_path: Path) -> None:
    """What held them back would hold back an ordinary end for minutes, too."""
    engine = FakeEngine()
    FakedRun(tmp_path, engine=engine, hammer=FakeHammer(complete=False)).run()
    assert engine.stops.count(True) == 4


def test_a_hammer_that_gives_up_makes_its_window_incomplete(tmp_path: Path) -> None:
    """The reason is its most frequent error."""
    errors = (ErrorCount(sqlstate="XX000", text="what\na mess", count=3),)
    faked = FakedRun(tmp_path, hammer=FakeHammer(complete=False, errors=errors))
    faked.run()
    row = window_row(faked.out, "w-a-u1-b0")
    assert row["missing_because"] == "the hammer gave up: what a mess (3 times)"
    assert row["nopm"] is not None


def test_a_hammer_that_ended_early_says_why(tmp_path: Path) -> None:
    """By its last warning, where nothing else explains it."""
    late = ("something else", "answers were still missing a minute after the end")
    FakedRun(tmp_path, hammer=FakeHammer(complete=False, warnings=late)).run()
    row = window_row(tmp_path / "out", "w-a-u1-b0")
    assert row["missing_because"] == "answers were still missing a minute after the end"


def test_shared_memory_that_ran_full_is_not_the_candidates_disk(tmp_path: Path) -> None:
    """The server's words are the same, but /dev/shm is another file system."""
    text = 'could not resize shared memory segment "/x" to 9 bytes: No space left on device'
    errors = (ErrorCount(sqlstate="53100", text=text, count=1),)
    outcome = FakedRun(tmp_path, hammer=FakeHammer(complete=False, errors=errors)).run()
    assert outcome.end == "finished"


def test_a_full_disk_ends_the_run_after_its_window_is_written(tmp_path: Path) -> None:
    """Later windows would meet it too."""
    errors = (ErrorCount(sqlstate="53100", text="No space left on device", count=1),)
    faked = FakedRun(tmp_path, hammer=FakeHammer(complete=False, errors=errors))
    outcome = faked.run()
    assert outcome.end == "failed"
    assert isinstance(outcome.error, InfrastructureError)
    assert "ran full" in outcome.error.problem
    assert len(list(RunDirectory(faked.out).windows.iterdir())) == 1
    assert left_by(faked.out) == []


def test_an_error_while_loading_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    """The manifest and the journal say how it ended."""
    faked = FakedRun(tmp_path, hammer=FakeHammer({"prepare": fault()}))
    outcome = faked.run()
    assert outcome.end == "failed"
    assert manifest(faked.out)["end_because"] == "somewhere: the drive is gone: none"
    assert entries(faked.out, "step-failed", id="prepare")
    assert left_by(faked.out) == []
    assert not (tmp_path / "a").exists()


def test_conditions_broken_after_loading_end_the_run(tmp_path: Path) -> None:
    """No window can be trusted on such a database."""
    outcome = FakedRun(tmp_path, hammer=FakeHammer(broken=True)).run()
    assert isinstance(outcome.error, InvalidMeasurement)
    conditions = pl.read_parquet(RunDirectory(tmp_path / "out").table("conditions"))
    assert conditions["holds"].to_list().count(False) == 1


def test_a_bug_is_not_hidden_and_leaves_nothing(tmp_path: Path) -> None:
    """It goes up as it is, after everything was taken down."""

    def burst() -> None:
        raise ZeroDivisionError

    faked = FakedRun(tmp_path, hammer=FakeHammer(before_run=burst))
    with pytest.raises(ZeroDivisionError):
        faked.run()
    assert left_by(faked.out) == []
    assert manifest(faked.out)["end"] == "failed"


def test_the_first_signal_ends_the_run_after_the_step_under_way(tmp_path: Path) -> None:
    """What was measured stays; nothing is left."""
    faked = FakedRun(tmp_path)

    def press(event: Event) -> None:
        if isinstance(event, StepFinished) and event.step.kind == "window":
            faked.stop.signal()

    faked.on_event = press
    outcome = faked.run()
    assert outcome.end == "interrupted"
    assert isinstance(outcome.error, Interrupted)
    assert len(list(RunDirectory(faked.out).windows.iterdir())) == 1
    assert left_by(faked.out) == []


def test_the_second_signal_ends_the_step_under_way_too(tmp_path: Path) -> None:
    """At once, and still nothing is left."""
    faked = FakedRun(tmp_path)

    def press_twice(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.kind == "restore":
            faked.stop.signal()
            faked.stop.signal()

    faked.on_event = press_twice
    outcome = faked.run()
    assert outcome.end == "interrupted"
    assert not entries(faked.out, "step-started", kind="restore")
    assert left_by(faked.out) == []


def test_a_refused_candidate_leaves_no_trace(tmp_path: Path) -> None:
    """Neither a run directory nor an entry in the register."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").touch()
    with pytest.raises(PreconditionError):
        FakedRun(tmp_path).run()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "study.yaml"]


def test_users_files_in_a_made_directory_are_not_removed(tmp_path: Path) -> None:
    """The directory stays with them, and the run says so."""
    faked = FakedRun(tmp_path)

    def drop(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step.id == "tear-down-a":
            (tmp_path / "a/mine").touch()

    faked.on_event = drop
    outcome = faked.run()
    assert isinstance(outcome.error, InfrastructureError)
    assert "directory could not be removed" in outcome.error.problem
    assert [left.resource.kind for left in outcome.left] == ["directory"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["mine"]
