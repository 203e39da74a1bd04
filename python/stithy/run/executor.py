"""Doing the steps of a plan, one by one: journal, do, journal; and taking everything down again.

However a run ends (well, by an error, by Ctrl-C, by a bug), what it made is removed, the manifest
says how it ended, and the results so far are whole. Where a resume can go on, what it uses again
stays, as after a kill: the loaded database is not loaded twice.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import InfrastructureError, Interrupted, StithyError, convert_machine_failures
from stithy.plan.additional import list_steps
from stithy.plan.steps import Plan, Step
from stithy.registry import plugins
from stithy.results.files import read_rows
from stithy.results.layout import RunDirectory
from stithy.results.manifest import End
from stithy.results.tables import WINDOW
from stithy.run.activity import StepKind
from stithy.run.cleaning import Left
from stithy.run.context import Context
from stithy.run.deciding import Deciders, StepSchedule, TransactionRates
from stithy.run.drives import pace_drives
from stithy.run.events import Note, RunStarted, StepFinished
from stithy.run.forecast import Forecast, keep_learned, read_factors
from stithy.run.manifest import ManifestFile
from stithy.run.remaining import Reusable, is_worth_keeping
from stithy.run.session import make_interrupted
from stithy.storage.consent import DATA
from stithy.study.candidates import is_emulated
from stithy.study.database import label, of_candidate, write_sentences
from stithy.study.model import Study
from stithy.workloads.words import EMULATED, NULL


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended: `error` is None only when every step was done.

    `left` is what could not be removed; `kept` are the URLs of instances that go on, by candidate.
    `stays` are directories that a resumed run uses again.
    """

    directory: RunDirectory
    end: End
    error: StithyError | None
    left: tuple[Left, ...]
    kept: Mapping[str, str]
    stays: tuple[Path, ...] = ()


def execute(
    context: Context, deciders: Deciders | None = None, *, keep: bool = False
) -> RunOutcome:
    """Do all steps of the plan; errors of the run are in the outcome, bugs are raised.

    `deciders` None: every block of the plan is measured, and nothing else.
    """
    forecast = Forecast(read_factors())
    schedule = StepSchedule(context, deciders or Deciders(), forecast, keep=keep)
    manifest = ManifestFile(context)
    error: StithyError | None = None
    try:
        manifest.write()
        times = schedule.expected_s(context.steps)
        notes = describe_notes(context.file.study, context.plan)
        root, count = str(context.session.directory.root), len(context.steps)
        study, asked = context.file.study, context.plan.question
        begun = RunStarted(root, count, *times, notes, study.study, asked, (*study.candidates,))
        context.session.tell(begun)
        # The study asks for a database which may lose what it acknowledged.
        for text in write_sentences(context.file.study.given_up):
            context.session.tell(Note(text))
        _do_steps(context, manifest, schedule, forecast)
        kept = keep_running(context) if keep else {}
    except Interrupted:
        error, kept = make_interrupted("`stithy resume` measures the rest"), {}
    except StithyError as raised:
        error, kept = raised, {}
    except BaseException:
        _take_down(context, Reusable())
        with suppress(StithyError):  # the bug is what must be reported
            manifest.write("failed", "a bug in Stithy")
        raise
    stays = is_worth_keeping(context) if error is not None and error.resumable else Reusable()
    left = () if kept else _take_down(context, stays)
    error = _write_end(context, manifest, error)
    paths = [context.volumes.place_of(owner) / name for owner, names in stays.trees.items()
             for name in names]  # fmt: skip
    return RunOutcome(context.session.directory, _end_of(error), error, left, kept, tuple(paths))


def _write_end(
    context: Context, manifest: ManifestFile, error: StithyError | None
) -> StithyError | None:
    end, because = _end_of(error), str(error) if error else None
    try:
        context.session.journal.write("run-ended", end=end, because=because)
        context.session.journal.close()
        manifest.write(end, because)
    except StithyError as refused:
        return error or refused
    return error


def _do_steps(
    context: Context, manifest: ManifestFile, schedule: StepSchedule, forecast: Forecast
) -> None:
    rates, session = TransactionRates(context), context.session
    if any(map(is_emulated, context.file.study.candidates.values())):
        session.host.join_io_group(
            f"stithy-{session.run_id}-io",
            lambda path: session.books.record("io-group", {"path": str(path)}),
        )
    try:
        schedule.ask()
        while (started := schedule.next()) is not None:
            context.session.tell(started)
            forecast.learn(started.step, do_step(context, started.step))
            manifest.write()
            rates.learn(started.step)
            schedule.end(started.step)
    finally:
        keep_learned(forecast.learned, rates.known)
    schedule.conclude()
    context.session.stop.check()
    _require_rows(context)


def _require_rows(context: Context) -> None:
    """Compare the plan with the results. Raises InfrastructureError where a row is missing."""
    progress, directory = context.state.progress, context.session.directory
    steps = list_steps(context.file.study, context.plan, progress.additional)
    wanted = [x.id for x in steps if x.kind == "window" and x.id not in progress.skipped]
    tables = {name: directory.window(name).table(WINDOW.name) for name in wanted}
    if lost := [name for name in wanted if not read_rows(tables[name], WINDOW)]:
        raise InfrastructureError(
            f"{len(lost)} of {len(wanted)} planned windows without a row, such as {lost[0]}",
            where=str(directory.windows),
            remedy="find out what removed or damaged their files, then resume the run",
        )


def do_step(context: Context, step: Step) -> float:
    """Journal, do, journal; returns the seconds it took.

    Raises what the step raises, after it was written down.
    """
    session = context.session
    began_s = session.clock.monotonic_s()
    facts = {"id": step.id, "kind": step.kind, "candidate": step.candidate}
    of = {"dataset": step.dataset} if step.dataset else {}
    session.journal.write("step-started", **facts, **of)
    try:
        kind = plugins(StepKind)[step.kind]
        with (
            convert_machine_failures(f"step {step.id}"),
            pace_drives(context, step, paced=kind.is_paced),
        ):
            result = kind.do(context, step)
    except StithyError as error:
        with suppress(StithyError):  # the first error explains the second
            session.journal.write("step-failed", id=step.id, error=str(error))
        raise
    duration_s = session.clock.monotonic_s() - began_s
    session.journal.write("step-finished", id=step.id, duration_s=duration_s, result=result)
    session.tell(StepFinished(step, duration_s, result))
    return duration_s


def _take_down(context: Context, stays: Reusable) -> tuple[Left, ...]:
    """Undo all that is still there, also what no step undid; shielded from further signals."""
    with context.session.stop.shield():
        left = context.session.books.end(stays.keeps)
        context.volumes.release()
    return tuple(left)


def _end_of(error: StithyError | None) -> End:
    if error is None:
        return "finished"
    return "interrupted" if isinstance(error, Interrupted) else "failed"


def keep_running(context: Context) -> dict[str, str]:
    """Start a server on each candidate's database; returns URLs without passwords.

    The password is in a file beside the sockets that only the owner may read, and the URL names
    that file.
    """
    urls: dict[str, str] = {}
    if context.given_servers is None or context.file.study.by_url:
        why = "they are not Stithy's" if context.given_servers else "this scenario has no database"
        context.session.tell(Note(f"nothing is kept: {why}"))
        return urls
    for candidate, volume in context.volumes.made.items():
        if not (volume.path / DATA).exists():
            continue
        log = context.session.directory.root / "kept" / f"{candidate}.server.log"
        instance = context.servers.start_to_keep(candidate, log)
        urls[candidate] = instance.kept_url()
        context.volumes.providers[candidate].keep()
    context.volumes.keeper.keep()
    context.session.books.register.keep()
    context.session.books.register.close(remove=False)
    return urls


def describe_notes(study: Study, plan: Plan) -> Mapping[str, str]:
    """By candidate, without those of which nothing must be said."""
    whole = [*filter(None, [study.label]), *([NULL] if plan.null else [])]
    found = {}
    for name, candidate in study.candidates.items():
        not_durable = label(of_candidate(study.given_up, name))
        own = [not_durable, EMULATED if is_emulated(candidate) else None]
        found[name] = "; ".join([*whole, *filter(None, own)])
    return {name: note for name, note in found.items() if note}
