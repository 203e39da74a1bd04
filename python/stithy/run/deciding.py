"""Which windows are still needed, found out while a run goes on.

The schedule of a session shrinks and grows: optional blocks are left out once the primary question
is decided, and schedulers add windows to those of the plan. `analysis` says so (`deciders.py`), by
the study and the results alone, and what is asked for is in the journal before anything of it is
done. So a run that is resumed goes on as if it had never been cut off.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NoReturn

from stithy.errors import NothingValid
from stithy.metrics import ALL, parse_quantity
from stithy.plan.additional import FUTILE_BLOCKS, Additional, find_hopeless, list_steps
from stithy.plan.answerable import check_counted, infer_lack, make_rate_key
from stithy.plan.steps import Plan, Step, WindowPlan, select_windows
from stithy.point import Point
from stithy.registry import plugins
from stithy.results.files import read_rows
from stithy.results.layout import RunDirectory
from stithy.results.tables import TRANSACTIONS, WINDOW
from stithy.run.activity import Activity
from stithy.run.books import Journal
from stithy.run.context import Context
from stithy.run.events import (
    InterimAnalysis,
    InterimEffect,
    Note,
    StepSkipped,
    StepStarted,
    WindowsAdded,
)
from stithy.run.forecast import Forecast
from stithy.study.load import StudyFile
from stithy.units import format_list

ADDED = "windows-added"
"""The journal's event for them."""


@dataclass(frozen=True)
class SoFar:
    """A run until now: its study and plan, the additional windows by now, and its results.

    `done` holds the ids of all windows that are measured or left out, and may hold those of other
    steps.
    """

    directory: RunDirectory
    file: StudyFile
    plan: Plan
    additional: tuple[Additional, ...]
    done: frozenset[str]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps in their order, done or not."""
        return list_steps(self.file.study, self.plan, self.additional)

    @property
    def has_windows_left(self) -> bool:
        """Whether any window that is known by now is still to be measured."""
        return any(window.id not in self.done for window in select_windows(self.steps))


Scheduler = Callable[[SoFar], Additional | None]
"""Which windows come next for what was measured; None: none. Asked again until it has none.

It follows from what it is given alone, and asks for no window that is there already.
"""

Invalid = Callable[[RunDirectory, Sequence[str]], Mapping[str, str]]
"""Which of these windows are invalid, by id, and why in a few words.

A window without results is not.
"""


@dataclass(frozen=True)
class QuestionStatus:
    """How the primary question stands: `text` says it in words.

    `blocks` are the valid ones so far; `is_interim`: the stopping rule is evaluated after so many.
    `blocks_needed` is about how many will decide, None where that is not known or beyond the limit.
    `effect` None: no interval is known.
    """

    decided: bool
    blocks: int
    text: str
    is_interim: bool = True
    blocks_needed: int | None = None
    effect: InterimEffect | None = None


Judge = Callable[[RunDirectory], QuestionStatus]


@dataclass(frozen=True)
class Deciders:
    """Who judges what was measured. A seam: tests hand in what decides when they like.

    `judge` says when the primary question is decided; without one every block is measured.
    `schedulers` say which windows are needed beside those of the plan. By `invalid` a run ends
    whose blocks have no valid window; `advise` says what to do about these windows then.
    """

    judge: Judge | None = None
    schedulers: Sequence[Scheduler] = ()
    invalid: Invalid | None = None
    advise: Callable[[RunDirectory, Sequence[str]], str] = lambda directory, windows: "read why"


def ask(so_far: SoFar, schedulers: Sequence[Scheduler], journal: Journal) -> tuple[Additional, ...]:
    """All additional windows with those that are decided now, which are written down first.

    Each scheduler sees what those before it asked for.
    """
    for scheduler in schedulers:
        while (wanted := scheduler(so_far)) is not None:
            windows = [{**vars(window), "point": str(window.point)} for window in wanted.windows]
            journal.write(ADDED, **{**vars(wanted), "windows": windows})
            so_far = replace(so_far, additional=(*so_far.additional, wanted))
    return so_far.additional


def read_additional(facts: Mapping[str, Any]) -> Additional:
    """Additional windows as the journal has them. Raises KeyError, TypeError or ValueError where it
    lacks.
    """
    windows = tuple(
        WindowPlan(**{**fact, "point": Point.parse(fact["point"])}) for fact in facts["windows"]
    )
    return Additional(facts["after"], windows, facts["because"])


class StepSchedule:
    """The steps of one session in their order, as far as they are decided by now."""

    def __init__(
        self, context: Context, deciders: Deciders, forecast: Forecast, *, keep: bool
    ) -> None:
        """`keep`: nothing is torn down. What no earlier session has done is left."""
        self._context = context
        self._deciders = deciders
        self._interim = _InterimAnalyses(context, deciders.judge)
        self._forecast = forecast
        self._keep = keep
        self._over: dict[str, None] = {}
        self._left = self._steps()
        self._futile: dict[tuple[Point, int], list[str]] = {}
        self._hopeless: set[tuple[str, Point]] = set()

    def next(self) -> StepStarted | None:
        """The next step that is needed, as it is announced; None where none is left.

        Those before it that are not needed any more are left out, which is written down. Raises
        Interrupted.
        """
        while self._left:
            self._context.session.stop.check()
            step = self._left[0]
            if (because := self._interim.spares(step) or self._explain_spare(step)) is None:
                number, count = len(self._over) + 1, len(self._over) + len(self._left)
                return StepStarted(step, number, count, *self.expected_s(self._left))
            session = self._context.session
            session.journal.write("step-skipped", id=step.id, kind=step.kind, because=because)
            if step.kind == "window":
                self._context.state.progress.skipped[step.id] = because
            session.tell(StepSkipped(step, because))
            self._leave(step)
        return None

    def end(self, step: Step) -> None:
        """A step was done; a window may need additional ones, which come next.

        Raises NothingValid where the last blocks make the rest of the run futile.
        """
        self._leave(step)
        if step.kind == "window" and step.window is not None:
            self._check_futile(step.window)

    def _leave(self, step: Step) -> None:
        self._over[step.id] = None
        self._left = self._left[1:]
        if step.kind == "window":
            self.ask()

    def _check_futile(self, window: WindowPlan) -> None:
        left = select_windows(self._left)
        block = (window.point, window.block)
        self._futile.setdefault(block, []).append(window.id)
        judge, directory = self._deciders.invalid, self._context.session.directory
        if judge is None or any((each.point, each.block) == block for each in left):
            return
        windows = [name for names in self._futile.values() for name in names]
        invalid = judge(directory, windows)
        if len(invalid) < len(windows):
            self._futile.clear()
        elif len(self._futile) >= FUTILE_BLOCKS and left:
            self._stop(f"no window of the last {FUTILE_BLOCKS} blocks is valid", windows, invalid)
        self._check_hopeless(judge, has_left=bool(left))

    def _check_hopeless(self, judge: Invalid, *, has_left: bool) -> None:
        """Say once what has become hopeless; stop where every comparison needs that.

        What was so in earlier sessions was said then: whoever resumed wants the rest all the same.
        """
        session, earlier = self._context.session, self._context.state.progress.done
        planned = select_windows(self._context.steps)
        over = [each for each in planned if each.id in earlier or each.id in self._over]
        invalid = judge(session.directory, [each.id for each in over])
        hopeless = find_hopeless(over, invalid)
        self._hopeless |= {*find_hopeless([each for each in over if each.id in earlier], invalid)}
        new = hopeless.keys() - self._hopeless
        self._hopeless |= new
        for name, point in sorted(new):
            windows = hopeless[name, point]
            session.tell(Note(
                f"no window of {name} {point.at()} is valid in {FUTILE_BLOCKS} blocks, so no block "
                f"is measured a second time for its sake: {_count_flags(windows, invalid)}. "
                f"{self._deciders.advise(session.directory, windows)}"
            ))  # fmt: skip
        settings = {(each.candidate, each.point) for each in planned}
        others = settings - hopeless.keys()
        if new and has_left and _has_comparison(settings) and not _has_comparison(others):
            names = format_list([f"{name} {point.at()}" for name, point in hopeless])
            windows = [each for own in hopeless.values() for each in own]
            self._stop(f"every comparison needs a valid window of {names}", windows, invalid)

    def _stop(self, problem: str, windows: Sequence[str], invalid: Mapping[str, str]) -> NoReturn:
        raise NothingValid(
            f"{problem}, so the run stops: {_count_flags(windows, invalid)}",
            where=f"windows {windows[0]} to {windows[-1]}",
            remedy=self._deciders.advise(self._context.session.directory, windows),
        )

    def conclude(self) -> None:
        """Nothing is left: evaluate the stopping rule after the last block, too."""
        self._interim.conclude()

    def expected_s(self, steps: Sequence[Step]) -> tuple[float, float | None]:
        """The expected time of these steps, and of all of them where some may not be needed."""
        certain = self._interim.certain(steps)
        whole_s = self._forecast.left_s(steps)
        return self._forecast.left_s(certain), None if len(certain) == len(steps) else whole_s

    def _explain_spare(self, step: Step) -> str | None:
        if step.kind != "window" or (window := step.window) is None:
            return None
        for name in window.activities:
            if because := plugins(Activity)[name].explain_skip(self._context, window):
                return because
        return None

    def ask(self) -> None:
        """Ask the schedulers what is needed now beside what is known, and say it."""
        context, progress = self._context, self._context.state.progress
        session, before = context.session, progress.additional
        done = progress.done | self._over.keys()
        so_far = SoFar(session.directory, context.file, context.plan, before, done)
        progress.additional = ask(so_far, self._deciders.schedulers, session.journal)
        self._left = self._steps()
        for added in progress.additional[len(before) :]:
            ids = tuple(window.id for window in added.windows)
            steps = [step for step in self._left if step.window and step.window.id in ids]
            session.tell(WindowsAdded(ids, added.because, self._forecast.left_s(steps)))

    def _steps(self) -> list[Step]:
        return [
            step
            for step in self._context.steps
            if step.id not in self._over and not (self._keep and step.kind == "tear-down")
        ]


def _has_comparison(settings: Collection[tuple[str, Point]]) -> bool:
    """Whether two candidates are among them at one point, or one at two values of a factor."""
    return any(
        here == there if one != other else here.others != there.others
        for (one, here), (other, there) in combinations(settings, 2)
    )


def _count_flags(windows: Sequence[str], invalid: Mapping[str, str]) -> str:
    flags = Counter(invalid[window] for window in windows).most_common()
    return ", ".join(f"{flag} ({count} of {len(windows)})" for flag, count in flags)


class _InterimAnalyses:
    """The primary question, judged before each block that it may not need."""

    def __init__(self, context: Context, judge: Judge | None) -> None:
        self._context = context
        self._judge = judge
        self._judged_before: int | None = None
        self._status: QuestionStatus | None = None

    @property
    def _decided(self) -> bool:
        return self._status is not None and self._status.decided

    def spares(self, step: Step) -> str | None:
        """Why this step is not needed; None where it is."""
        if not step.if_undecided or step.window is None or self._judge is None:
            return None
        if not self._decided:
            self._judge_before(step.window.block)
        return self._status.text if self._status and self._decided else None

    def conclude(self) -> None:
        """Judge once more, after the last block, where the question was not decided before."""
        optional = [step.window for step in self._context.plan.steps if step.if_undecided]
        if optional and not self._decided:
            self._judge_before(max(window.block for window in optional if window) + 1)

    def certain(self, steps: Sequence[Step]) -> list[Step]:
        """Those of the steps that will be done as far as is known now."""
        if self._judge is None:
            return list(steps)
        if self._decided:
            return [step for step in steps if not step.if_undecided]
        needed = self._status.blocks_needed if self._status else 0
        if needed is None:
            return list(steps)
        # Only windows and what is around them may be spared.
        return [
            step
            for step in steps
            if not step.if_undecided or (step.window and step.window.block < needed)
        ]

    def _judge_before(self, block: int) -> None:
        """Judge what there is before a block; once, whatever steps the block has."""
        if self._judge is None or self._judged_before == block:
            return
        self._judged_before = block
        before, status = self._status, self._judge(self._context.session.directory)
        self._status = status
        if not status.is_interim or (before and before.blocks == status.blocks):
            return
        session, text = self._context.session, status.text
        facts = {"blocks": status.blocks, "decided": status.decided, "text": text}
        session.journal.write("interim-analysis", **facts)
        session.tell(InterimAnalysis(text, status.blocks, status.decided, status.effect))


class TransactionRates:
    """Transactions a second of the windows so far: they tell which questions have an answer."""

    def __init__(self, context: Context) -> None:
        """`known`: by `make_rate_key`, for later plans."""
        self._context = context
        self._counted: set[str] = set()
        self._foreseen = False
        self.known: dict[str, float] = {}

    def learn(self, step: Step) -> None:
        """Keep the rate of a window that was measured, and tell what it foresees of the question's.

        Raises InvalidMeasurement where the first window of a candidate that is compared, at the
        question's level, shows that its others cannot have the values that the metric needs.
        """
        window, plan, study = step.window, self._context.plan, self._context.file.study
        if step.kind != "window" or window is None:
            return
        tables = self._context.session.directory.window(window.id)
        rows = read_rows(tables.table("transactions"), TRANSACTIONS)
        counts = {row["transaction"]: row["committed"] + row["rolled_back"] for row in rows}
        complete = [row["complete"] for row in read_rows(tables.table("window"), WINDOW)]
        if complete != [True] or ALL not in counts:
            return
        key = make_rate_key(study, window.candidate, window.point)
        self.known[key] = counts[ALL] / window.duration_s
        asked = plan.question
        if asked is None or window.candidate not in (asked.candidates or [window.candidate]):
            return
        quantity = parse_quantity(asked.metric)
        if quantity.known.source != "transactions" or quantity.known.percent is None:
            return
        count = counts.get(quantity.of or ALL, 0)
        if window.point != asked.point:
            text = None if self._foreseen else infer_lack(study, asked, window, count)
            if text is not None:
                self._foreseen = True
                self._context.session.tell(Note(text))
        elif window.candidate not in self._counted:
            self._counted.add(window.candidate)
            check_counted(study, asked, window.id, count)
