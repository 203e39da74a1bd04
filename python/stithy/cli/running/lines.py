"""A running study in plain lines, for a log: one an event, with the local time of day."""

from datetime import datetime

from stithy.cli.talk.render import say
from stithy.clock import Clock
from stithy.run.events import (
    Event,
    Looked,
    Note,
    Progress,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepSkipped,
    StepStarted,
    WindowsAdded,
)
from stithy.units import format_duration

PLAIN_EVERY_S = 10
"""A plain line for each of so many seconds of a window: a log of hours must stay readable."""


class Plain:
    """One line an event, with the local time of day."""

    def __init__(self, clock: Clock) -> None:
        """`clock` tells the time of day."""
        self._clock = clock

    def show(self, event: Event) -> None:
        """Print the line of an event, if it has one."""
        text = line_of(event)
        if text is not None:
            at = datetime.fromtimestamp(self._clock.now_s())
            say(f"{at:%H:%M:%S} {text}")


def line_of(event: Event) -> str | None:
    """An event in one line; None for those that a log does not need."""
    match event:
        case RunStarted():
            expected = expected_time(event.time_s, event.time_s_undecided)
            return f"{event.steps} steps, {expected}; results go to {event.directory}"
        case StepStarted():
            left = expected_time(event.left_s, event.left_s_undecided, " left")
            return f"[{event.number}/{event.steps}] {event.step.id}, {left}"
        case StepFinished():
            return f"    {event.result} ({format_duration(event.duration_s)})"
        case Note():
            return f"note: {event.text}"
        case SecondPassed():
            return _second(event) if (event.second + 1) % PLAIN_EVERY_S == 0 else None
        case Looked():
            return f"look: {event.text}"
        case WindowsAdded():
            return f"added: {event.because} ({expected_time(event.time_s, None, ' more')})"
        case Progress() | StepSkipped():
            return None


def expected_time(time_s: float, time_s_undecided: float | None, word: str = "") -> str:
    """A time in words: `about 5 min left (25 min if it stays undecided)`."""
    told = f"about {format_duration(round(time_s))}{word}"
    if time_s_undecided is None:
        return told
    return f"{told} ({format_duration(round(time_s_undecided))} if it stays undecided)"


def _second(event: SecondPassed) -> str:
    return f"    {event.second + 1} s ({event.phase}): {rates(event)}"


def rates(event: SecondPassed) -> str:
    """What the users do now, in numbers."""
    if event.p95_s is None:
        return f"{event.tpm:,.0f} TPM"
    return f"{event.tpm:,.0f} TPM, p95 {format_duration(event.p95_s)}"
