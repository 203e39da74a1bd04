"""Where a run stands: made of its events alone, and read by whoever serves it.

Nothing of it reaches results, and nothing is asked of the server or the hammer. Of windows that are
measured, the command line's judge says which are invalid, in the pause after each. All that is kept
is bounded, however long a run lasts.
"""

import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from stithy.clock import Clock
from stithy.collectors.collector import TimedSample
from stithy.errors import StithyError
from stithy.results.layout import RunDirectory
from stithy.run.deciding import Invalid
from stithy.run.events import (
    Event,
    InterimAnalysis,
    MachineBusy,
    Note,
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

INVALID_SHOWN = 50
"""Own: the last invalid windows that are named; all are counted, and the report has them."""
SECONDS_MOST = 600
"""Own: so many seconds of a candidate's last window are kept, as many as a figure can show."""
HAPPENED_MOST = 60
"""Own: the last events in words; all of them are in the run's log."""


@dataclass(frozen=True)
class LiveSecond:
    """A second of a window; `sequence` and `window` grow as long as anybody listens."""

    sequence: int
    window: int
    passed: SecondPassed


@dataclass
class LiveState:
    """What the events have told so far.

    `happened`: what a person may want to read, with its Unix time. `seconds`: of each candidate's
    last window. `measured`, `faulty`: windows of each candidate in this session, and the invalid
    ones. `read`: the last samples of the window, by collector and subject. `began_s`: the current
    step's monotonic time. `invalid` None: not known.
    """

    begun: RunStarted | None = None
    steps: int | None = None
    step: StepStarted | None = None
    began_s: float = 0.0
    second: SecondPassed | None = None
    progress: StepProgress | None = None
    interim: InterimAnalysis | None = None
    busy: MachineBusy | None = None
    sampled: WindowSampled | None = None
    read: dict[tuple[str, str], dict[str, TimedSample]] = field(default_factory=dict)
    ended: RunEnded | None = None
    windows_done: int = 0
    invalid: dict[str, str] | None = field(default_factory=dict)
    measured: Counter[str | None] = field(default_factory=Counter)
    faulty: Counter[str | None] = field(default_factory=Counter)
    seconds: dict[str, deque[LiveSecond]] = field(default_factory=dict)
    happened: deque[tuple[float, Event]] = field(
        default_factory=lambda: deque(maxlen=HAPPENED_MOST)
    )

    @property
    def directory(self) -> RunDirectory | None:
        """The run's directory; None before it begins."""
        return RunDirectory(Path(self.begun.directory)) if self.begun else None

    def list_devices(self) -> Mapping[str, Mapping[str, TimedSample]]:
        """What was last read of each block device, by metric; of none a reason, under ""."""
        return {subject: found for (name, subject), found in self.read.items() if name == "block"}

    def list_cpu_shares(self) -> Mapping[str, float]:
        """What all CPUs of the host did in the last second, by metric; nothing if unknown."""
        samples = self.read.get(("cpu", ""), {}).values()
        return {of.sample.metric: of.sample.value for of in samples if of.sample.value is not None}


class LiveRun:
    """Hears the events of a run, and knows where it stands; events and questions may cross."""

    def __init__(self, clock: Clock, invalid: Invalid) -> None:
        self.clock = clock
        self._invalid = invalid
        self._state = LiveState()
        self._sequence = self._windows = 0
        self._version = 0
        self._news = threading.Condition()

    def show(self, event: Event) -> None:
        """Hear one event; an `Observer`."""
        # Judging reads files: whoever asks meanwhile must not wait for it.
        judged = self._find_invalid(event)
        with self._news:
            self._hear(event)
            known = self._state.invalid
            self._state.invalid = None if known is None or judged is None else {**known, **judged}
            if judged and isinstance(event, StepFinished):
                self._state.faulty[event.step.candidate] += len(judged)
            self._version += 1
            self._news.notify_all()

    @contextmanager
    def hold(self) -> Iterator[LiveState]:
        """Inside, the state does not change."""
        with self._news:
            yield self._state

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until more was heard than by this version, or for so long; returns the version."""
        with self._news:
            self._news.wait_for(lambda: self._version != version, timeout_s)
            return self._version

    def find_left_s(self, left_s: float | None) -> float | None:
        """Find how much of what was left at the begin of the step is left now."""
        if left_s is None:
            return None
        return max(0.0, left_s - (self.clock.monotonic_s() - self._state.began_s))

    def _hear(self, event: Event) -> None:
        state = self._state
        match event:
            case RunStarted():  # or a run of `--sensitivity`, after the one before it
                self._state = state = LiveState(event, event.steps)
            case StepStarted():
                state.step, state.steps = event, event.steps
                state.began_s = self.clock.monotonic_s()
                state.second = state.progress = state.sampled = state.busy = None
                state.read = {}
                self._windows += event.step.kind == "window"
            case StepFinished() | StepSkipped():
                state.second = state.progress = None
                if event.step.kind == "window":
                    state.windows_done += 1
                    state.measured[event.step.candidate] += isinstance(event, StepFinished)
            case SecondPassed():
                state.second = event
                self._sequence += 1
                self._keep(LiveSecond(self._sequence, self._windows, event))
            case StepProgress():
                state.progress = event
            case InterimAnalysis():
                state.interim = event
            case MachineBusy():
                state.busy = event
            case WindowSampled():
                state.busy, state.sampled = None, event
                read: dict[tuple[str, str], dict[str, TimedSample]] = {}
                for reading in event.samples:
                    subject = reading.collector, reading.sample.subject
                    read.setdefault(subject, {})[reading.sample.metric] = reading
                told = {collector for collector, _ in read}
                state.read = {of: kept for of, kept in state.read.items() if of[0] not in told}
                state.read |= read
            case RunEnded():
                state.ended = event
            case Note() | WindowsAdded():
                pass
        if isinstance(event, RunStarted | StepFinished | InterimAnalysis | Note | WindowsAdded):
            state.happened.append((self.clock.now_s(), event))

    def _keep(self, second: LiveSecond) -> None:
        """Keep a second of its candidate's last window; one before it is forgotten.

        One that drains is none of the users' whole seconds.
        """
        if second.passed.phase == "drain":
            return
        kept = self._state.seconds.setdefault(
            second.passed.window.candidate, deque(maxlen=SECONDS_MOST)
        )
        if kept and kept[-1].window != second.window:
            kept.clear()
        kept.append(second)

    def _find_invalid(self, event: Event) -> Mapping[str, str] | None:
        """Find invalid ones among the windows that an event brings; None: they cannot be read."""
        if isinstance(event, RunStarted):
            directory = RunDirectory(Path(event.directory))
            windows = directory.list_measured()
        elif isinstance(event, StepFinished) and event.step.kind == "window":
            if self._state.directory is None:
                return {}
            directory, windows = self._state.directory, (event.step.id,)
        else:
            return {}
        with suppress(StithyError):  # a result that cannot be read is reported by the report
            return self._invalid(directory, windows) if windows else {}
        return None
