"""The live display of a run on a terminal: the current step moves, finished ones go above it."""

from contextlib import suppress

from rich.console import Console
from rich.live import Live as RichLive
from rich.text import Text

from stithy.cli.running.display import expected_time, line_of, rates
from stithy.report.words.escape import seen
from stithy.run.events import (
    Event,
    InterimAnalysis,
    MachineBusy,
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
                self._above(line_of(event) or "")
            case StepStarted():
                self._step = event
                self._draw("")
            case StepFinished():
                self._above(
                    f"{event.step.id}: {event.result} ({format_duration(event.duration_s)})"
                )
            case StepSkipped():
                pass
            case MachineBusy():
                self._draw((line_of(event) or "").strip())
            case Progress():
                self._draw(f"{event.stage} {_bar(event.done, event.total)}")
            case SecondPassed():
                whole = event.window.ramp_up_s + event.window.duration_s
                self._draw(f"{event.phase} {_bar(event.second + 1, round(whole))} {rates(event)}")

    def _above(self, text: str) -> None:
        self._console.print(Text(seen(text)))

    def _draw(self, what: str) -> None:
        if (step := self._step) is None:
            return
        left = expected_time(step.left_s, step.left_s_undecided, " left")
        head = f"step {step.number} of {step.steps}: {step.step.id}, {left}"
        self._live.update(Text("\n".join(part for part in (head, what) if part)))


def _bar(done: int, total: int) -> str:
    """A bar of fixed width with its numbers, so that it reads without colour."""
    share = min(1.0, done / total) if total > 0 else 0.0
    full = round(share * BAR_WIDTH)
    return f"[{'=' * full}{' ' * (BAR_WIDTH - full)}] {done}/{total}"
