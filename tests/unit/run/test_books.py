"""What a run writes down as it goes: journal, log and manifest; and how it is stopped."""

import json
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from stithy.errors import InfrastructureError, Interrupted
from stithy.plan.steps import Cost, Step
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.pieces import manifest_of
from stithy.run.events import Event, InterimAnalysis, Note, Progress, StepSkipped, logging
from stithy.run.executor import execute
from stithy.run.journal import Journal, read_journal
from stithy.run.stop import Stop
from support.faked_run import FakedRun


def test_entries_come_back_in_order_with_their_facts(tmp_path: Path) -> None:
    """Numbered from 0, with both clocks."""
    journal = Journal(tmp_path / "journal", FakeClock())
    assert journal.write("creating", kind="tree", facts={"path": "/ä b"}) == 0
    assert journal.write("removed", number=0) == 1
    journal.close()
    journal.close()
    first, second = read_journal(tmp_path / "journal")
    assert (first.sequence, first.event) == (0, "creating")
    assert first.facts == {"kind": "tree", "facts": {"path": "/ä b"}}
    assert first.at_s - first.monotonic_s == 500_000.0
    assert second.facts == {"number": 0}


def test_a_journal_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Numbers go on too."""
    Journal(tmp_path / "journal", FakeClock()).write("one")
    assert Journal(tmp_path / "journal", FakeClock()).write("two") == 1


def test_a_missing_journal_is_empty(tmp_path: Path) -> None:
    """A run that was killed before its first line has none."""
    assert read_journal(tmp_path / "none") == []
    Journal(tmp_path / "none", FakeClock())
    assert not (tmp_path / "none").exists()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=400))
def test_a_crash_at_any_byte_loses_no_whole_line_and_no_later_one(tmp_path: Path, cut: int) -> None:
    """A torn line is left out, and what is appended after it counts."""
    path = tmp_path / f"journal-{cut}"
    path.unlink(missing_ok=True)
    whole = Journal(path, FakeClock())
    for number in range(3):
        whole.write("event", number=number)
    whole.close()
    content = path.read_bytes()[:cut]
    path.write_bytes(content)
    kept = content.count(b"\n")
    later = Journal(path, FakeClock())
    later.write("later")
    later.close()
    events = [entry.event for entry in read_journal(path)]
    torn_but_whole = content and not content.endswith(b"\n") and content.endswith(b"}}")
    assert events == ["event"] * (kept + bool(torn_but_whole)) + ["later"]


def test_a_line_that_cannot_be_written_is_an_error_with_its_place(tmp_path: Path) -> None:
    """A line that is not on the disk must not count as written."""
    journal = Journal(tmp_path / "gone/journal", FakeClock())
    with pytest.raises(InfrastructureError, match="gone/journal: the journal could not be written"):
        journal.write("event")


def test_a_line_of_which_a_full_disk_takes_only_a_part_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next line would join it, and both be lost."""
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, FakeClock())
    journal.write("first")
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda fd, line: write(fd, line[:7]))
        with pytest.raises(InfrastructureError, match="No space left on device: make room"):
            journal.write("lost")
    assert journal.write("second") == 1
    journal.close()
    assert [each.event for each in read_journal(path)] == ["first", "second"]


def test_events_are_logged_with_their_keys_and_handed_on(tmp_path: Path) -> None:
    """Progress is not: it is in the hammer's own output."""
    seen: list[Event] = []
    observe = logging(tmp_path / "run.log", FakeClock(), seen.append)
    events: list[Event] = [Note("mind the gap"), Progress("loading", 1, 2)]
    for event in events:
        observe(event)
    assert seen == events
    [line] = (tmp_path / "run.log").read_text().splitlines()
    assert json.loads(line) == {"at_s": 1_000_000.0, "event": "noted", "text": "mind the gap"}


def test_what_was_not_needed_is_logged_with_the_reason(tmp_path: Path) -> None:
    """And how the question stood."""
    observe = logging(tmp_path / "run.log", FakeClock(), lambda event: None)
    step = Step("w-a-u1-b4", "window", "a", Cost(1.0, 2.0, 0, 0))
    observe(InterimAnalysis("b is better", 4, decided=True))
    observe(StepSkipped(step, "b is better"))
    looked, skipped = map(json.loads, (tmp_path / "run.log").read_text().splitlines())
    assert (looked["event"], looked["blocks"], looked["decided"]) == ("interim_analysis", 4, True)
    assert (skipped["event"], skipped["step_id"]) == ("step_skipped", "w-a-u1-b4")
    assert skipped["because"] == "b is better"


def test_limit_and_costs_of_the_study_are_told(tmp_path: Path) -> None:
    """A report is made from the results alone; what the study does not say stays missing."""
    load = {"limit": "p99 of payment ≤ 72 ms"}
    faked = FakedRun(tmp_path, load=load, costs={"b": "1200.50 EUR"})
    faked.run()
    told = manifest_of(RunDirectory(faked.out).manifest)
    assert told.plan.limit == LimitFacts(percentile="p99", transaction="payment", limit_s=0.072)
    assert [each.cost for each in told.candidates] == [
        None, CostFacts(amount=1200.5, currency="EUR"),
    ]  # fmt: skip


def test_the_like_of_a_candidate_costs_what_it_costs(tmp_path: Path) -> None:
    """In a null study nothing differs."""
    faked = FakedRun(tmp_path, costs={"a": "7 EUR", "b": "8 EUR"})
    execute(faked.start(null=True))
    told = manifest_of(RunDirectory(faked.out).manifest)
    assert {each.name: each.cost for each in told.candidates} == {
        name: CostFacts(amount=7, currency="EUR") for name in ("a", "a-again")
    }


def test_the_first_signal_only_asks() -> None:
    """Whoever waits sees it; a step ends by itself."""
    told: list[str] = []
    stop = Stop(told.append)
    stop.check()
    stop.signal()
    assert stop.asked.is_set()
    assert told == ["finishing: cleaning up and writing the report; Ctrl-C again ends at once"]
    with pytest.raises(Interrupted):
        stop.check()


def test_the_second_signal_ends_at_once() -> None:
    """By an error where the program is."""
    stop = Stop()
    stop.signal()
    with pytest.raises(Interrupted):
        stop.signal()


def test_cleaning_up_is_not_cut_short() -> None:
    """Signals inside are answered, nothing more; a shield may hold another."""
    told: list[str] = []
    stop = Stop(told.append)
    with stop.shield():
        with stop.shield():
            stop.signal()
        stop.signal()
    assert told == ["already cleaning up: wait a moment"] * 2
    assert not stop.asked.is_set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_processs_signals_are_heard_inside_only(number: signal.Signals) -> None:
    """Handlers of before come back."""
    before = signal.getsignal(number)
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), number)
        assert stop.asked.wait(5)
    assert signal.getsignal(number) is before


def test_a_third_signal_does_not_cut_the_end_short() -> None:
    """Between the second and the cleaning up it is answered, nothing more."""
    told: list[str] = []
    stop = Stop(told.append)
    stop.signal()
    with pytest.raises(Interrupted):
        stop.signal()
    stop.signal()
    assert told[-1] == "already cleaning up: wait a moment"


def test_a_terminal_that_is_closed_stops_the_run_cleanly(hang_up: None) -> None:
    """SIGHUP counts as Ctrl-C."""
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), signal.SIGHUP)
    assert stop.asked.is_set()


def test_a_run_under_nohup_survives_its_terminal(hang_up: None) -> None:
    """What was ignored at the start stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), signal.SIGHUP)
    assert not stop.asked.is_set()
