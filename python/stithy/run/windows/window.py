"""One window: its activities made ready, watched while they work, written down.

Whatever goes wrong inside, the window's row is written: without numbers and with the reason. A
full disk ends the run, because every later window would meet it too, unless it was filled on
purpose.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from stithy.activity import expected_errors
from stithy.collectors.collector import Scope, TimedSample
from stithy.errors import InfrastructureError, StithyError, failures_of_the_machine
from stithy.plan.steps import Step, WindowPlan
from stithy.registry import plugins
from stithy.run.activity import Activity, Subject, Times, WindowActivity
from stithy.run.context import Context
from stithy.run.copies.drives import Counters, counters, traced
from stithy.run.sampler import Sampler
from stithy.run.session import Start
from stithy.run.stop import Stop
from stithy.run.windows.rows import write_window
from stithy.run.windows.surroundings import Snapshot, snapshot


@dataclass
class MeasuredWindow:
    """What a window has given so far; what it did not come to is None or empty."""

    window: WindowPlan
    activities: tuple[WindowActivity, ...]
    readings: tuple[TimedSample, ...] = ()
    drives: tuple[Counters, Counters] | None = None
    missing_because: str | None = None
    snapshots: tuple[Snapshot, Snapshot] | None = None

    @property
    def times(self) -> Times | None:
        """When its first activity worked."""
        return self.activities[0].times

    @property
    def complete(self) -> bool:
        """Whether all that was to be done was done, and nothing failed around it."""
        done = all(each.times is not None and each.times.complete for each in self.activities)
        return done and self.missing_because is None


def window_step(context: Context, step: Step) -> str:
    """Measure one window and write its tables; returns in words what came of it.

    Raises InfrastructureError for a full disk, and Interrupted for a window that a person cut
    short, after the tables are written.
    """
    assert step.window is not None  # the plan gives every window step its window
    with context.session.stop.part() as stop:
        measured = _measured(context, step.window, stop)
    result = write_window(context, context.session.directory.window(step.window.id), measured)
    _stop_when_full(context, measured)
    if not measured.complete:
        # It is not done: whoever resumes the run measures it again.
        context.session.stop.check()
    return result


def _measured(context: Context, window: WindowPlan, stop: Stop) -> MeasuredWindow:
    """A window, and why it has no numbers where something failed; `stop` is the window's own."""
    within = replace(context, session=replace(context.session, stop=stop, start=Start()))
    made = tuple(plugins(Activity)[name].create(within, window) for name in window.activities)
    measured = MeasuredWindow(window, made)
    try:
        with failures_of_the_machine(f"window {window.id}"):
            _measure(context, measured, stop)
    except StithyError as error:
        # What ended by itself comes first: it explains the rest.
        own = (each.ended_because for each in measured.activities)
        measured.missing_because = next(filter(None, own), None) or str(error)
    for each in made:
        each.aftermath()
    return measured


def _measure(context: Context, measured: MeasuredWindow, stop: Stop) -> None:
    """All activities at once, between two readings of everything, while collectors run."""
    candidate = measured.window.candidate
    directory = context.session.directory.window(measured.window.id)
    with ExitStack() as stack:
        subjects = [stack.enter_context(each.ready()) for each in measured.activities]
        # What is watched of all activities: every server, under one sampler.
        served = next((each for each in subjects if each.instances), subjects[0])
        subject = replace(
            served,
            instances=tuple(one for each in subjects for one in each.instances),
            pids=frozenset().union(*(each.pids for each in subjects)),
        )
        with _sampled(context, measured, subject):
            for each in measured.activities:
                each.begin()
            before = counters(context.volumes, candidate)
            first = snapshot(context, subject.pids, subject.log_folder)
            with traced(context.volumes, candidate, directory):
                try:
                    _together([each.act for each in measured.activities], stop.asked)
                finally:
                    # What ended the others early holds up nothing of what follows.
                    context.session.stop.pass_on(stop)
            measured.snapshots = (first, snapshot(context, subject.pids, subject.log_folder))
            measured.drives = (before, counters(context.volumes, candidate))
            for each in measured.activities:
                each.end()


def _together(works: Sequence[Callable[[], None]], stop: threading.Event) -> None:
    """All of them at once; the first error is raised when all have ended."""
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
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]


@contextmanager
def _sampled(context: Context, measured: MeasuredWindow, subject: Subject) -> Iterator[None]:
    """Collectors run inside; what they read is kept whatever happens."""
    volume = context.volumes.of(measured.window.candidate)
    sampler = Sampler(
        Scope(
            volumes=tuple(part.path for part in volume.parts),
            drives={drive.name: drive.control for drive in volume.drives},
            clusters=volume.clusters,
            instances=subject.instances,
            clock=context.session.clock,
            server_cpus=subject.cpus,
        ),
        context.host.collectors,
    )
    sampler.start()
    try:
        yield
    finally:
        measured.readings = sampler.stop()


def _stop_when_full(context: Context, measured: MeasuredWindow) -> None:
    """Raise if the volume is full, and no activity fills it on purpose."""
    expected = "full" in expected_errors(measured.window.activities)
    if expected or not any(each.is_full for each in measured.activities):
        return
    volume = context.volumes.of(measured.window.candidate)
    raise InfrastructureError(
        f"the file system of {volume.path} ran full in window {measured.window.id}",
        where=f"candidate {measured.window.candidate}",
        remedy="make room there, or use less data, shorter windows or fewer users",
    )
