"""What a run tells whoever watches it: typed events, shown by the command line and kept in a log.

An observer must not fail and must not take long; the run does not wait for a person. The log holds
what a person may want to know later, one JSON object a line. It is not synced: what must be known
to go on or to clean is in the journal.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from stithy.clock import Clock
from stithy.collectors.collector import TimedSample
from stithy.plan.steps import Question, Step, WindowPlan
from stithy.run.activity import Span


@dataclass(frozen=True)
class RunStarted:
    """Everything was checked; the steps begin. `time_s` is what the plan expects.

    `time_s_undecided`: the same if every block is needed; None where all of them are anyway.
    `notes`: by candidate what must stand beside every number of it, where anything must.
    `question`: as the study asks it; `asked`: what decides it, None where nothing is compared.
    """

    directory: str
    steps: int
    time_s: float
    time_s_undecided: float | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    asked: Question | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepStarted:
    """One step begins; `number` counts from 1, `left_s` is the expected time of it and the rest.

    `left_s_undecided`: the same if every block is needed; None where all of them are anyway.
    """

    step: Step
    number: int
    steps: int
    left_s: float
    left_s_undecided: float | None = None


@dataclass(frozen=True)
class StepFinished:
    """One step ended well, in `duration_s`; `result` says in words what came of it."""

    step: Step
    duration_s: float
    result: str


@dataclass(frozen=True)
class StepSkipped:
    """One step is not needed, and why."""

    step: Step
    because: str


@dataclass(frozen=True)
class InterimEffect:
    """Candidate `b` against `a`, with the bounds of the interval that decides.

    `none`: the value of no effect, 1 of a ratio and 0 of a difference; within `margin` of it they
    are equivalent.
    """

    a: str
    b: str
    value: float
    low: float
    high: float
    none: float
    margin: tuple[float, float]


@dataclass(frozen=True)
class InterimAnalysis:
    """The stopping rule was evaluated after so many valid blocks; `text` says how it stands.

    `effect` None: there is no interval yet.
    """

    text: str
    blocks: int
    decided: bool
    effect: InterimEffect | None = None


@dataclass(frozen=True)
class WindowsAdded:
    """What was measured asks for further windows: their ids, and why, in words.

    `time_s` is what they are expected to take.
    """

    windows: tuple[str, ...]
    because: str
    time_s: float


@dataclass(frozen=True)
class StepProgress:
    """How far the hammer is inside a step."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class SecondPassed:
    """One second of a window: transactions at the rate that `label` names, such as TPM.

    The percentiles are of the headline transaction, None of too few.
    """

    window: WindowPlan
    second: int
    phase: str
    rate: float
    p95_s: float | None
    label: str = "TPM"
    p50_s: float | None = None
    p99_s: float | None = None


@dataclass(frozen=True)
class WindowSampled:
    """What collectors have just read in a window, and its named times so far.

    `started_at_s`: when its users began, Unix time; None before.
    """

    window: WindowPlan
    samples: tuple[TimedSample, ...]
    spans: tuple[Span, ...] = ()
    started_at_s: float | None = None


@dataclass(frozen=True)
class MachineBusy:
    """A block has waited so long for a quiet machine, of at most `most_s`; `text`: for whom."""

    text: str
    waited_s: float
    most_s: float


@dataclass(frozen=True)
class Note:
    """Something a person should know while it happens."""

    text: str


@dataclass(frozen=True)
class RunEnded:
    """The run is over, well or not, and its report is written; None where there is none.

    `findings`: what the report says first, in sentences.
    """

    end: str
    error: str | None = None
    report: Path | None = None
    findings: tuple[str, ...] = ()


OfStep = StepStarted | StepFinished | StepSkipped
InWindow = StepProgress | SecondPassed | WindowSampled
Other = InterimAnalysis | WindowsAdded | InWindow | MachineBusy | Note
Event = RunStarted | OfStep | Other | RunEnded
Observer = Callable[[Event], None]


NAMES: dict[type[Event], str] = {
    RunStarted: "run_started",
    StepStarted: "step_started",
    StepFinished: "step_finished",
    StepSkipped: "step_skipped",
    InterimAnalysis: "interim_analysis",
    WindowsAdded: "windows_added",
    MachineBusy: "machine_busy",
    Note: "noted",
}
"""What is logged; progress, seconds and samples are in the hammer's output and results already."""


def log_events(path: Path, clock: Clock, observer: Observer) -> Observer:
    """An observer that logs to `path` and hands every event on to `observer`."""

    def observe(event: Event) -> None:
        if (name := NAMES.get(type(event))) is not None:
            if isinstance(event, OfStep):
                own, step = dict(vars(event)), event.step
                own.pop("step")
                facts = {"step_id": step.id, "kind": step.kind, "candidate": step.candidate} | own
            else:
                facts = asdict(event)
            line = {"at_s": clock.now_s(), "event": name, **facts}
            # A full disk ends the run where results are written, not here.
            with suppress(OSError), path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        observer(event)

    return observe
