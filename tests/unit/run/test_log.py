"""The log tells what happened, with keys, and hands everything on."""

import json
from pathlib import Path

from fakes.clock import FakeClock
from stithy.run.events import Event, Note, Progress
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
