"""A migration under the users of one window: begun at its time, ended, and what it left removed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial

from stithy.errors import InfrastructureError, StithyError, convert_machine_failures
from stithy.plan.steps import WindowPlan
from stithy.registry import plugins
from stithy.results.files import write_json
from stithy.results.phases import Phase
from stithy.run.activity import Activity, Span, Subject, TimedActivity, Times, WindowValue
from stithy.run.context import Context
from stithy.scenarios.migration.declared import (
    ACTIVITY,
    AFTER,
    BEFORE,
    COMPARED,
    DAMAGED,
    DIFFERING,
    MOVED,
    MOVING,
    NOT_BEGUN,
    NOTHING_MOVES,
    PHASES,
    SWITCHING,
    TABLES,
    TIMES,
    name_activity,
)
from stithy.scenarios.migration.plan import find_spec
from stithy.scenarios.migration.way import NONE, SWITCH, Move, TableSums, UnfinishedError, WayKind
from stithy.storage.consent import ASIDE, DATA
from stithy.units import format_measured_duration, format_size

END, SUMS = "end", "moved-tables.json"
FILES = "files were copied, and no blocks"
NO_SWITCH = "a server answers all the time"
NOT_REACHED = "it did not come to it"


class MigrationActivity(TimedActivity):
    """What moves in a window; in one without a migration nothing, at the same times."""

    who = "the migration"

    def __init__(self, method: WayKind | None, context: Context, window: WindowPlan) -> None:
        """Nothing has moved yet."""
        super().__init__(context, window)
        self._method = method
        self._begun_s: float | None = None
        self._ended_s: float | None = None
        self._move: Move | None = None
        self._sums: TableSums | None = None
        self._uncompared: str | None = None
        self._damaged: int | None = None
        self._unread = NOT_REACHED

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """Nothing of its own is needed; once the users are done, tables are compared."""
        yield Subject()
        move = self._move
        if self._method is not None and move is not None and move.marks[-1][0] == END:
            self._compare(self._method, move)

    def _compare(self, method: WayKind, move: Move) -> None:
        """Compare every table, and keep the checksums beside the window's tables."""
        try:
            self._uncompared = method.explain_uncompared(
                self.context.file.study.at(self.window.point)
            )
            with convert_machine_failures("the comparison with the source"):
                self._damaged, self._unread = method.count_damage(move), FILES
                self._sums = method.compare(move) if self._uncompared is None else None
        except InfrastructureError as error:
            self.context.session.stop.check()  # a person's end says nothing of tables
            self._uncompared = self._unread = error.text
        if self._sums is not None:
            both = {name: dict(zip(("source", "target"), sums, strict=True))
                    for name, sums in sorted(self._sums.items())}  # fmt: skip
            write_json(move.find_folder() / SUMS, {"tables": both})

    def act(self) -> None:
        """Move at its time, and let users go on at the target; until they are done."""
        session = self.context.session
        clock, began_s = session.clock, session.start.wait(session.stop)
        from_s = began_s + self.window.ramp_up_s
        until_s = from_s + self.window.duration_s
        spec = find_spec(self.context.file.study.at(self.window.point))
        self.wait_until(from_s + spec.choose_begin_s(self.window.duration_s))
        self._begun_s = clock.now_s()
        if self._method is not None:
            volume = self.context.volumes.of(self.window.candidate)
            target = volume.get_part("target")
            self._move = Move(self.context, self.window, volume, target, until_s)
            try:
                with convert_machine_failures(f"the migration by {self._method.name}"):
                    self._method.move(self._move)
                    self._move.begin(END, self._move.ended_s)
            except UnfinishedError as error:
                self.ended_because = str(error)
                raise
        self._ended_s = clock.now_s() if self._move is None else self._move.marks[-1][1]
        self.wait_until(until_s)
        self.times = Times(began_s, from_s, clock.now_s(), complete=True)

    def aftermath(self) -> None:
        """End what lasted for the window's checks, and remove the files that were left behind."""
        if self._move is None:
            return
        source = self._move.source
        with suppress(StithyError), convert_machine_failures("what a migration left"):
            self._move.held.close()
            if (source.path / DATA).is_symlink():
                self.context.volumes.remove(source.path, ASIDE)

    @cached_property
    def _parts(self) -> list[tuple[str, float, float]]:
        """The parts of the migration that came to their end."""
        marks = self._move.marks if self._move else []
        return [
            (name, at_s, to_s) for (name, at_s), (_, to_s) in zip(marks, marks[1:], strict=False)
        ]

    @cached_property
    def _phases(self) -> list[Phase]:
        times, begun_s, ended_s = self.times, self._begun_s, self._ended_s
        if times is None or begun_s is None or ended_s is None:
            return []
        found = [Phase(BEFORE, times.measure_from_s, begun_s)]
        for name, from_s, to_s in self._parts:
            phase = SWITCHING if name == SWITCH else MOVING
            if found[-1].name == phase:
                from_s = found.pop().from_s
            found.append(Phase(phase, from_s, to_s))
        return [*found, Phase(AFTER, ended_s, times.measure_from_s + self.window.duration_s)]

    def values(self) -> Iterator[WindowValue]:
        """Times of the migration, and throughput and response time of each phase."""
        results = self.sum_phases(self._phases)
        yield from self.list_phase_values(ACTIVITY, PHASES, results, ("p99",))
        if self._method is None or self._move is None:
            because = NOTHING_MOVES if self._method is None else NOT_BEGUN
            for name in (*TIMES, MOVED, *TABLES, DAMAGED):
                yield WindowValue(name, None, missing_because=because)
            return
        lasted = {name: to_s - from_s for name, from_s, to_s in self._parts}
        whole_s = sum(lasted.values()) if self._phases else None
        switch_s, moved = lasted.get(SWITCH), self._move.moved_bytes
        absent = NO_SWITCH if SWITCH not in self._method.parts else NOT_REACHED
        sums, uncompared = self._sums, self._uncompared or NOT_REACHED
        differing = None if sums is None else sum(a != b for a, b in sums.values())
        for name, value, because in (
            (TIMES[0], whole_s, NOT_REACHED), (TIMES[1], switch_s, absent),
            (MOVED, moved, NOT_REACHED),
            (COMPARED, None if sums is None else len(sums), uncompared),
            (DIFFERING, differing, uncompared), (DAMAGED, self._damaged, self._unread),
        ):  # fmt: skip
            yield WindowValue(name, value, missing_because=because if value is None else None)
        ends = self._phases[-1] if self._phases else Phase(AFTER, 0.0, 0.0)
        yield self.find_recovery(TIMES[2], results.get(BEFORE), ends.from_s, ends.to_s)

    def spans(self) -> Iterator[Span]:
        """Each part of the migration."""
        ended = {name for name, _, _ in self._parts}
        for name, from_s, to_s in self._parts:
            yield Span(name, from_s, to_s, "done")
        for name, at_s in self._move.marks if self._move else []:
            if name not in ended and name != END:
                yield Span(name, at_s)

    def said(self) -> str:
        """What was moved, and how long it took."""
        if self._move is None or self._begun_s is None or self._ended_s is None:
            return "no migration"
        size, lasted_s = self._move.moved_bytes, self._ended_s - self._begun_s
        lasted = format_measured_duration(lasted_s)
        moved = "" if size is None else f"{format_size(size)} moved "
        return f"{moved}by {self._method.name if self._method else NONE} in {lasted}"


PLUGINS = (
    Activity(name_activity(NONE), partial(MigrationActivity, None)),
    *(
        Activity(name_activity(method.name), partial(MigrationActivity, method))
        for method in plugins(WayKind).values()
    ),
)
