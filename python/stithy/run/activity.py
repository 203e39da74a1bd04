"""The interfaces of activities, which happen in a window, and of kinds of steps.

What an activity measures is declared apart (`stithy.activity`). Several may run in one window: they
are made ready one after the other, begin at once, and are watched together. Where something is to
happen at a time of the users, `session.start` says when they began. If one fails, all stop.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from stithy.collectors.collector import InstanceScope, TimedSample
from stithy.metrics import PERCENTILES
from stithy.plan.steps import Step, WindowPlan
from stithy.registry import Family, Plugin
from stithy.results import phases
from stithy.results.phases import PhaseResult
from stithy.results.tables import Row, Table

if TYPE_CHECKING:
    from stithy.results.hlog import LoggedInterval
    from stithy.run.context import Context
    from stithy.wire.messages import RunSummary


@dataclass(frozen=True)
class Subject:
    """What of an activity is watched while it works: its servers, and processes that are its own.

    `cpus`: those to which its servers are bound. `log_folder`: where its only server keeps its log.
    """

    instances: tuple[InstanceScope, ...] = ()
    cpus: tuple[int, ...] | None = None
    pids: frozenset[int] = frozenset()
    log_folder: Path | None = None


@dataclass(frozen=True)
class Times:
    """When the work began and was measured, Unix time; `complete`: to its planned end."""

    started_at_s: float
    measure_from_s: float
    measure_to_s: float
    complete: bool


@dataclass(frozen=True)
class WindowValue:
    """A value of a metric that the activity declares; `of` as in the table `values`."""

    metric: str
    value: float | None
    of: str = "all"
    count: int | None = None
    missing_because: str | None = None


@dataclass(frozen=True)
class Span:
    """A named time within the window, Unix time; `to_s` None where it did not end.

    `invalid_because`: why values `of` this span count for nothing; others of the window do.
    """

    name: str
    from_s: float
    to_s: float | None = None
    outcome: str | None = None
    invalid_because: str | None = None


class WindowActivity(Protocol):
    """One activity of one window."""

    def ready(self) -> AbstractContextManager[Subject]:
        """All that the work needs is there inside, and checked and taken down at the end."""

    def begin(self) -> None:
        """The last thing before the work: read counters."""

    def act(self) -> None:
        """Do the work, to its end or until the run is to stop."""

    def end(self) -> None:
        """The first thing after the work: read counters again."""

    def aftermath(self) -> None:
        """What is still to be found out, whatever failed; raises nothing of the machine's."""

    @property
    def times(self) -> Times | None:
        """None where the work never began."""

    @property
    def ended_because(self) -> str | None:
        """Why it failed by itself, which explains whatever error followed; None if it did not."""

    @property
    def is_full(self) -> bool:
        """Whether a file system ran full, which every later window would meet."""

    def cut_short(self) -> str:
        """Why the work did not come to its planned end."""

    def values(self) -> Iterable[WindowValue]:
        """What was measured."""

    def spans(self) -> Iterable[Span]:
        """The named times of the window; none where the work goes on all the time.

        Asked while it works, too, of a copy: what has not ended yet has no end.
        """
        return ()

    def tables(self, _: Sequence[TimedSample]) -> Iterable[tuple[Table, list[Row]]]:
        """What only this activity knows, by table, from the readings of the collectors, too."""
        return ()

    def surroundings(self) -> Row:
        """What of the table `surroundings` it knows: nothing without a server of its own."""
        return {}

    def said(self) -> str:
        """What came of it, in words for the step."""


class BasicActivity(WindowActivity):
    """What most activities answer alike, for them to inherit: they count and keep nothing besides.

    `who`: of whom it is said that they did not end.
    """

    who = "it"
    is_full = False
    times: Times | None = None
    ended_because: str | None = None

    def __init__(self, context: "Context", window: WindowPlan) -> None:
        self.context, self.window = context, window

    def begin(self) -> None:
        """Nothing is counted before."""

    def end(self) -> None:
        """Nor after."""

    def aftermath(self) -> None:
        """Nothing is left to be found out."""

    def cut_short(self) -> str:
        """It ends at its time, or by an error."""
        return self.ended_because or f"{self.who} did not end"


NO_TIME = "the phase has no whole second, nothing ended in it, or the log is not whole"
NOT_BACK = "throughput did not come back within the window"
NOTHING_BEFORE = "no whole second with transactions before it says what throughput was"


class TimedActivity(BasicActivity):
    """An activity beside users, whose window has phases by what it did."""

    def wait_until(self, until_s: float, watch: Callable[[], None] = lambda: None) -> None:
        """Wait for a time, and `watch` again and again. Raises Interrupted for a stop."""
        self.context.session.wait_until(until_s, watch)

    @cached_property
    def summary(self) -> "RunSummary | None":
        """What the window's users said last, once they are done; None where they did not."""
        from stithy.wire.messages import RunSummary, parse_message

        output = self.context.session.directory.window(self.window.id).hammer_output
        with suppress(OSError, ValueError, IndexError):  # no file, a torn line, or none at all
            said = parse_message(output.read_bytes().splitlines()[-1])
            return said if isinstance(said, RunSummary) else None
        return None

    @cached_property
    def logged(self) -> "Sequence[LoggedInterval]":
        """The latencies of the window's users, once they are done; none of a log cut short."""
        from stithy.results.convert import read_latencies

        if (summary := self.summary) is None:
            return ()
        directory = self.context.session.directory.window(self.window.id)
        log = read_latencies(directory.hlog_stem).response
        done = sum(each.committed + each.rolled_back for each in summary.transactions)
        within = summary.measure_from_s, summary.measure_to_s
        return log if phases.is_whole(log, *within, done) else ()

    def _find_start_s(self) -> float:
        return self.times.started_at_s if self.times else 0.0

    def sum_phases(self, parts: Sequence[phases.Phase]) -> Mapping[str, PhaseResult]:
        """Sum up what users got in each; nothing without a whole log, which is no rate of 0."""
        log = self.logged if parts else ()
        return phases.sum_phases(log, parts, self._find_start_s()) if log else {}

    def list_phase_values(
        self, of: str, names: Sequence[str], results: Mapping[str, PhaseResult],
        percentiles: Sequence[str],
    ) -> Iterator[WindowValue]:  # fmt: skip
        """Throughput and response times of each phase, `of`: how the names of metrics begin."""
        for name in names:
            result = results.get(name, PhaseResult(0, 0, None))
            values = {f"{of}.tpm": result.per_minute}
            for each in percentiles:
                percent, _ = PERCENTILES[each]
                value = result.times.percentile_s(percent) if result.times else None
                values[f"{of}.{each}_s"] = value
            for metric, value in values.items():
                missing = NO_TIME if value is None else None
                yield WindowValue(metric, value, name, result.count, missing)

    def find_recovery(
        self, metric: str, before: PhaseResult | None, from_s: float, to_s: float
    ) -> WindowValue:
        """Find how long after `from_s` throughput was as `before` again."""
        back_s, because = None, NOTHING_BEFORE if self.logged else NO_TIME
        if before and before.per_minute:
            rest, per_s = phases.Phase("rest", from_s, to_s), before.per_minute / 60
            back_s = phases.find_recovery_s(self.logged, rest, self._find_start_s(), per_s)
            because = NOT_BACK
        return WindowValue(metric, back_s, missing_because=because if back_s is None else None)


@dataclass(frozen=True)
class Activity(Plugin):
    """What may happen in a window.

    `create` it for one. `explain_skip` says why a window is left out, or returns None.
    """

    family: ClassVar = Family(stage="activity")

    name: str
    create: Callable[["Context", WindowPlan], WindowActivity]
    explain_skip: Callable[["Context", WindowPlan], str | None] = lambda context, window: None


Phase = Literal["around", "loading", "calibration", "copying", "measuring"]


@dataclass(frozen=True)
class StepKind(Plugin):
    """A kind of step: `do` it, and return in words what came of it.

    `phase`: the part of a run that it belongs to; in `copying` what windows need is put in its
    place, and `around` is what comes before and after. `in_plan`: what a plan calls it, and
    `in_short` where a line has several; empty for what belongs to a window. `is_paced`: whether
    emulated drives take the times of their profiles meanwhile. What it makes is registered before
    it is made; `handlers`, by kind of resource, remove what no other step makes, from the recorded
    facts, as often as asked.
    """

    family: ClassVar = Family(module="run.steps", stage="activity")

    name: str
    do: Callable[["Context", Step], str]
    phase: Phase
    in_plan: str
    in_short: str
    is_paced: bool = False
    handlers: Mapping[str, Callable[[Mapping[str, str]], None]] = field(default_factory=dict)
