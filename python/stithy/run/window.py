"""One window: its activities made ready, watched while they work, written down.

Whatever goes wrong inside, the window's row is written: without numbers and with the reason. A
full disk ends the run, because every later window would meet it too, unless it was filled on
purpose.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace

from stithy.activity import collect_expected_errors
from stithy.collectors.collector import TimedSample
from stithy.errors import InfrastructureError, StithyError, convert_machine_failures
from stithy.hosts.devices import average_times_s
from stithy.plan.steps import Step, WindowPlan
from stithy.power import NAME as POWER
from stithy.registry import plugins
from stithy.results import tables
from stithy.results.drives import LOG_SUFFIX, make_drive_rows, read_log
from stithy.results.files import list_window_tables, write_table
from stithy.results.layout import WindowDirectory
from stithy.results.tables import Row
from stithy.run import power, surroundings
from stithy.run.activity import Activity, Span, Subject, Times, WindowActivity
from stithy.run.context import Context
from stithy.run.drives import Counters, read_counters, trace_window
from stithy.run.events import WindowSampled
from stithy.run.sampler import Sampler, make_series_rows
from stithy.run.session import Stop, UsersStart
from stithy.run.surroundings import MachineSnapshot, snapshot


@dataclass
class MeasuredWindow:
    """What a window has given so far; what it did not come to is None or empty."""

    window: WindowPlan
    activities: tuple[WindowActivity, ...]
    readings: tuple[TimedSample, ...] = ()
    drives: tuple[Counters, Counters] | None = None
    missing_because: str | None = None
    snapshots: tuple[MachineSnapshot, MachineSnapshot] | None = None
    start: UsersStart = field(default_factory=UsersStart)

    @property
    def times(self) -> Times | None:
        """When its first activity worked."""
        return self.activities[0].times

    @property
    def complete(self) -> bool:
        """Whether all that was to be done was done, and nothing failed around it."""
        done = all(
            activity.times is not None and activity.times.complete for activity in self.activities
        )
        return done and self.missing_because is None


def measure_window(context: Context, step: Step) -> str:
    """Measure one window and write its tables; returns in words what came of it.

    Raises InfrastructureError for a full disk, and Interrupted for a window that a person cut
    short, after the tables are written.
    """
    assert step.window is not None  # the plan gives every window step its window
    with context.session.stop.part() as stop:
        measured = _measure_whole(context, step.window, stop)
    result = write_window(context, context.session.directory.window(step.window.id), measured)
    _stop_when_full(context, measured)
    if not measured.complete:
        # It is not done: whoever resumes the run measures it again.
        context.session.stop.check()
    return result


def _measure_whole(context: Context, window: WindowPlan, stop: Stop) -> MeasuredWindow:
    """A window, and why it has no numbers where something failed; `stop` is the window's own."""
    within = replace(context, session=replace(context.session, stop=stop, start=UsersStart()))
    made = tuple(plugins(Activity)[name].create(within, window) for name in window.activities)
    measured = MeasuredWindow(window, made, start=within.session.start)
    try:
        with convert_machine_failures(f"window {window.id}"):
            _measure(context, measured, stop)
    except StithyError as error:
        # What ended by itself comes first: it explains the rest.
        own = (activity.ended_because for activity in measured.activities)
        measured.missing_because = next(filter(None, own), None) or str(error)
    for activity in made:
        activity.aftermath()
    return measured


def _measure(context: Context, measured: MeasuredWindow, stop: Stop) -> None:
    """All activities at once, between two readings of everything, while collectors run."""
    candidate = measured.window.candidate
    directory = context.session.directory.window(measured.window.id)
    with ExitStack() as stack:
        subjects = [stack.enter_context(activity.ready()) for activity in measured.activities]
        # What is watched of all activities: every server, under one sampler.
        served = next((subject for subject in subjects if subject.instances), subjects[0])
        subject = replace(
            served,
            instances=tuple(one for subject in subjects for one in subject.instances),
            pids=frozenset().union(*(subject.pids for subject in subjects)),
        )
        with _sample_inside(context, measured, subject):
            for activity in measured.activities:
                activity.begin()
            before = read_counters(context.volumes, candidate)
            first = snapshot(context, subject.pids, subject.log_folder)
            with trace_window(context.volumes, candidate, directory):
                try:
                    _act_together([activity.act for activity in measured.activities], stop.asked)
                finally:
                    # What ended the others early holds up nothing of what follows.
                    context.session.stop.pass_on(stop)
            measured.snapshots = (first, snapshot(context, subject.pids, subject.log_folder))
            measured.drives = (before, read_counters(context.volumes, candidate))
            for activity in measured.activities:
                activity.end()


def _act_together(works: Sequence[Callable[[], None]], stop: threading.Event) -> None:
    if len(works) == 1:
        works[0]()
        return
    errors: list[BaseException] = []

    def work(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:  # noqa: BLE001 raised below, by whoever waits for it
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=work, args=(each,)) for each in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


WATCHED = frozenset({"block", "cpu"})
"""Collectors whose readings are told at once: they show what limits a window."""


def list_spans(activities: Sequence[WindowActivity]) -> tuple[Span, ...]:
    """List the named times so far, as copies of the activities say them.

    An activity may keep what it was asked once; it must not keep what was so in the middle.
    """
    found: list[Span] = []
    for activity in activities:
        with suppress(Exception):  # it is at work: what it cannot say yet, it says a second later
            found += copy(activity).spans()
    return tuple(found)


@contextmanager
def _sample_inside(context: Context, measured: MeasuredWindow, subject: Subject) -> Iterator[None]:
    scope = power.make_scope(context, measured.window.candidate)

    def hear(samples: tuple[TimedSample, ...]) -> None:
        if shown := tuple(sample for sample in samples if sample.collector in WATCHED):
            spans, start_s = list_spans(measured.activities), measured.start.at_s or None
            context.session.tell(WindowSampled(measured.window, shown, spans, start_s))

    sampler = Sampler(
        replace(scope, instances=subject.instances, server_cpus=subject.cpus),
        context.host.collectors, hear,
    )  # fmt: skip
    sampler.start()
    try:
        yield
    finally:
        measured.readings = sampler.stop()


def _stop_when_full(context: Context, measured: MeasuredWindow) -> None:
    """Raise if the volume is full, and no activity fills it on purpose."""
    expected = "full" in collect_expected_errors(measured.window.activities)
    if expected or not any(activity.is_full for activity in measured.activities):
        return
    volume = context.volumes.of(measured.window.candidate)
    raise InfrastructureError(
        f"the file system of {volume.path} ran full in window {measured.window.id}",
        where=f"candidate {measured.window.candidate}",
        remedy="make room there, or use less data, shorter windows or fewer users",
    )


def write_window(context: Context, directory: WindowDirectory, measured: "MeasuredWindow") -> str:
    """Write all tables of a window; returns in words what came of it."""
    row = make_window_row(context, measured)
    if (times := measured.times) is not None:
        within = (times.measure_from_s, times.measure_to_s)
        records = power.read_records(context, measured.window.candidate, *within)
        measured.readings = (*measured.readings, *records)
    around = [surroundings.make_row(context, measured)] if measured.snapshots else []
    pairs = list(zip(measured.window.activities, measured.activities, strict=True))
    found: dict[str, list[Row]] = {
        "values": [
            {"window_id": measured.window.id, "activity": name, **vars(value)}
            for name, activity in pairs
            for value in activity.values()
        ],
        "spans": [
            {"window_id": measured.window.id, "activity": name, **vars(span)}
            for name, activity in pairs
            for span in activity.spans()
        ],
        "series": make_series_rows(row["window_id"], measured.readings, row["started_at_s"]),
        "drives": _make_drive_rows(context, measured),
        "surroundings": around,
    }
    found["values"] += _list_power_values(context, measured, found["values"])
    own: dict[str, tuple[tables.Table, list[Row]]] = {}
    for activity in measured.activities:
        for table, rows in activity.tables(measured.readings):
            own.setdefault(table.name, (table, []))[1].extend(rows)
    for table in {*list_window_tables(), tables.SERIES} - {tables.WINDOW}:
        _, rows = own.pop(table.name, (table, found.get(table.name, [])))
        write_table(directory.table(table.name), table, rows)
    for table, rows in own.values():
        write_table(directory.table(table.name), table, rows)
    # Last: a window counts as measured when its own row is there.
    write_table(directory.table("window"), tables.WINDOW, [row])
    if not row["complete"]:
        return f"no measurement: {row['missing_because']}"
    return "; ".join(activity.said() for activity in measured.activities)


def _list_power_values(
    context: Context, measured: "MeasuredWindow", values: Sequence[Row]
) -> list[Row]:
    """List what meters say of the measurement; `values`: what activities say of it."""
    if (times := measured.times) is None:
        return []
    within, candidate = (times.measure_from_s, times.measure_to_s), measured.window.candidate
    return [
        {"window_id": measured.window.id, "activity": POWER, **vars(value)}
        for value in power.list_values(context, candidate, within, measured.readings, values)
    ]


def make_window_row(context: Context, measured: "MeasuredWindow") -> Row:
    """The row of WINDOW; null for whatever the window did not come to."""
    window, times = measured.window, measured.times
    missing = measured.missing_because
    if missing is None and not measured.complete:
        missing = _cut_short(context, measured)
    return {
        "window_id": window.id,
        "candidate": window.candidate,
        "point": str(window.point),
        "activity": ", ".join(window.activities),
        "block": window.block,
        "tried": window.tried,
        "attempt": window.attempt,
        "position": window.position,
        "started_at_s": times.started_at_s if times else None,
        "measure_from_s": times.measure_from_s if times else None,
        "measure_to_s": times.measure_to_s if times else None,
        "complete": measured.complete,
        "missing_because": missing,
    }


def _cut_short(context: Context, measured: "MeasuredWindow") -> str:
    """Why the work did not come to its planned end."""
    if context.session.stop.asked.is_set():
        return "stopped by a person"
    short = (
        activity
        for activity in measured.activities
        if not (activity.times and activity.times.complete)
    )
    return next(activity.ended_because or activity.cut_short() for activity in short)


def _make_drive_rows(context: Context, measured: "MeasuredWindow") -> list[Row]:
    if measured.drives is None or measured.times is None:
        return []
    before, after = measured.drives
    times, rows = measured.times, []
    for drive in context.volumes.of(measured.window.candidate).drives:
        path = drive.log_stem.with_name(drive.log_stem.name + LOG_SUFFIX)
        log = read_log(path, times.measure_from_s, times.measure_to_s)
        then, now = before[drive.name], after[drive.name]
        means_s: dict[str, float | None] = {}  # of a device that the kernel counts
        if then.device is not None and now.device is not None:
            writes = now.answered("write") - then.answered("write")
            means_s = average_times_s(then.device, now.device, writes)
        window_id = measured.window.id
        rows += make_drive_rows(window_id, drive.name, then.reported, now.reported, log, means_s)
    return rows
