"""What a run tells whoever watches it: typed events, rendered by the command line.

An observer must not fail and must not take long; the run does not wait for a person.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stithy.plan.steps import Step, WindowPlan


@dataclass(frozen=True)
class RunStarted:
    """Everything was checked; the steps begin. `time_s` is what the plan expects.

    `time_s_undecided`: the same if every block is needed; None where all of them are anyway.
    `notes`: by candidate what must stand beside every number of it, where anything must.
    """

    directory: str
    steps: int
    time_s: float
    time_s_undecided: float | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


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
class Looked:
    """The primary question was looked at, after so many valid blocks; `text` says how it stands."""

    text: str
    blocks: int
    decided: bool


@dataclass(frozen=True)
class WindowsAdded:
    """What was measured asks for further windows: their ids, and why, in words.

    `time_s` is what they are expected to take.
    """

    windows: tuple[str, ...]
    because: str
    time_s: float


@dataclass(frozen=True)
class Progress:
    """How far the hammer is inside a step."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class SecondPassed:
    """One second of a window; `p95_s` is of the headline transaction, None of too few."""

    window: WindowPlan
    second: int
    phase: str
    tpm: float
    p95_s: float | None


@dataclass(frozen=True)
class Note:
    """Something a person should know while it happens."""

    text: str


Event = (
    RunStarted
    | StepStarted
    | StepFinished
    | StepSkipped
    | Looked
    | WindowsAdded
    | Progress
    | SecondPassed
    | Note
)
Observer = Callable[[Event], None]
