"""The log tells what happened, with keys, and hands everything on."""

import json
from pathlib import Path

from fakes.clock import FakeClock
from stithy.plan.steps import Cost, Step
from stithy.run.events import Event, Looked, Note, Progress, StepSkipped
from stithy.run.log import logging


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
    observe(Looked("b is better", 4, decided=True))
    observe(StepSkipped(step, "b is better"))
    looked, skipped = map(json.loads, (tmp_path / "run.log").read_text().splitlines())
    assert (looked["event"], looked["blocks"], looked["decided"]) == ("looked", 4, True)
    assert (skipped["event"], skipped["step_id"]) == ("step_skipped", "w-a-u1-b4")
    assert skipped["because"] == "b is better"
