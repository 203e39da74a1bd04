"""One window: start the server within its memory, warm up, measure, verify, stop, write it down.

Whatever goes wrong inside, the window's row is written: without numbers and with the reason. A
full disk ends the run, because every later window would meet it too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from stithy.collect.collector import Scope, TimedSample
from stithy.collect.sampler import Sampler
from stithy.database.engine import CheckpointRule, CommitCounters, Instance, MaintenanceCounters
from stithy.engines import declaration
from stithy.errors import InfrastructureError, StithyError, failures_of_the_machine
from stithy.hosts.resources import MemoryGroup, MemoryLimit
from stithy.metrics import values_needed
from stithy.plan.steps import Step, WindowPlan, derive_seed
from stithy.results.layout import WindowDirectory
from stithy.run.context import Context
from stithy.run.copies.drives import Counters, counters
from stithy.run.events import Note, SecondPassed
from stithy.run.windows import ledger
from stithy.run.windows.driving import request_of
from stithy.run.windows.rows import write_window
from stithy.run.windows.surroundings import Snapshot, snapshot
from stithy.wire.messages import AnyMessage, Second
from stithy.workload.program import Checked, Driven, LedgerVerified, Program, Watch

WARM_UP_PER_WAREHOUSE = 500
WARM_UP_MAX = 20_000


@dataclass
class MeasuredWindow:
    """What a window has given so far; what it did not come to is None or empty."""

    window: WindowPlan
    limit_bytes: int | None = None
    limit_note: str | None = None
    peak_bytes: int | None = None
    warm_up_s: float | None = None
    driven: Driven | None = None
    readings: tuple[TimedSample, ...] = ()
    commits: tuple[CommitCounters, CommitCounters] | None = None
    maintenance: tuple[MaintenanceCounters, MaintenanceCounters] | None = None
    drives: tuple[Counters, Counters] | None = None
    checked: Checked | None = None
    ledger: LedgerVerified | None = None
    ledger_unverified_because: str | None = None
    missing_because: str | None = None
    server_ended: str | None = None
    snapshots: tuple[Snapshot, Snapshot] | None = None
    checkpoint_rule: CheckpointRule | None = None
    limit_lost: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the users did all they were to do, and nothing failed around them."""
        done = self.driven is not None and self.driven.summary.complete
        return done and self.missing_because is None


def window_step(context: Context, step: Step) -> str:
    """Measure one window and write its tables; returns in words what came of it.

    Raises InfrastructureError for a full disk, and Interrupted for a window that a person cut
    short, after the tables are written.
    """
    assert step.window is not None  # the plan gives every window step its window
    measured = MeasuredWindow(step.window)
    try:
        with failures_of_the_machine(f"window {step.window.id}"):
            _measure(context, measured)
    except StithyError as error:
        measured.missing_because = _reason(measured, error)
    ledger.verify_after_end(context, measured)
    directory = context.session.directory.window(step.window.id)
    result = write_window(context, directory, measured)
    _stop_when_full(context, directory, measured)
    if not measured.complete:
        # It is not done: whoever resumes the run measures it again.
        context.session.stop.check()
    return result


def _measure(context: Context, measured: MeasuredWindow) -> None:
    window = measured.window
    log = context.session.directory.window(window.id).server_log
    with context.servers.limited(window.candidate, window.point) as limit:
        _keep_limit(context, window.candidate, limit)
        measured.limit_bytes = limit.group.limit_bytes if limit.group else None
        measured.limit_note = limit.note
        group = limit.group
        cgroup = group.path if group else None
        at = window.point
        with context.servers.running(
            window.candidate, log, point=at, memory_cgroup=cgroup
        ) as instance:
            try:
                _use(context, measured, instance, group)
                measured.limit_lost = group.lost(instance.pid) if group else None
            finally:
                measured.server_ended = _ended(instance, group)
                measured.peak_bytes = group.peak_bytes() if group else None
            if measured.driven is not None and not measured.driven.summary.complete:
                # Whatever held the transactions back would hold back the ordinary end, too.
                instance.stop(at_once=True)


def _use(
    context: Context, measured: MeasuredWindow, instance: Instance, group: MemoryGroup | None
) -> None:
    """Everything between the server's start and its stop."""
    hammer = context.hammer(instance.url)
    _keep_facts(context, measured.window, instance)
    _warm_up(context, measured, hammer)
    try:
        _drive_sampled(context, measured, hammer, instance, group)
    finally:
        ledger.verify(context, measured, hammer, instance)
    # An interrupted window is verified too: what it did must be right all the same.
    measured.checked = hammer.check(
        context.choice,
        quick=True,
        after_load=False,
        watch=Watch(raw_output=context.session.directory.window(measured.window.id).check_output),
    )


def _keep_facts(context: Context, window: WindowPlan, instance: Instance) -> None:
    """Keep the server's version, and the settings in force in all windows of the candidate."""
    known = context.state.known.server_facts
    before = known.get(window.candidate)
    if before is None:
        known[window.candidate] = instance.facts()
    elif window.point.others:
        now = instance.facts().settings
        same = {name: value for name, value in before.settings.items() if now.get(name) == value}
        known[window.candidate] = replace(before, settings=same)


def _drive_sampled(
    context: Context,
    measured: MeasuredWindow,
    hammer: Program,
    instance: Instance,
    group: MemoryGroup | None,
) -> None:
    """The users' work between two readings of the server's counters, while collectors run."""
    with _sampled(context, measured, instance, group):
        if measured.window.checkpoint:
            instance.checkpoint()
        maintenance = instance.maintenance()
        commits = instance.commits(context.session.clock)
        measured.checkpoint_rule = instance.checkpoint_rule()
        before = counters(context.volumes, measured.window.candidate)
        first = snapshot(context, measured.window.candidate, instance)
        measured.driven = _drive(context, measured.window, hammer)
        measured.snapshots = (first, snapshot(context, measured.window.candidate, instance))
        measured.drives = (before, counters(context.volumes, measured.window.candidate))
        measured.commits = (commits, instance.commits(context.session.clock))
        measured.maintenance = (maintenance, instance.maintenance())


def _warm_up(context: Context, measured: MeasuredWindow, hammer: Program) -> None:
    """The same fixed pass for every candidate, so that all start with the same caches."""
    reach = context.choice.warehouses_touched or context.choice.warehouses
    summary = hammer.warm_up(
        context.choice,
        seed=derive_seed(context.plan.seed, "warm-up"),
        transactions=min(WARM_UP_MAX, WARM_UP_PER_WAREHOUSE * reach),
        watch=Watch(
            raw_output=context.session.directory.window(measured.window.id).warm_up_output,
            stop=context.session.stop.asked,
        ),
    )
    measured.warm_up_s = summary.duration_s


def _drive(context: Context, window: WindowPlan, hammer: Program) -> Driven:
    directory = context.session.directory.window(window.id)
    request = request_of(context.file.study, window, directory)

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, Second):
            context.session.tell(_second(context, window, message))

    watch = Watch(directory.hammer_output, on_message, context.session.stop.asked)
    return hammer.run(context.choice, request, watch=watch)


def _second(context: Context, window: WindowPlan, message: Second) -> SecondPassed:
    done = sum(each.committed + each.rolled_back for each in message.transactions)
    headline = [t for t in message.transactions if t.name == context.workload.headline]
    few = sum(each.committed + each.rolled_back for each in headline) < values_needed(95)
    p95_s = None if few else headline[0].live_p95_s
    return SecondPassed(window, message.second, message.phase, done * 60.0, p95_s)


@contextmanager
def _sampled(
    context: Context, measured: MeasuredWindow, instance: Instance, group: MemoryGroup | None
) -> Iterator[None]:
    """Collectors run inside; what they read is kept whatever happens."""
    volume = context.volumes.of(measured.window.candidate)
    sampler = Sampler(
        Scope(
            volumes=tuple(part.path for part in volume.parts),
            drives={drive.name: drive.control for drive in volume.drives},
            database=instance,
            memory_cgroup=group.path if group else None,
            clock=context.session.clock,
            server_cpus=context.servers.cpus,
        )
    )
    sampler.start()
    try:
        yield
    finally:
        measured.readings = sampler.stop()


def _ended(instance: Instance, group: MemoryGroup | None) -> str | None:
    """How the server ended by itself, or that it lost processes for want of memory."""
    ended = instance.ended_by()
    killed = group.killed() if group else None
    lost = f" ({killed} of its processes were killed)"
    if ended is None:
        return f"the server ran out of memory{lost}" if killed else None
    cause = f" because memory ran out{lost}" if killed else ""
    return f"the server {ended}{cause}: {instance.last_words()}"


def _reason(measured: MeasuredWindow, error: StithyError) -> str:
    """Why a window has no numbers: the server's end comes first, it explains the rest."""
    return measured.server_ended or f"{error.where}: {error.problem}"


def _stop_when_full(context: Context, directory: WindowDirectory, measured: MeasuredWindow) -> None:
    """Raise if the volume is full: by the server's log, or by the hammer's errors."""
    errors = measured.driven.summary.errors if measured.driven else ()
    error_class = declaration(context.file.study.database.engine).error_class
    classes = [error_class(each.code, each.text) for each in errors if each.code]
    classes += [error_class(None, line) for line in _log_lines(directory)]
    if "full" not in classes:
        return
    volume = context.volumes.of(measured.window.candidate)
    raise InfrastructureError(
        f"the file system of {volume.path} ran full in window {measured.window.id}",
        where=f"candidate {measured.window.candidate}",
        remedy="make room there, or use fewer warehouses, shorter windows or fewer users",
    )


def _log_lines(directory: WindowDirectory) -> list[str]:
    """What the server wrote; nothing where it left no log."""
    try:
        return directory.server_log.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _keep_limit(context: Context, candidate: str, limit: MemoryLimit) -> None:
    """Keep whether the limit holds, and say it where it is not as it was."""
    limits = context.state.known.limits
    before, now = limits.get(candidate), (limit.group is not None, limit.note)
    limits[candidate] = now
    if limit.note and before != now:
        context.session.tell(Note(f"{candidate}: {limit.note}"))
