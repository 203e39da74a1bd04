"""The log of a run: its events with keys, one JSON object a line, for whoever asks later why.

The journal holds what must be known to go on or to clean; the log holds what a person may want to
know. It is not synced: losing its end in a crash costs nothing.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stithy.clock import Clock
from stithy.run.events import (
    Event,
    Looked,
    Note,
    Observer,
    RunStarted,
    StepFinished,
    StepSkipped,
    StepStarted,
    WindowsAdded,
)

NAMES: dict[type[Event], str] = {
    RunStarted: "run_started",
    StepStarted: "step_started",
    StepFinished: "step_finished",
    StepSkipped: "step_skipped",
    Looked: "looked",
    WindowsAdded: "windows_added",
    Note: "noted",
}
"""What is logged; progress and seconds are in the hammer's raw output already."""


def logging(path: Path, clock: Clock, observer: Observer) -> Observer:
    """An observer that logs to `path` and hands every event on to `observer`."""

    def observe(event: Event) -> None:
        _write(path, clock, event)
        observer(event)

    return observe


def _write(path: Path, clock: Clock, event: Event) -> None:
    if (name := NAMES.get(type(event))) is not None:
        line = {"at_s": clock.now_s(), "event": name, **KEYS[name](event)}
        # A full disk ends the run where results are written, not here.
        with suppress(OSError), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


def _step(event: Any) -> dict[str, Any]:
    """A step by its id; its cost and window are in the plan."""
    step = event.step
    head = {"step_id": step.id, "kind": step.kind, "candidate": step.candidate}
    return {**head, **{k: v for k, v in vars(event).items() if k != "step"}}


KEYS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "run_started": asdict,
    "step_started": _step,
    "step_finished": _step,
    "step_skipped": _step,
    "looked": asdict,
    "windows_added": asdict,
    "noted": asdict,
}
