"""Doing the steps of a plan, one by one: journal, do, journal; and taking everything down again.

However a run ends (well, by an error, by Ctrl-C, by a bug), what it made is unmade, the manifest
says how it ended, and the results so far are whole.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from stithy.errors import InfrastructureError, Interrupted, StithyError, failures_of_the_machine
from stithy.plan.steps import Step, StepKind
from stithy.results.layout import RunDirectory
from stithy.results.manifest import End
from stithy.run.before.earlier import earlier_factors, keep_learned
from stithy.run.before.forecast import Forecast
from stithy.run.context import Context
from stithy.run.copies.drives import paced_for
from stithy.run.copies.loading import check, prepare, snapshot
from stithy.run.copies.restore import restore_step
from stithy.run.deciding.course import Course
from stithy.run.deciding.deciding import Judge, Question
from stithy.run.deciding.further import Adviser
from stithy.run.events import Note, RunStarted, StepFinished, StepSkipped, StepStarted
from stithy.run.live.notes import notes_of
from stithy.run.manifest import ManifestFile
from stithy.run.stop import interrupted
from stithy.run.undoing.register import read_registered
from stithy.run.undoing.undo import Left, undo
from stithy.run.windows.calibrating import calibrate
from stithy.run.windows.canary import canary
from stithy.run.windows.ledger import warn_of_sharing
from stithy.run.windows.window import window_step
from stithy.storage.provider import Volume
from stithy.study.durability import given_up, sentences

Action = Callable[[Context, Step], str]


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `error` is None only when every step was done.

    `left` is what could not be removed; `kept` are the URLs of instances that go on, by candidate.
    """

    directory: RunDirectory
    end: End
    error: StithyError | None
    left: tuple[Left, ...]
    kept: Mapping[str, str]


def execute(
    context: Context,
    *,
    keep: bool = False,
    judge: Judge | None = None,
    advisers: Sequence[Adviser] = (),
) -> Outcome:
    """Do all steps of the plan; errors of the run are in the outcome, bugs are raised.

    `judge` says when the primary question is decided; without one every block is measured.
    `advisers` say which windows what was measured needs beside those of the plan.
    """
    question = Question(context, judge)
    manifest = ManifestFile(context)
    forecast = Forecast(earlier_factors())
    error: StithyError | None = None
    try:
        manifest.write()
        context.tell(_started(context, question, forecast))
        _tell_not_durable(context)
        course = Course(context, advisers, forecast, keep=keep)
        _do_steps(context, manifest, question, course, forecast)
        kept = keep_running(context) if keep else {}
    except Interrupted:
        error, kept = interrupted(), {}
    except StithyError as raised:
        error, kept = raised, {}
    except BaseException:
        _take_down(context, keep=False)
        with suppress(StithyError):  # the bug is what must be told
            manifest.write("failed", "a bug in Stithy")
        raise
    left = _take_down(context, keep=bool(kept))
    error = _write_end(context, manifest, error)
    return Outcome(context.directory, _end_of(error), error, left, kept)


def _write_end(
    context: Context, manifest: ManifestFile, error: StithyError | None
) -> StithyError | None:
    """Write down how the run ended; its error, or the one of writing where it had none."""
    end, because = _end_of(error), str(error) if error else None
    try:
        context.journal.write("run-ended", end=end, because=because)
        context.journal.close()
        manifest.write(end, because)
    except StithyError as refused:
        return error or refused
    return error


def _tell_not_durable(context: Context) -> None:
    """That the study asks for a database which may lose what it acknowledged."""
    database = context.file.study.database
    for text in sentences(given_up(database.engine, database.settings)):
        context.tell(Note(text))


def _started(context: Context, question: Question, forecast: Forecast) -> RunStarted:
    steps = context.steps
    times = _both(forecast, question, steps)
    notes = notes_of(context.file.study, context.plan)
    return RunStarted(str(context.directory.root), len(steps), *times, notes=notes)


def _do_steps(
    context: Context,
    manifest: ManifestFile,
    question: Question,
    course: Course,
    forecast: Forecast,
) -> None:
    try:
        _do_each(context, manifest, question, course, forecast)
    finally:
        keep_learned(forecast.learned, question.rates)
    question.conclude()
    context.stop.check()


def _do_each(
    context: Context,
    manifest: ManifestFile,
    question: Question,
    course: Course,
    forecast: Forecast,
) -> None:
    course.ask()
    while course.left:
        step = course.left[0]
        context.stop.check()
        if (because := question.spares(step)) is not None:
            _skip(context, step, because)
        else:
            left_s = _both(forecast, question, course.left)
            context.tell(StepStarted(step, course.number, course.count, *left_s))
            forecast.learn(step, do_step(context, step))
            manifest.write()
            question.learn(step)
        course.is_over(step)


def _both(
    forecast: Forecast, question: Question, steps: Sequence[Step]
) -> tuple[float, float | None]:
    """The expected time of these steps, and of all of them where some may not be needed."""
    certain = question.certain(steps)
    whole_s = forecast.left_s(steps)
    return forecast.left_s(certain), None if len(certain) == len(steps) else whole_s


def _skip(context: Context, step: Step, because: str) -> None:
    context.journal.write("step-skipped", id=step.id, kind=step.kind, because=because)
    if step.kind == "window":
        context.state.skipped[step.id] = because
    context.tell(StepSkipped(step, because))


def do_step(context: Context, step: Step) -> float:
    """Journal, do, journal; returns the seconds it took.

    Raises what the step raises, after it was written down.
    """
    began_s = context.clock.monotonic_s()
    context.journal.write("step-started", id=step.id, kind=step.kind, candidate=step.candidate)
    try:
        with failures_of_the_machine(f"step {step.id}"), paced_for(context, step):
            result = ACTIONS[step.kind](context, step)
    except StithyError as error:
        with suppress(StithyError):  # the first error explains the second
            context.journal.write("step-failed", id=step.id, error=str(error))
        raise
    duration_s = context.clock.monotonic_s() - began_s
    context.journal.write("step-finished", id=step.id, duration_s=duration_s, result=result)
    context.tell(StepFinished(step, duration_s, result))
    return duration_s


def provision(context: Context, step: Step) -> str:
    """Make a candidate's volume."""
    assert step.candidate is not None  # the plan gives every provision a candidate
    provider = context.providers[step.candidate]
    volume = provider.provision(context.run_id, context.recorder(step.candidate))
    context.state.volumes[step.candidate] = volume
    warn_of_sharing(context, step.candidate)
    return "; ".join(_told(part) for part in volume.parts)


def _told(volume: Volume) -> str:
    """A volume in words: where it is, on what."""
    drive = volume.drive
    under = f", {drive.role} on the emulated drive {drive.device}" if drive else ""
    return f"{volume.path} on {volume.filesystem}{under}"


def check_step(context: Context, step: Step) -> str:
    """Verify all conditions; at a candidate's end a database that is gone ends nothing."""
    try:
        return check(context, step)
    except Interrupted:
        raise
    except StithyError as error:
        if not step.at_end:
            raise
        context.tell(Note(f"{step.candidate}: the final check could not be done: {error}"))
        return f"not done: {error.problem}"


def tear_down(context: Context, step: Step) -> str:
    """Remove what belongs to one candidate."""
    left = _undo(context, candidate=step.candidate)
    if left:
        raise InfrastructureError(
            f"{left[0].making.kind} could not be removed: {left[0].reason}",
            where=f"candidate {step.candidate}",
            remedy="mend that, then run `stithy clean`",
        )
    return "removed"


def keep_running(context: Context) -> dict[str, str]:
    """Start the instance of each candidate once more, to go on until `stithy clean`."""
    from stithy.run.undoing.keep import keep_instances

    return keep_instances(context)


ACTIONS: Mapping[StepKind, Action] = {
    "provision": provision,
    "prepare": prepare,
    "calibrate": calibrate,
    "snapshot": snapshot,
    "check": check_step,
    "canary": canary,
    "restore": restore_step,
    "window": window_step,
    "tear-down": tear_down,
}


def _take_down(context: Context, *, keep: bool) -> tuple[Left, ...]:
    """Undo all that is still there, also what no step undid; shielded from further signals."""
    if keep:
        return ()
    with context.stop.shield():
        left = _undo(context, candidate=None)
        for provider in (*context.providers.values(), context.keeper):
            provider.release()
        context.register.close(remove=not left)
    return tuple(left)


def _undo(context: Context, *, candidate: str | None) -> list[Left]:
    """Undo what the register holds of one candidate; None: of all."""
    registered = read_registered(context.register.path)
    makings = [
        making
        for making in (registered.makings if registered else ())
        if candidate is None or making.facts.get("candidate") == candidate
    ]
    return undo(context.run_id, makings, context.register.unmade, everything=candidate is None)


def _end_of(error: StithyError | None) -> End:
    if error is None:
        return "finished"
    return "interrupted" if isinstance(error, Interrupted) else "failed"
