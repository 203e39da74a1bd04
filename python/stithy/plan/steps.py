"""The steps a study consists of, and its question, as plain values.

A step says what is done, to whom, at what expected cost; nothing about how it is done, that is
`run`'s. Ids and seeds are stable: the same study and seed give the same ones, so that a journal can
be matched to a plan.

A block is one window of every candidate at one point. Candidates are compared inside blocks, so
that what drifts during a run (heat, fill, neighbours) meets all of them alike. The blocks of a
point are taken from Williams squares: each candidate has each place equally often and follows each
other equally often, so that neither the place nor what a window leaves to the next one (a full
cache, a busy drive) favours a candidate. Each odd block is the reverse of the one before it: after
every even number of blocks each of two candidates came before the other equally often.
Source: docs/explanation/verdicts.md, "The order".
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

from stithy.activity import get_factor
from stithy.metrics import P95
from stithy.point import Point
from stithy.restores.method import get_restore
from stithy.search import ResponseTarget, Search
from stithy.study.model import Study
from stithy.study.primary import BLOCKS_LEAST
from stithy.study.sections import get_workload


def make_window_id(candidate: str, point: Point, block: int, *, attempt: int = 0) -> str:
    """The id of a window, also the name of its directory: `w-disk-u4-b0`.

    That of its block's second attempt is `w-disk-u4-b0-again`.
    """
    return f"w-{candidate}-{point.slug}-b{block}{'-again' if attempt else ''}"


def make_step_id(kind: str, subject: str | None = None) -> str:
    """The id of a step that is not a window: its kind, then whom it concerns."""
    return kind if subject is None else f"{kind}-{subject}"


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A seed for one purpose, 0 to 2^63 - 1: different purposes draw independently of each other.

    Own: SHA-256 over the purpose in words. Python's `random` promises no stable sequence over
    versions, and adding to a seed gives neighbours the same draws.
    """
    text = "/".join(str(each) for each in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True)
class Question:
    """Which of two candidates is better at a point, by a metric, beyond a margin.

    `metric` is written as a study has it.

    `candidates`: the pair; None for the slowest and the fastest of more than two. `blocks_least`
    are measured in any case, `blocks_most` if it stays undecided; they are equal where the study
    fixes their number. `derived`: the keys that the study does not declare.
    """

    point: Point
    metric: str
    margin_share: float
    candidates: tuple[str, str] | None
    blocks_least: int
    blocks_most: int
    derived: tuple[str, ...]

    def may_spare(self, point: Point, block: int) -> bool:
        """Whether this block, counted from 0, is left out once the question is decided."""
        return point == self.point and block >= self.blocks_least


def write_question(study: Study, names: tuple[str, ...]) -> Question | None:
    """The primary question about these candidates.

    None where a single one compares with none, and where there is no level to ask about.
    """
    if len(names) < 2 or not study.points:
        return None
    primary, repeat = study.primary, study.repeat
    where = {factor if get_factor(factor).counts else "at": None for factor in study.factors}
    asked = (*where, "metric", "margin_percent")
    given = {*primary.model_fields_set, *primary.values}
    among = primary.candidates or names
    return Question(
        point=study.asked_point,
        metric=primary.metric or _write_metric(study),
        margin_share=primary.margin_percent / 100,
        candidates=(among[0], among[1]) if len(among) == 2 else None,
        blocks_least=repeat or min(BLOCKS_LEAST, primary.blocks),
        blocks_most=repeat or primary.blocks,
        derived=tuple(key for key in asked if key not in given),
    )


def _write_metric(study: Study) -> str:
    """That of the scenario, if it names one.

    Of a load response time where the users themselves, and not the storage, say how much is done.
    """
    if study.scenario.plugin.metric is not None:
        return study.scenario.plugin.metric
    load = study.at(study.asked_point).load
    paced = load.pauses or load.is_open
    throughput = get_workload(study.workload.name).throughput
    return str(P95 if paced else throughput)


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

    def add_time(self, likely_s: float, most_s: float) -> "Cost":
        """Let it take so much longer."""
        return replace(self, time_s=self.time_s + likely_s, time_s_max=self.time_s_max + most_s)


@dataclass(frozen=True)
class Step:
    """One thing to be done for one candidate, on whose volume it works.

    `kind` names what does it: a plug-in of the family `step`.
    `candidate` is None for what concerns the whole study. `window` is set for `window`, for the
    `restore` that belongs to one, and for a `baseline-check`: the first of the
    block that it comes before.
    `dataset`: by name what it loads, checks or keeps before any window; None for other steps.
    A step with `if_undecided` is left out once the primary question is decided. A check with
    `at_end` looks at what the candidate's last window left. `method`: the restore method by which
    it keeps or restores a dataset; None for other steps.
    """

    id: str
    kind: str
    candidate: str | None
    cost: Cost
    window: "WindowPlan | None" = None
    quick: bool = False
    if_undecided: bool = False
    at_end: bool = False
    dataset: str | None = None
    method: str | None = None

    @property
    def whose(self) -> str:
        """The candidate, of a step of a kind that the plan always gives one."""
        assert self.candidate is not None, f"{self.id} has no candidate"
        return self.candidate

    @property
    def sort(self) -> str:
        """Steps of one sort take about as long as expected, or all miss it by the same factor."""
        activities = self.window.activities if self.window and self.kind == "window" else ()
        of = self.method or ", ".join(activities)
        return f"{self.kind} ({of})" if of else self.kind


@dataclass(frozen=True)
class WindowPlan:
    """One window: a candidate at a point, in a block.

    `block` counts from 0 within a point; `position` is the place in the block's order.
    `seed` drives the virtual users; all candidates of a block share it, so they see the same draws.
    `tried`: a search chose this point, and only the candidates of which it wants to know more have
    a window there.
    `attempt` is 0, and 1 where the block is measured once more, for a window of it was invalid.
    `activities` are what happens in it; its times are those of the first. `instances`: how many
    instances share the candidate, each with its own copy of the dataset.
    `rate_share`: transactions arrive at this share of a maximum, the least throughput that the
    candidates `maximum_of` have in the first block at the point `maximum_at`; None: as the load
    says.
    """

    id: str
    candidate: str
    point: Point
    block: int
    position: int
    ramp_up_s: float
    duration_s: float
    seed: int
    activities: tuple[str, ...]
    checkpoint: bool = False
    tried: bool = False
    attempt: int = 0
    instances: int = 1
    rate_share: float | None = None
    maximum_of: tuple[str, ...] = ()
    maximum_at: str | None = None


def select_windows(steps: Iterable[Step]) -> list[WindowPlan]:
    """The windows that these steps measure, in their order."""
    return [step.window for step in steps if step.kind == "window" and step.window]


INSTANCE = "tenant"
"""How people call one of several instances that share a candidate."""


def name_instance(number: int) -> str:
    """Name one of several instances on a candidate, in results and files, by its number from 1."""
    return f"{INSTANCE}-{number}"


@dataclass(frozen=True)
class Dataset:
    """What is loaded once, kept, and put back before each window that needs it.

    The engine and its version, the options of the workload and the seed make it; in a run only the
    options differ, by the `factors` of the points that have it: none where they do not vary. `name`
    is that of its directory. `database_bytes` is the size of the loaded database with its
    write-ahead log at its largest; `growth_bytes` what the longest window may add to it;
    `log_bytes` the log files that the master copy holds for windows to overwrite.
    """

    name: str
    factors: Point
    database_bytes: int
    growth_bytes: int
    log_bytes: int

    def has(self, point: Point) -> bool:
        """Whether the windows at a point begin with it; each tenant of one that lacks a factor."""
        return all(point.values.get(name, value) == value for name, value in self.factors.factors)


@dataclass(frozen=True)
class Plan:
    """Everything `run` needs to know: the ordered steps, and where databases are loaded.

    `master_candidate` is the candidate on whose volume the `datasets` are loaded, each once; None
    without a database. `restore` is the method by which they get back to that state; a master copy
    lies beside the results, on no candidate's volume.
    `image_bytes` is the memory that emulated drives and their daemons take, by candidate.
    `write_question` is None where a single candidate is measured.
    `null`: both candidates are alike in all, and a difference is an error of the measurement.
    `search` is None where nothing is searched for; which windows it needs is not known before.
    `limit` is that of the response times, searched for or not.
    """

    seed: int
    steps: tuple[Step, ...]
    master_candidate: str | None = None
    datasets: tuple[Dataset, ...] = ()
    restore: str | None = None
    image_bytes: Mapping[str, int] = field(default_factory=dict)
    question: Question | None = None
    null: bool = False
    search: Search | None = None
    limit: ResponseTarget | None = None

    @property
    def database_bytes(self) -> int:
        """The size of the largest loaded database, with its log; 0 without one."""
        return max((dataset.database_bytes for dataset in self.datasets), default=0)

    @property
    def masters_bytes(self) -> int:
        """What all master copies take; 0 where none are kept."""
        if self.restore is None or not get_restore(self.restore).keeps_files:
            return 0
        return sum(dataset.database_bytes for dataset in self.datasets)

    def dataset(self, name: str) -> Dataset:
        return next(each for each in self.datasets if each.name == name)

    def dataset_at(self, point: Point) -> Dataset:
        """The dataset with which the windows at a point begin."""
        return next(dataset for dataset in self.datasets if dataset.has(point))


Rows = tuple[tuple[int, ...], ...]
Item = TypeVar("Item", str, int)


@dataclass(frozen=True)
class Block:
    """One window of each candidate at a point: `candidates` in the order of their windows.

    `index` counts from 0 within the point; `seed` is that of the virtual users of all its windows.
    """

    point: Point
    index: int
    candidates: tuple[str, ...]
    seed: int


def list_blocks(
    candidates: Sequence[str], counts: Iterable[tuple[Point, int]], seed: int
) -> tuple[Block, ...]:
    """All blocks of a study in their order; `counts` are the points, each with its blocks."""
    return tuple(
        block(candidates, point, index, seed) for point, count in counts for index in range(count)
    )


def list_rounds(
    candidates: Sequence[str], counts: Sequence[tuple[Point, int]], seed: int
) -> tuple[Block, ...]:
    """The same blocks, in rounds: each has one block of every point that has so many.

    Points are then compared as candidates are, under the same drift; the seed draws their order.
    """
    most = max((count for _, count in counts), default=0)
    known = {str(point): (point, count) for point, count in counts}
    return tuple(
        block(candidates, point, index, seed)
        for index in range(most)
        for point, count in map(known.__getitem__, _draw(known, seed, "points", index))
        if index < count
    )


def block(candidates: Sequence[str], point: Point, index: int, seed: int) -> Block:
    """One block. Its users draw the same at each setting of the other factors."""
    order = order_items(candidates, seed, point, index)
    own = point.level if point.counted else str(point)
    return Block(point, index, order, derive_seed(seed, own, index))


def order_items(candidates: Sequence[str], seed: int, point: Point, index: int) -> tuple[str, ...]:
    """The candidates in the order of one block.

    The blocks 0, 1, … of a point go through squares of pairs, a row and its reverse; two candidates
    have one pair. The seed draws the names of each square and the turn of its pairs, so that each
    order is as likely as any other for a block by itself.
    """
    pairs = [row for row in make_williams_square(len(candidates)) if row <= row[::-1]]
    square, place = divmod(index, 2 * len(pairs))
    level = (point.level,) if point.counted else ()
    at: tuple[str | int, ...] = (*level, *(str(Point((other,))) for other in point.others))
    named = _draw(candidates, seed, "order", *at, square * 2 * len(pairs))
    row = pairs[_draw(range(len(pairs)), seed, "rows", *at, square)[place // 2]]
    return tuple(named[each] for each in (row[::-1] if place % 2 else row))


def _draw(items: Iterable[Item], seed: int, *purpose: str | int) -> tuple[Item, ...]:
    """The items in a random order, the same for ever and however they are listed.

    Own: sorted by a hash of purpose and item, which gives every order the same chance.
    """
    return tuple(sorted(items, key=lambda each: derive_seed(seed, *purpose, each)))


@cache
def make_williams_square(candidates: int) -> Rows:
    """A square of orders of 0, 1, …, in which each number follows each other equally often.

    Shapes: as many rows as candidates where these are even; twice as many where they are odd, for
    which one square cannot do it: the second is the first read backwards. Each number has each
    place equally often, and the reverse of each row is a row, too.
    Source: Williams (1949), Experimental designs balanced for the estimation of residual effects.
    """
    first = [(index + 1) // 2 if index % 2 else -(index // 2) for index in range(candidates)]
    square = tuple(
        tuple((each + shift) % candidates for each in first) for shift in range(candidates)
    )
    return square if candidates % 2 == 0 else (*square, *(row[::-1] for row in square))
