"""What a person sees while a study runs: a live display on a terminal, plain lines otherwise.

Both go to standard error; standard output stays for what a program may want to read.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from rich.console import Console
from rich.live import Live as RichLive
from rich.text import Text

from stithy.cli.talk.render import say
from stithy.clock import Clock, SystemClock
from stithy.environment import forbids_colour
from stithy.report.words.escape import escape_unseen
from stithy.run.events import (
    Event,
    InterimAnalysis,
    MachineBusy,
    Note,
    Observer,
    RunEnded,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepProgress,
    StepSkipped,
    StepStarted,
    WindowsAdded,
    WindowSampled,
)
from stithy.units import format_duration

PLAIN_EVERY_S = 10
"""A plain line for each of so many seconds of a window: a log of hours must stay readable."""


class Plain:
    """One line an event, with the local time of day."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def show(self, event: Event) -> None:
        """Print the line of an event, if it has one."""
        text = describe_event(event)
        if text is not None:
            at = datetime.fromtimestamp(self._clock.now_s())
            say(f"{at:%H:%M:%S} {text}")


def describe_event(event: Event) -> str | None:
    """An event in one line; None for those that a log does not need."""
    match event:
        case RunStarted():
            expected = format_expected_time(event.time_s, event.time_s_undecided)
            return f"{event.steps} steps, {expected}; results go to {event.directory}"
        case StepStarted():
            left = format_expected_time(event.left_s, event.left_s_undecided, " left")
            return f"[{event.number}/{event.steps}] {event.step.id}, {left}"
        case StepFinished():
            return f"    {event.result} ({format_duration(event.duration_s)})"
        case Note():
            return f"note: {event.text}"
        case MachineBusy():
            waited, most = format_duration(event.waited_s), format_duration(event.most_s)
            return f"    waiting for a quiet machine ({waited} of at most {most}): {event.text}"
        case SecondPassed():
            second = event.second + 1
            shown = f"    {second} s ({event.phase}), last second: {format_rates(event)}"
            return shown if second % PLAIN_EVERY_S == 0 else None
        case InterimAnalysis():
            return f"interim analysis: {event.text}"
        case WindowsAdded():
            return f"added: {event.because} ({format_expected_time(event.time_s, None, ' more')})"
        case StepProgress() | StepSkipped() | WindowSampled() | RunEnded():
            return None


def format_expected_time(time_s: float, time_s_undecided: float | None, word: str = "") -> str:
    """A time in words: `about 5 min left (25 min if it stays undecided)`."""
    shown = f"about {format_duration(round(time_s))}{word}"
    if time_s_undecided is None:
        return shown
    return f"{shown} ({format_duration(round(time_s_undecided))} if it stays undecided)"


def format_rates(event: SecondPassed) -> str:
    """What the users do now, in numbers."""
    p95 = "" if event.p95_s is None else f", p95 {format_duration(event.p95_s)}"
    return f"{event.rate:,.0f} {event.label}{p95}"


@contextmanager
def display() -> Iterator[Observer]:
    """The display that fits where standard error goes."""
    if not sys.stderr.isatty():
        yield Plain(SystemClock()).show
        return
    with Live(colour=not forbids_colour()) as live:
        yield live.show


def show_to_all(*observers: Observer) -> Observer:
    """An observer that hands every event on to each of these."""

    def show(event: Event) -> None:
        for observer in observers:
            observer(event)

    return show


BAR_WIDTH = 24


class Live:
    """A display of two lines that are drawn again with each event."""

    def __init__(self, *, colour: bool) -> None:
        """`colour` False draws the same without it."""
        self._console = Console(stderr=True, no_color=not colour, highlight=False)
        self._live = RichLive(console=self._console, refresh_per_second=8, transient=True)
        self._step: StepStarted | None = None

    def __enter__(self) -> "Live":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._live.stop()

    def show(self, event: Event) -> None:
        """Show one event; a terminal that was closed ends the display and not the run."""
        with suppress(OSError):
            self._show(event)

    def _show(self, event: Event) -> None:
        match event:
            case RunStarted() | Note() | InterimAnalysis() | WindowsAdded():
                self._above(describe_event(event) or "")
            case StepStarted():
                self._step = event
                self._draw("")
            case StepFinished():
                self._above(
                    f"{event.step.id}: {event.result} ({format_duration(event.duration_s)})"
                )
            case StepSkipped() | WindowSampled() | RunEnded():
                pass
            case MachineBusy():
                self._draw((describe_event(event) or "").strip())
            case StepProgress():
                self._draw(f"{event.stage} {_draw_bar(event.done, event.total)}")
            case SecondPassed():
                whole = event.window.ramp_up_s + event.window.duration_s
                drawn = _draw_bar(event.second + 1, round(whole))
                self._draw(f"{event.phase} {drawn} {format_rates(event)}")

    def _above(self, text: str) -> None:
        self._console.print(Text(escape_unseen(text)))

    def _draw(self, what: str) -> None:
        if (step := self._step) is None:
            return
        left = format_expected_time(step.left_s, step.left_s_undecided, " left")
        head = f"step {step.number} of {step.steps}: {step.step.id}, {left}"
        self._live.update(Text("\n".join(part for part in (head, what) if part)))


def _draw_bar(done: int, total: int) -> str:
    share = min(1.0, done / total) if total > 0 else 0.0
    full = round(share * BAR_WIDTH)
    return f"[{'=' * full}{' ' * (BAR_WIDTH - full)}] {done}/{total}"
