"""A fault under the users of one window: injected, detected, healed, and what it left repaired."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

from stithy.errors import InfrastructureError, StithyError
from stithy.plan.steps import WindowPlan
from stithy.registry import plugins
from stithy.results.phases import Phase
from stithy.run.activity import Activity, Span, Subject, TimedActivity, Times, WindowValue
from stithy.run.context import Context
from stithy.scenarios.failure.declared import (
    ACTIVITY,
    NOT_REACHED,
    PERCENTILES_OF_PHASES,
    PHASES,
    UNCHECKED,
    name_activity,
)
from stithy.scenarios.failure.fault import NONE, FaultKeys, FaultKind, Target
from stithy.scenarios.failure.keys import FAULT
from stithy.scenarios.failure.levels import get_fault, list_parts
from stithy.scenarios.failure.phases import list_phases
from stithy.scenarios.failure.plan import find_spec
from stithy.units import format_measured_duration

NOT_THERE = "the window has no fault"
UNNOTICED = "nothing noticed it"
UNNOTICEABLE = "this storage does not find it out by itself"
NO_CHECK = "not done: the engine has no check of its own here"
TIMES = ("fault.detect_s", "fault.heal_s", "fault.rebuild_s", "fault.recovery_s")
NO_REDUNDANCY = "no redundancy had to be restored"
NO_PHASE = "the window has no such phase"


@dataclass
class FaultTimes:
    """When it happened, Unix time; None: it did not.

    `struck` to `broken` is how long the injection took; one that failed broke nothing as asked.
    `healing` to `healed` is how long the repair took. `lost`: when it was clear what is lost.
    """

    struck_s: float | None = None
    broken_s: float | None = None
    detected_s: float | None = None
    healing_s: float | None = None
    healed_s: float | None = None
    lost_s: float | None = None
    whole_s: float | None = None


class FaultActivity(TimedActivity):
    """What breaks in a window; in one without a fault nothing, at the same times."""

    who = "the fault"

    def __init__(self, name: str, context: Context, window: WindowPlan) -> None:
        """Nothing is broken yet; of several faults at once the first one's activity does all."""
        super().__init__(context, window)
        self._level = str(window.point.values[FAULT])
        self._leads = name == list_parts(self._level)[0]
        self._fault = None if self._level == NONE else get_fault(self._level)
        self._spec = find_spec(context.file.study.at(window.point))
        self._target = Target(context, window.candidate)
        self._at = FaultTimes()
        self._lost: str | None = None
        self._rebuilt: str | None = None
        self._damage: str | None = None
        self._unchecked: str | None = None
        self._checked: Span | None = None

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """Whatever happens inside, nothing stays broken."""
        try:
            yield Subject()
            if self._fault is not None and self._fault.examines and self._at.struck_s is not None:
                self._check_files()
        finally:
            if self._fault is not None and self._at.struck_s is not None:
                self._clean_up(self._fault)

    def _clean_up(self, fault: FaultKind) -> None:
        candidate, volumes = self.window.candidate, self.context.volumes
        if self._at.healed_s is None:
            try:
                self._heal()
            except StithyError:
                volume = self._target.volume
                if volume.clusters or volume.drives:  # others only had a fault of their server
                    volumes.moved.add(candidate)
                raise
        if self._at.whole_s is None and candidate not in volumes.lost:
            try:
                fault.rebuild(self._target, self._keys)
            except InfrastructureError:
                volumes.lost[candidate] = "its repair was cut short"
            except StithyError:
                volumes.moved.add(candidate)

    def act(self) -> None:
        """Strike and heal at their times, and restore redundancy; until the users are done."""
        clock, stop = self.context.session.clock, self.context.session.stop
        if not self._leads:
            self.times = Times(*(3 * (clock.now_s(),)), complete=True)
            return
        began_s = self.context.session.start.wait(stop)
        from_s = began_s + self.window.ramp_up_s
        at_s, lasts_s = self._spec.choose_times_s(self.window.duration_s, self._level)
        strike_s = from_s + at_s
        self.wait_until(strike_s)
        if self._fault is None:
            self._at.struck_s = clock.now_s()
            self.wait_until(strike_s + lasts_s)
            self._at.healing_s = self._at.healed_s = self._at.whole_s = clock.now_s()
        else:
            self._break_and_heal(self._fault, strike_s + lasts_s)
        self.wait_until(from_s + self.window.duration_s)
        self.times = Times(began_s, from_s, clock.now_s(), complete=True)

    def _break_and_heal(self, fault: FaultKind, heal_s: float) -> None:
        clock, at, target = self.context.session.clock, self._at, self._target
        at.struck_s = clock.now_s()
        fault.inject(target, self._keys)
        at.broken_s = clock.now_s()

        def look() -> None:
            if at.detected_s is None and fault.is_noticeable(target) and fault.is_detected(target):
                at.detected_s = clock.now_s()

        with ThreadPoolExecutor() as pool:
            moved = pool.submit(fault.fail_over, target, self._keys)
            self.wait_until(heal_s, look)
            moved.result()
        self._heal()
        self._lost = fault.find_loss(self._target, self._keys)
        self._at.lost_s = clock.now_s()
        try:
            if self._lost is not None:
                raise InfrastructureError(
                    f"the volume is lost: {self._lost}", where=f"candidate {self.window.candidate}",
                    remedy="none: it is made anew before the next window",
                )  # fmt: skip
            self._rebuilt = fault.rebuild(self._target, self._keys)
        except InfrastructureError as error:
            self.context.volumes.lost[self.window.candidate] = self._lost or error.text
            raise
        self._at.whole_s = clock.now_s()

    def _heal(self) -> None:
        assert self._fault is not None  # without one nothing has to be healed
        clock = self.context.session.clock
        self._at.healing_s = clock.now_s()
        self._fault.heal(self._target, self._keys)
        self._at.healed_s = clock.now_s()

    def _check_files(self) -> None:
        from stithy.scenarios.failure.service import check_files

        clock = self.context.session.clock
        from_s = clock.now_s()
        try:
            self._damage = check_files(self._target)
        except InfrastructureError as error:
            self.context.session.stop.check()  # a person's end says nothing of the files
            self._unchecked = error.text
        outcome = NO_CHECK if self._damage is None else self._damage or "no damage"
        outcome = f"not done: {self._unchecked}" if self._unchecked else outcome
        self._checked = Span("check", from_s, clock.now_s(), outcome)

    @property
    def _keys(self) -> FaultKeys:
        assert self._fault is not None  # as above
        return self._spec.get_levels()[self._level]

    @cached_property
    def _phases(self) -> list[Phase]:
        at, times = self._at, self.times
        if times is None or at.struck_s is None or at.healed_s is None or at.whole_s is None:
            return []
        end_s = times.measure_from_s + self.window.duration_s
        whole_s = at.whole_s if self._rebuilt else at.healed_s
        edges = (times.measure_from_s, at.struck_s, at.healed_s, whole_s, end_s)
        gaps = self.summary.gaps if self._fault and self.summary else None
        return list_phases(edges, (gaps.longest_from_s, gaps.longest_s) if gaps else None)

    def values(self) -> Iterator[WindowValue]:
        """Times of the fault, and throughput and response time of each phase."""
        if not self._leads:
            return
        results = self.sum_phases(self._phases)
        for name in PHASES:
            lasted_s = sum(of.to_s - of.from_s for of in self._phases if of.name == name) or None
            missing = NO_PHASE if lasted_s is None else None
            yield WindowValue("fault.phase_s", lasted_s, name, missing_because=missing)
        yield from self.list_phase_values(ACTIVITY, PHASES, results, PERCENTILES_OF_PHASES)
        if self._fault is None:
            for name in TIMES:
                yield WindowValue(name, None, missing_because=NOT_THERE)
            return
        yield from self._list_values(self._fault)
        end_s = 0.0
        if self.times is not None and self._at.healed_s is not None:
            end_s = self.times.measure_from_s + self.window.duration_s
        yield self.find_recovery(
            "fault.recovery_s", results.get("baseline"), self._at.healed_s or 0.0, end_s
        )

    def _list_values(self, fault: FaultKind) -> Iterator[WindowValue]:
        at, study = self._at, self.context.file.study.at(self.window.point)
        promised, damaged = None, None if self._damage is None else float(bool(self._damage))
        if at.struck_s is not None:
            promised = float(fault.is_promised(study, self.window.candidate, self._keys))
        is_owed = fault.examines and at.broken_s is not None and self._checked is None
        unchecked = self._unchecked or (NOT_REACHED if is_owed else UNCHECKED)
        for name, known, because in (("fault.promised", promised, NOT_REACHED),
                                     ("fault.damaged", damaged, unchecked)):  # fmt: skip
            yield WindowValue(name, known, missing_because=because if known is None else None)
        whole_s = at.whole_s if self._rebuilt else None
        for name, from_s, to_s, because in (
            ("fault.detect_s", at.struck_s, at.detected_s,
             UNNOTICED if fault.is_noticeable(self._target) else UNNOTICEABLE),
            ("fault.heal_s", at.healing_s, at.healed_s, NOT_REACHED),
            ("fault.rebuild_s", at.healed_s, whole_s, NO_REDUNDANCY),
        ):  # fmt: skip
            value = None if from_s is None or to_s is None else to_s - from_s
            yield WindowValue(name, value, missing_because=because if value is None else None)

    def spans(self) -> Iterator[Span]:
        """The fault from its injection to its repair, and the time until all is whole again."""
        at = self._at
        if self._fault is None or at.struck_s is None or at.broken_s is None:
            return
        yield Span("fault", at.struck_s, at.healing_s, self._level)
        if at.detected_s is not None:
            yield Span("undetected", at.struck_s, at.detected_s, "detected")
        if at.healing_s is not None and at.healed_s is not None:
            yield Span("repair", at.healing_s, at.healed_s, "done")
        if self._lost is not None:
            yield Span("lost", at.struck_s, at.lost_s, self._lost)
        if at.healed_s is not None and at.whole_s is not None and self._rebuilt is not None:
            yield Span("rebuild", at.healed_s, at.whole_s, self._rebuilt)
        if self._checked is not None:
            yield self._checked

    def said(self) -> str:
        """What broke, and how long it was broken."""
        at = self._at
        if self._fault is None or at.struck_s is None or at.healed_s is None:
            return "no fault"
        lasted = format_measured_duration(at.healed_s - at.struck_s)
        return f"{self._level}: repaired after {lasted}"


PLUGINS = tuple(
    Activity(name_activity(name), partial(FaultActivity, name))
    for name in (NONE, *plugins(FaultKind))
)
