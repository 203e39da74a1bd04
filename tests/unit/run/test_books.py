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
from stithy.run.books import Journal, read_journal
from stithy.run.events import Event, InterimAnalysis, Note, StepProgress, StepSkipped, log_events
from stithy.run.session import Stop, UsersStart


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


def test_a_journal_comes_back_with_its_facts_and_without_a_line_that_was_not_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbered from 0, with both clocks. A torn line would join the next, and both be lost."""
    with pytest.raises(InfrastructureError, match="gone/journal: the journal could not be written"):
        Journal(tmp_path / "gone/journal", FakeClock()).write("event")
    path, write = tmp_path / "journal.jsonl", os.write
    journal = Journal(path, FakeClock())
    assert read_journal(path) == []
    assert journal.write("creating", kind="tree", facts={"path": "/ä b"}) == 0
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda fd, line: write(fd, line[:7]))
        with pytest.raises(InfrastructureError, match="no space left on device: make room"):
            journal.write("lost")
    assert journal.write("second") == 1
    journal.close()
    journal.close()
    assert Journal(path, FakeClock()).write("later") == 2
    entries = read_journal(path)
    assert [entry.event for entry in entries] == ["creating", "second", "later"]
    assert entries[0].facts == {"kind": "tree", "facts": {"path": "/ä b"}}
    assert entries[0].at_s - entries[0].monotonic_s == 500_000.0


def test_events_are_logged_with_their_keys_and_handed_on(tmp_path: Path) -> None:
    """Progress is not logged: it is in the hammer's own output."""
    seen: list[Event] = []
    observe = log_events(tmp_path / "run.log", FakeClock(), seen.append)
    skipped = StepSkipped(Step("w-a-u1-b4", "window", "a", Cost(1, 2, 0, 0)), "b is better")
    look = InterimAnalysis("b is better", 4, decided=True)
    events: list[Event] = [Note("mind the gap"), StepProgress("loading", 1, 2), look, skipped]
    for event in events:
        observe(event)
    assert seen == events
    note, *others = map(json.loads, (tmp_path / "run.log").read_text().splitlines())
    assert note == {"at_s": 1_000_000.0, "event": "noted", "text": "mind the gap"}
    assert [(other["event"], other.get("step_id")) for other in others] == [
        ("interim_analysis", None), ("step_skipped", "w-a-u1-b4"),
    ]  # fmt: skip


def test_the_first_signal_only_asks_the_second_ends_at_once_and_a_third_ends_nothing() -> None:
    """Between the second and the cleaning up one is answered, and nothing more."""
    shown: list[str] = []
    stop = Stop(shown.append)
    stop.check()
    with stop.shield():  # cleaning up is not cut short; a shield may hold another
        with stop.shield():
            stop.signal()
        stop.signal()
    assert [text.split(":")[0] for text in shown] == ["already cleaning up"] * 2
    assert not stop.asked.is_set()
    shown.clear()
    stop.signal()
    assert stop.asked.is_set()
    with pytest.raises(Interrupted):
        stop.check()
    with pytest.raises(Interrupted):
        stop.signal()
    stop.signal()
    assert [text.split(":")[0] for text in shown] == ["finishing", "already cleaning up"]


def test_a_part_stops_with_the_whole_or_alone() -> None:
    """What a part was asked alone ends there; a stop of the whole reaches every part."""
    whole = Stop()
    with whole.part() as part:
        part.asked.set()
        assert not whole.asked.is_set()
        whole.pass_on(part)
        assert not part.asked.is_set()
        whole.asked.set()
        assert part.asked.is_set()
        whole.pass_on(part)
        assert part.asked.is_set()
    with whole.part() as later:
        assert later.asked.is_set()


def test_what_begins_beside_users_counts_from_their_first_moment() -> None:
    """Whatever they say later; where they never begin, nobody waits for them for ever."""
    start, stop = UsersStart(), Stop()
    start.give(12.5)
    start.give(20.0)
    assert start.wait(stop) == 12.5
    stop.asked.set()
    with pytest.raises(Interrupted):
        UsersStart().wait(stop)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_processs_signals_are_heard_inside_only(number: signal.Signals, hang_up: None) -> None:
    """A closed terminal counts as Ctrl-C, but not under nohup. Handlers of before come back."""
    before, stop = signal.getsignal(number), Stop()
    with stop.install_signals():
        os.kill(os.getpid(), number)
        assert stop.asked.wait(5)
    assert signal.getsignal(number) is before
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ignoring = Stop()
    with ignoring.install_signals():
        os.kill(os.getpid(), signal.SIGHUP)
    assert not ignoring.asked.is_set()
