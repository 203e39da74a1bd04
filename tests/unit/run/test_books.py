"""What a run writes down as it goes, journal and log; and how it is stopped."""

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
from stithy.run.events import Event, InterimAnalysis, Note, Progress, StepSkipped, logging
from stithy.run.journal import Journal, read_journal
from stithy.run.stop import Stop


def test_entries_come_back_in_order_with_their_facts_and_a_journal_goes_on(tmp_path: Path) -> None:
    """Numbered from 0, with both clocks; a missing one is empty, and comes with its first line."""
    path = tmp_path / "journal"
    journal = Journal(path, FakeClock())
    assert read_journal(path) == []
    assert not path.exists()
    assert journal.write("creating", kind="tree", facts={"path": "/ä b"}) == 0
    assert journal.write("removed", number=0) == 1
    journal.close()
    journal.close()
    assert Journal(path, FakeClock()).write("later") == 2
    first, second, third = read_journal(path)
    assert [each.event for each in (first, second, third)] == ["creating", "removed", "later"]
    assert first.facts == {"kind": "tree", "facts": {"path": "/ä b"}}
    assert first.at_s - first.monotonic_s == 500_000.0
    assert (second.sequence, second.facts) == (1, {"number": 0})


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


def test_a_line_that_cannot_be_written_whole_is_an_error_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would count as written, or the next line would join it, and both be lost."""
    with pytest.raises(InfrastructureError, match="gone/journal: the journal could not be written"):
        Journal(tmp_path / "gone/journal", FakeClock()).write("event")
    path, write = tmp_path / "journal.jsonl", os.write
    journal = Journal(path, FakeClock())
    journal.write("first")
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda fd, line: write(fd, line[:7]))
        with pytest.raises(InfrastructureError, match="No space left on device: make room"):
            journal.write("lost")
    assert journal.write("second") == 1
    journal.close()
    assert [each.event for each in read_journal(path)] == ["first", "second"]


def test_events_are_logged_with_their_keys_and_handed_on(tmp_path: Path) -> None:
    """Progress is not logged: it is in the hammer's own output."""
    seen: list[Event] = []
    observe = logging(tmp_path / "run.log", FakeClock(), seen.append)
    step = Step("w-a-u1-b4", "window", "a", Cost(1.0, 2.0, 0, 0))
    events: list[Event] = [
        Note("mind the gap"),
        Progress("loading", 1, 2),
        InterimAnalysis("b is better", 4, decided=True),
        StepSkipped(step, "b is better"),
    ]
    for event in events:
        observe(event)
    assert seen == events
    noted, looked, skipped = map(json.loads, (tmp_path / "run.log").read_text().splitlines())
    assert noted == {"at_s": 1_000_000.0, "event": "noted", "text": "mind the gap"}
    assert looked.items() >= {"event": "interim_analysis", "blocks": 4, "decided": True}.items()
    assert skipped.items() >= {"step_id": "w-a-u1-b4", "because": "b is better"}.items()


def test_the_first_signal_only_asks_the_second_ends_at_once_and_a_third_ends_nothing() -> None:
    """Between the second and the cleaning up one is answered, and nothing more."""
    told: list[str] = []
    stop = Stop(told.append)
    stop.check()
    with stop.shield():  # cleaning up is not cut short; a shield may hold another
        with stop.shield():
            stop.signal()
        stop.signal()
    assert [text.split(":")[0] for text in told] == ["already cleaning up"] * 2
    assert not stop.asked.is_set()
    told.clear()
    stop.signal()
    assert stop.asked.is_set()
    with pytest.raises(Interrupted):
        stop.check()
    with pytest.raises(Interrupted):
        stop.signal()
    stop.signal()
    assert [text.split(":")[0] for text in told] == ["finishing", "already cleaning up"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_processs_signals_are_heard_inside_only(number: signal.Signals, hang_up: None) -> None:
    """A closed terminal counts as Ctrl-C. Handlers of before come back."""
    before = signal.getsignal(number)
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), number)
        assert stop.asked.wait(5)
    assert signal.getsignal(number) is before


def test_a_run_under_nohup_survives_its_terminal(hang_up: None) -> None:
    """What was ignored at the start stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), signal.SIGHUP)
    assert not stop.asked.is_set()
