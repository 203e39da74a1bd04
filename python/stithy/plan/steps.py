"""The steps a study consists of, as plain values: what is done, to whom, at what expected cost.

A step says nothing about how it is done; that is `run`'s. Its id is stable: the same study and seed
give the same ids, so that a journal can be matched to a plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stithy.money import Money
from stithy.plan.question import Question
from stithy.search import Limit, Search

StepKind = Literal[
    "provision",
    "prepare",
    "calibrate",
    "snapshot",
    "canary",
    "restore",
    "window",
    "check",
    "tear-down",
]


@dataclass(frozen=True)
class Cost:
    """What a step is expected to take: likely value, and the upper bound that is planned for.

    `space_bytes` is what the candidate's volume may hold by the end of the step; for `provision`
    the most that it may hold at any time, so that room is checked before anything starts.
    `memory_bytes` is what the step may use for a server and for the pages of a volume that is
    likely memory.
    """

    time_s: float
    time_s_max: float
    space_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Step:
    """One thing to be done for one candidate, on whose volume it works.

    `candidate` is None for what concerns the whole study. `window` is set for `window`, for the
    `restore` that belongs to one, and for a `canary`: the first of the block that it comes before.
    A step with `if_undecided` is left out once the primary question is decided. A check with
    `at_end` looks at what the candidate's last window left.
    """

    id: str
    kind: StepKind
    candidate: str | None
    cost: Cost
    window: "WindowPlan | None" = None
    quick: bool = False
    if_undecided: bool = False
    at_end: bool = False


@dataclass(frozen=True)
class WindowPlan:
    """One window: a candidate at a level, in a block.

    `block` counts from 0 within a level; `position` is the place in the block's order.
    `seed` drives the virtual users; all candidates of a block share it, so they see the same draws.
    `tried`: a search chose this level, and only the candidates of which it wants to know more have
    a window there.
    `attempt` is 0, and 1 where the block is measured once more, for a window of it was invalid.
    """

    id: str
    candidate: str
    users: int
    block: int
    position: int
    ramp_up_s: float
    duration_s: float
    seed: int
    checkpoint: bool
    tried: bool = False
    attempt: int = 0


@dataclass(frozen=True)
class Plan:
    """Everything `run` needs to know: the ordered steps, and where the database is loaded.

    `master_candidate` is the candidate on whose volume it is loaded once. The master copy of it
    lies beside the results, on no candidate's volume. `database_bytes` is the size of the loaded
    database with its write-ahead log at its largest; `growth_bytes` what the longest window may add
    to it; `log_bytes` the log files that the master copy holds for windows to overwrite.
    `image_bytes` is the memory that emulated drives take, by candidate. `question` is None where a
    single candidate is measured.
    `null`: both candidates are alike in all, and a difference is an error of the measurement.
    `search` is None where nothing is searched for; which windows it needs is not known before.
    `limit` is that of the response times, searched for or not. `costs`: what candidates cost, where
    the study says it.
    """

    seed: int
    steps: tuple[Step, ...]
    master_candidate: str
    database_bytes: int
    growth_bytes: int
    log_bytes: int
    image_bytes: Mapping[str, int] = field(default_factory=dict)
    question: Question | None = None
    null: bool = False
    search: Search | None = None
    limit: Limit | None = None
    costs: Mapping[str, Money] = field(default_factory=dict)
