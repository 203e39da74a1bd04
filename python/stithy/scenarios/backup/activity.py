"""Backups of the running database while its users work; afterwards the last one is restored.

They begin with the measurement, and follow each other. A backup that fails is a span that does not
count; the users' window stays as it is. Where nobody works each backup is restored before the next.
Where the study keeps a commit ledger, what was acknowledged before the last backup began must be in
what is restored of it; later work may be.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from stithy.activities.backup.cycles import (
    DONE,
    FAILED,
    HOLDS,
    LOST,
    NOT_CHECKED,
    NOTHING_LOST,
    RESTORE_FAILED,
    UNEQUAL,
    Backups,
    Cycle,
    is_hopeless,
    is_of_the_machine,
)
from stithy.activities.hammer.declared import AGENTS
from stithy.collectors.collector import TimedSample
from stithy.errors import Interrupted, StithyError, convert_machine_failures
from stithy.plan.steps import WindowPlan
from stithy.results.layout import WindowDirectory
from stithy.results.tables import Row, Table
from stithy.run.activity import Activity, BasicActivity, Span, StepKind, Subject, Times, WindowValue
from stithy.run.context import Context
from stithy.run.events import Note
from stithy.scenarios.backup.plan import find_spec
from stithy.scenarios.backup.proof import (
    list_backups,
    prepare_backup,
    prove_backup,
    prove_other_engines,
    try_agents,
)
from stithy.units import format_measured_duration, format_size
from stithy.wire.hammer import Hammer, ProgressWatch
from stithy.wire.jobs import WorkloadChoice

NAME = "backup"
NONE = "no backup of the window succeeded"
NOT_RESTORED = "the last backup of the window was not restored"


class BackupActivity(BasicActivity):
    """The backups of one window."""

    who = "the backups"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        super().__init__(context, window)
        self._spec = find_spec(context.file.study.at(window.point))
        self._backups: Backups = list_backups(context, window)
        self._cycles: list[Cycle] = []
        self._restores: list[Cycle] = []
        self._broken: tuple[int, ...] | None = None
        self._promised_bytes: int | None = None
        self._is_compared = False
        self._until_s: float | None = None

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """The users' server runs already: it is theirs. Where there are none it is started."""
        if self._backups.client:
            self._backups.client.await_agent()
        if not self._spec.is_idle:
            yield Subject()
            return
        servers, window, log = self.context.servers, self.window, self._directory.server_log
        with servers.limited(window.candidate, window.point) as limit:
            group = limit.group.path if limit.group else None
            with servers.running(
                window.candidate, log, point=window.point, memory_cgroup=group
            ) as instance:
                yield servers.watched(window, instance, group)

    def act(self) -> None:
        """Back up from the start of the measurement, while users work at most until its end."""
        context, window = self.context, self.window
        clock, stop = context.session.clock, context.session.stop
        began_s = clock.now_s() if self._spec.is_idle else context.session.start.wait(stop)
        from_s = began_s + window.ramp_up_s
        self._until_s = None if self._spec.is_idle else from_s + window.duration_s
        stop.asked.wait(max(0.0, from_s - clock.now_s()))
        while len(self._cycles) < self._spec.cycles_most:
            is_in_vain = self._spec.cycles is None and is_hopeless(self._cycles)
            if is_in_vain or (self._until_s is not None and clock.now_s() >= self._until_s):
                break
            stop.check()
            self._cycles.append(self._taken())
            if self._spec.is_idle:
                self._restore(check=len(self._cycles) == self._spec.cycles_most)
        self.times = Times(began_s, from_s, clock.now_s(), complete=True)

    def _taken(self) -> Cycle:
        """A cycle; what fails before its program begins is its failure, too."""
        began_s = self.context.session.clock.now_s()
        self._promised_bytes = measure_length(self._directory)
        try:
            instance = self.context.servers.get_live(self.window.candidate)
            with convert_machine_failures("backup"):
                return self._backups.take(instance, self._log)
        except Interrupted:
            raise
        except StithyError as error:
            now_s = self.context.session.clock.now_s()
            return Cycle(began_s, now_s, 0, None, error.text)

    @property
    def _directory(self) -> WindowDirectory:
        return self.context.session.directory.window(self.window.id)

    @property
    def _log(self) -> Path:
        return self._directory.root / "backup.log"

    def end(self) -> None:
        """Restore the last backup, once the users are done, and check it."""
        if not self._spec.is_idle:
            self._restore(check=True)
        if not self._backups.method.keeps_repository:
            # What a server archives to is removed before the next window, when it has ended.
            self._backups.remove()

    def _restore(self, *, check: bool) -> None:
        if not self._spec.verify or not self._cycles or self._cycles[-1].failed_because:
            return
        began_s = self.context.session.clock.now_s()
        try:
            with (
                convert_machine_failures("restore"),
                self._backups.restored(self._log) as (cycle, instance),
            ):
                self._restores.append(cycle)
                if instance is not None and check:
                    self._check(self.context.hammer(instance.url))
        except Interrupted:
            raise
        except StithyError as error:
            now_s = self.context.session.clock.now_s()
            because = error.text
            if not self._restores or self._restores[-1].from_s < began_s:
                self._restores.append(Cycle(began_s, now_s, 0, None, because))
            self.context.session.tell(Note(f"{self.window.candidate}: restore: {because}"))

    def _check(self, hammer: Hammer) -> None:
        choice = self.context.choice_at(self.window.point)
        output = self._log.with_name("restored-check.jsonl")
        checked = self.context.verify_conditions(hammer, choice, output)
        self._broken = checked.broken if checked else None
        if self._promised_bytes is None:
            return
        lost = explain_missing(hammer, choice, self._directory, self._promised_bytes)
        self._is_compared = True
        if lost is not None:
            self._restores[-1] = replace(self._restores[-1], failed_because=lost)

    @property
    def _good(self) -> list[Cycle]:
        return [cycle for cycle in self._cycles if cycle.failed_because is None]

    def values(self) -> Iterator[WindowValue]:
        """Means of the cycles that succeeded."""
        good = self._good
        rates = [each.source_bytes / each.duration_s for each in good]
        sizes = [float(each.size_bytes or 0) for each in good]
        ratios = [each.source_bytes / each.size_bytes for each in good if each.size_bytes]
        yield _average("backup.duration_s", [each.duration_s for each in good])
        yield _average("backup.bytes_per_s", rates)
        yield _average("backup.size_bytes", sizes)
        yield _average("backup.compression", ratios)
        for number, each in enumerate(self._cycles, 1):
            if each.failed_because is None and each.size_bytes:
                of, ratio = f"{NAME} {number}", each.source_bytes / each.size_bytes
                yield WindowValue("backup.cycle_bytes", float(each.size_bytes), of)
                yield WindowValue("backup.cycle_ratio", ratio, of)
        if self._until_s is None:
            yield WindowValue("backup.covered_share", None, missing_because="nobody works")
        else:
            inside = (min(cycle.to_s, self._until_s) - cycle.from_s for cycle in self._cycles)
            covered = min(1.0, sum(max(0.0, s) for s in inside) / self.window.duration_s)
            yield WindowValue("backup.covered_share", covered)
        # Also of those that failed: they may have come that far.
        yield WindowValue("backup.commits", float(self._backups.commits * len(self._cycles)))
        restores = [restore for restore in self._restores if restore.failed_because is None]
        yield _average("backup.restore_s", [each.duration_s for each in restores], NOT_RESTORED)
        rates = [each.source_bytes / each.duration_s for each in restores]
        yield _average("backup.restore_bytes_per_s", rates, NOT_RESTORED)

    def spans(self) -> Iterator[Span]:
        found = [
            Span(f"{NAME} {number}", each.from_s, each.to_s,
                 FAILED if each.failed_because else DONE, each.failed_because)
            for number, each in enumerate(self._cycles, 1)
        ] + [
            Span(f"restore {number}" if self._spec.is_idle else "restore", each.from_s, each.to_s,
                 self._list_restored(each), each.failed_because)
            for number, each in enumerate(self._restores, 1)
        ]  # fmt: skip
        yield from sorted(found, key=lambda span: span.from_s)

    def tables(self, _: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        if self._backups.client:
            yield AGENTS, self._backups.client.make_rows(self.window.id)

    def _list_restored(self, cycle: Cycle) -> str:
        if because := cycle.failed_because:
            return RESTORE_FAILED if is_of_the_machine(because) else UNEQUAL
        if self._broken is None or cycle is not self._restores[-1]:
            return NOT_CHECKED
        if self._broken:
            return UNEQUAL
        return f"{HOLDS}, {NOTHING_LOST}" if self._is_compared else HOLDS

    def said(self) -> str:
        if not self._good:
            return NONE
        last = self._good[-1]
        said = f"backup {format_measured_duration(last.duration_s)}"
        said += f" ({format_size(last.size_bytes or 0)})"
        if not self._restores:
            return said
        restore = self._restores[-1]
        took = format_measured_duration(restore.duration_s)
        return f"{said}, restore {took}: {self._list_restored(restore)}"


def _average(name: str, values: list[float], missing: str = NONE) -> WindowValue:
    if not values:
        return WindowValue(name, None, missing_because=missing)
    return WindowValue(name, fmean(values), count=len(values))


CHUNK_BYTES = 2**20
ROOM_BYTES = 4096
"""Zeros after the first bytes: those at the end of an entry among them, and room for more."""


def measure_length(directory: WindowDirectory) -> int | None:
    """How many bytes are written to a window's ledger by now; None where there is none.

    The room after them is zeros, which those at the end of an entry are taken for. It is read from
    the end: users are measured meanwhile.
    """
    if not directory.ledger.exists():
        return None
    with directory.ledger.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = file.seek(max(0, end - CHUNK_BYTES))
            if written := file.read(end - begin).rstrip(b"\0"):
                return begin + len(written)
            end = begin
    return 0


def explain_missing(
    hammer: Hammer, choice: WorkloadChoice, directory: WindowDirectory, promised_bytes: int
) -> str | None:
    """What the database misses of the ledger's first bytes, in words; None if nothing.

    An entry that they cut is none, as after a loss of power. Raises what the hammer does.
    """
    first = directory.ledger.with_name("before-backup.ledger")
    with directory.ledger.open("rb") as whole:
        first.write_bytes(whole.read(promised_bytes) + bytes(ROOM_BYTES))
    try:
        watch = ProgressWatch(raw_output=directory.root / "restored-ledger.jsonl")
        summary = hammer.verify_ledger(choice, first, watch=watch).summary
    finally:
        first.unlink()
    if summary.holds:
        return None
    every = summary.entries.values()
    wrong = {
        "lost": sum(each.lost for each in every),
        "torn": sum(each.differing for each in every),
        "returned though refused": sum(each.returned for each in every),
    }
    return f"{LOST}: {', '.join(f'{count} {what}' for what, count in wrong.items() if count)}"


PLUGINS = (
    Activity(NAME, BackupActivity),
    StepKind("try-agents", try_agents, "around", "try the agents of backups", "try agents"),
    StepKind("prepare-backup", prepare_backup, "around", "make the repository of backups",
             "prepare backups"),
    StepKind("prove-backup", prove_backup, "loading", "back up, restore and compare all rows",
             "prove the backup"),
    StepKind("prove-other-engines", prove_other_engines, "loading",
             "back up, restore and compare with the other engines", "prove other engines"),
)  # fmt: skip
