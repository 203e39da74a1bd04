"""Make the repository of backups before windows, and prove that a backup holds the whole database.

The repository is made before each window, whether it has backups or not: what a method needs of the
server all the time is thus no cost of its backups, and the windows of a block begin alike.

For the proof each method of the study is tried, in each kind and compression, while nobody works.
All rows of all tables are summed up in both databases, the conditions are checked in the restored
one, and where the study keeps a commit ledger, that of the candidate's last window is compared.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from stithy.activities.backup.by_agent import AgentClient, name_owner
from stithy.activities.backup.by_server import ServerBackups
from stithy.activities.backup.cycles import LOST, UNEQUAL, Backups, is_of_the_machine
from stithy.agents.command_job import identify_tool
from stithy.engines.backup import BackupMethod, BackupOptions, ServerMethod
from stithy.engines.engine import get_engine
from stithy.engines.instance import Endpoint
from stithy.errors import (
    InfrastructureError,
    Interrupted,
    InvalidMeasurement,
    PreconditionError,
    StithyError,
)
from stithy.plan.additional import list_steps
from stithy.plan.steps import Step, WindowPlan
from stithy.results.files import read_rows
from stithy.results.layout import WindowDirectory
from stithy.results.tables import SPANS, WINDOW
from stithy.run.agents import require_shared
from stithy.run.context import Context, make_choice
from stithy.run.datasets import need_database, restore, settle
from stithy.run.volumes import get_parts
from stithy.scenarios.backup.plan import PLUGINS, find_spec, list_proven
from stithy.units import format_measured_duration
from stithy.wire.hammer import ProgressWatch


def list_backups(context: Context, window: WindowPlan) -> Backups:
    """Give the backups of a window its method and options."""
    study = context.file.study.at(window.point)
    spec = find_spec(study)
    method = get_engine(study.database.engine).get_backup(spec.method)
    return make_backups(context, window.candidate, method, spec.options)


def make_backups(
    context: Context, candidate: str, method: BackupMethod, options: BackupOptions
) -> Backups:
    """Give what backs a candidate up: its server, where the method says so."""
    kind = ServerBackups if isinstance(method, ServerMethod) else Backups
    client = AgentClient(context, options.agent) if options.agent else None
    return kind(context, candidate, method, options, client=client)


def try_agents(context: Context, step: Step) -> str:
    """See that agents read what this host writes where backups go, and have the same programs.

    Raises PreconditionError.
    """
    study, place = context.file.study, context.volumes.of(step.whose).get_part("backup").path
    assert context.agents is not None  # the study names them
    asked = dict.fromkeys(
        (options.agent, engine, method)
        for engine in study.engines
        for method, options in PLUGINS[0].list_backups(study.select_engine(engine))
        if options.agent
    )
    require_shared(context.agents.select([*dict.fromkeys(name for name, *_ in asked)]), [place])
    for name, engine, method in asked:
        programs = context.servers.engines[engine].installation.programs
        ask = partial(identify_tool, engine, method, programs, name_owner(context))
        (there,), here = context.agents.select([name]).consult(ask).values(), ask()
        if there != here:
            raise PreconditionError(
                f"it has {there}, and this host {here}",
                where=f"agent {name}",
                remedy="install the same version at the same path, and run the agent as that user "
                "or as root",
            )
    return f"they read {place}, and have the same programs"


def prepare_backup(context: Context, step: Step) -> str:
    """The database is as it was, and none of its pages in memory."""
    assert step.window is not None  # the plan gives it one
    log = context.session.directory.window(step.window.id).root / "backup.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    said = list_backups(context, step.window).prepare(log)
    settle(context, step.whose, [get_parts(context.volumes.of(step.whose))])
    return said


def prove_backup(context: Context, step: Step) -> str:
    """Compare a candidate's database with what its backup is restored to.

    Raises InvalidMeasurement where they differ, or where a restore of a window did not hold.
    """
    candidate = step.whose
    need_database(context, candidate, step)
    for directory in _list_windows(context, candidate):
        for row in read_rows(directory.table("spans"), SPANS):
            if row["outcome"] == UNEQUAL:
                because = row["invalid_because"] or "conditions do not hold"
                raise _build_inequality(candidate, f"{because} (window {row['window_id']})")
    return _prove_methods(context, candidate, "backup", is_left=True)


def prove_other_engines(context: Context, step: Step) -> str:
    """Do the same with a loaded database of each engine that the last window had not.

    After all other checks of the candidate: what its last window left is gone then.
    """
    candidate, last = step.whose, context.servers.find_study(step.whose).database.engine
    said = []
    for engine in context.file.study.engines:
        if engine != last:
            of_engine = (dataset for dataset in context.plan.datasets
                         if context.study_of(dataset.name).database.engine == engine)  # fmt: skip
            restore(context, candidate, [next(of_engine)], window_id=None)
            proven = _prove_methods(context, candidate, f"backup-{engine}", is_left=False)
            said.append(f"{engine}: {proven}")
    return "; ".join(said)


def _prove_methods(context: Context, candidate: str, stem: str, *, is_left: bool) -> str:
    """Prove each method of the engine whose database there is; `is_left`: by a window."""
    log = context.session.directory.check_output(candidate, stem).with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    study, said = context.servers.find_study(candidate), []
    engine, several = study.database.engine, list_proven(study)
    for name, options in several:
        method = get_engine(engine).get_backup(name)
        backups = make_backups(context, candidate, method, options)
        label = f"{name} ({options.kind}, compression {options.compression})"
        try:
            said.append((f"{label}: " if len(several) > 1 else "") + _prove(backups, log, is_left))
        except (InfrastructureError, InvalidMeasurement) as error:
            where = f"{error.where}, {label}"
            raise type(error)(error.problem, where=where, remedy=error.remedy) from error
    return "; ".join(said)


def _prove(backups: Backups, log: Path, is_left: bool) -> str:
    context, candidate = backups.context, backups.candidate
    backups.prepare(log)
    with context.servers.running(candidate, log.with_suffix(".server.log")) as instance:
        before = instance.checksums()
        if backups.client:
            backups.client.await_agent()
        taken = backups.take(instance, log)
        if taken.failed_because:
            raise backups.make_failure(f"the backup failed: {taken.failed_because}")
        with backups.restored(log) as (cycle, restored):
            because = str(cycle.failed_because)
            if restored is None and is_of_the_machine(because):
                # A volume that ran full, or a program that was killed, says nothing of the backup.
                raise backups.make_failure(f"a backup could not be restored: {because}")
            if restored is None:
                raise _build_inequality(candidate, f"it cannot be restored: {because}")
            _compare(candidate, before, _sum_up(candidate, restored))
            compared = _check(context, candidate, restored, is_left=is_left)
    backups.remove()
    return (
        f"{len(before)} tables are equal after backup and restore{compared}, restored in "
        f"{format_measured_duration(cycle.duration_s)}"
    )


def _sum_up(candidate: str, restored: Endpoint) -> dict[str, str]:
    """What it holds; rows that cannot be read are not equal."""
    try:
        return dict(restored.checksums())
    except Interrupted:
        raise
    except StithyError as error:
        because = f"what was restored cannot be read: {error.text}"
        raise _build_inequality(candidate, because) from error


def _compare(candidate: str, before: Mapping[str, str], after: dict[str, str]) -> None:
    differing = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if differing:
        name = differing[0]
        raise _build_inequality(
            candidate,
            f"{name} has {before.get(name, 'no rows')} in the database and "
            f"{after.get(name, 'no rows')} in what was restored",
        )


def _check(context: Context, candidate: str, restored: Endpoint, *, is_left: bool) -> str:
    """Check conditions, and the ledger of the window that left it; say if that was compared."""
    choice = make_choice(context.study_of(context.volumes.held[candidate]))
    hammer, output = context.hammer(restored.url), context.session.directory.check_output
    checked = context.verify_conditions(hammer, choice, output(candidate, "restored"), quick=False)
    if checked and checked.broken:
        broken = ", ".join(map(str, checked.broken))
        raise _build_inequality(candidate, f"conditions {broken} do not hold in what was restored")
    began: dict[float, WindowDirectory] = {}
    for directory in _list_windows(context, candidate) if is_left else ():
        for row in read_rows(directory.table("window"), WINDOW):
            began[row["started_at_s"] or 0.0] = directory
    last = began[max(began)] if began else None
    if last is None or not last.ledger.exists():
        return ""
    watch = ProgressWatch(raw_output=output(candidate, "restored-ledger"))
    if not hammer.verify_ledger(choice, last.ledger, watch=watch).summary.holds:
        raise _build_inequality(candidate, LOST)
    return ", nothing acknowledged is missing"


def _list_windows(context: Context, candidate: str) -> Iterator[WindowDirectory]:
    """Of all its windows so far, those of earlier sessions and second attempts among them."""
    additional = context.state.progress.additional
    for step in list_steps(context.file.study, context.plan, additional):
        if step.kind == "window" and step.candidate == candidate:
            yield context.session.directory.window(step.id)


def _build_inequality(candidate: str, because: str) -> InvalidMeasurement:
    return InvalidMeasurement(
        f"a backup does not restore to an equal database: {because}",
        where=f"candidate {candidate}",
        remedy="do not trust this method on this storage; read the logs beside the checks",
    )
