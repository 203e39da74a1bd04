"""Whether a backup holds the whole database: backed up and restored while nobody works on it.

Each method of the study is tried, in each kind and compression. All rows of all tables are summed
up in both databases, the conditions are checked in the restored one, and where the study keeps a
commit ledger, that of the candidate's last window is compared with it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from stithy.engines.backup import method_of
from stithy.engines.engine import Instance
from stithy.errors import InfrastructureError, Interrupted, InvalidMeasurement, StithyError
from stithy.plan.additional import steps_of
from stithy.plan.steps import Step
from stithy.results.layout import WindowDirectory
from stithy.results.read import read_rows
from stithy.results.tables import SPANS, WINDOW
from stithy.run.activities.backup.cycles import Backups
from stithy.run.activities.backup.outcomes import LOST, UNEQUAL, is_of_the_machine
from stithy.run.context import Context, choice_of
from stithy.run.copies.loading import need_database
from stithy.scenarios.backup.plan import proven
from stithy.units import format_measured_duration
from stithy.wire.hammer import Watch

NAME = "prove-backup"
WHAT, BRIEF = "back up, restore and compare all rows", "prove the backup"
PHASE, PACED = "loading", False


def do(context: Context, step: Step) -> str:
    """Compare a candidate's database with what its backup is restored to.

    Raises InvalidMeasurement where they differ, or where a restore of a window did not hold.
    """
    candidate = step.whose
    need_database(context, candidate, step)
    for directory in _windows(context, candidate):
        for row in read_rows(directory.table("spans"), SPANS):
            if row["outcome"] == UNEQUAL:
                because = row["invalid_because"] or "conditions do not hold"
                raise _unequal(candidate, f"{because} (window {row['window_id']})")
    log = context.session.directory.check_output(candidate, "backup").with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    engine, said = context.file.study.database.engine, []
    several = proven(context.file.study)
    for name, options in several:
        backups = Backups(context, candidate, method_of(engine, name), options)
        label = f"{name} ({options.kind}, compression {options.compression})"
        with _of(label):
            said.append((f"{label}: " if len(several) > 1 else "") + _proven(backups, log))
    return "; ".join(said)


@contextmanager
def _of(label: str) -> Iterator[None]:
    """Inside, errors say by which method the backup was made."""
    try:
        yield
    except (InfrastructureError, InvalidMeasurement) as error:
        where = f"{error.where}, {label}"
        raise type(error)(error.problem, where=where, remedy=error.remedy) from error


def _proven(backups: Backups, log: Path) -> str:
    """Back up, restore and compare by one method."""
    context, candidate = backups.context, backups.candidate
    backups.prepare(log)
    with context.servers.running(candidate, log.with_suffix(".server.log")) as instance:
        before = instance.checksums()
        taken = backups.take(instance, log)
        if taken.failed_because:
            raise backups.failure(f"the backup failed: {taken.failed_because}")
        with backups.restored(log) as (cycle, restored):
            if restored is None:
                raise _unrestored(backups, str(cycle.failed_because))
            _compare(candidate, before, _rows(candidate, restored))
            _check(context, candidate, restored)
            compared = _ledger(context, candidate, restored)
    backups.remove()
    return (
        f"{len(before)} tables are equal after backup and restore{compared}, restored in "
        f"{format_measured_duration(cycle.duration_s)}"
    )


def _rows(candidate: str, restored: Instance) -> dict[str, str]:
    """What it holds; rows that cannot be read are not equal."""
    try:
        return dict(restored.checksums())
    except Interrupted:
        raise
    except StithyError as error:
        because = f"what was restored cannot be read: {error.text}"
        raise _unequal(candidate, because) from error


def _compare(candidate: str, before: Mapping[str, str], after: dict[str, str]) -> None:
    differing = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if differing:
        name = differing[0]
        raise _unequal(
            candidate,
            f"{name} has {before.get(name, 'no rows')} in the database and "
            f"{after.get(name, 'no rows')} in what was restored",
        )


def _check(context: Context, candidate: str, restored: Instance) -> None:
    output = context.session.directory.check_output(candidate, "restored")
    choice = choice_of(context.study_of(context.volumes.held[candidate]))
    checked = context.hammer(restored.url).check(
        choice, quick=False, after_load=False, watch=Watch(raw_output=output)
    )
    if checked.broken:
        broken = ", ".join(map(str, checked.broken))
        raise _unequal(candidate, f"conditions {broken} do not hold in what was restored")


def _ledger(context: Context, candidate: str, restored: Instance) -> str:
    """Compare the ledger of its last window, whose database this is."""
    began: dict[float, WindowDirectory] = {}
    for directory in _windows(context, candidate):
        for row in read_rows(directory.table("window"), WINDOW):
            began[row["started_at_s"] or 0.0] = directory
    last = began[max(began)] if began else None
    if last is None or not last.ledger.exists():
        return ""
    output = context.session.directory.check_output(candidate, "restored-ledger")
    choice = choice_of(context.study_of(context.volumes.held[candidate]))
    found = context.hammer(restored.url).verify_ledger(
        choice, last.ledger, watch=Watch(raw_output=output)
    )
    if not found.summary.holds:
        raise _unequal(candidate, LOST)
    return ", nothing acknowledged is missing"


def _windows(context: Context, candidate: str) -> Iterator[WindowDirectory]:
    """Of all its windows so far, those of earlier sessions and second attempts among them."""
    additional = context.state.progress.additional
    for step in steps_of(context.file.study, context.plan, additional):
        if step.kind == "window" and step.candidate == candidate:
            yield context.session.directory.window(step.id)


def _unequal(candidate: str, because: str) -> InvalidMeasurement:
    return InvalidMeasurement(
        f"a backup does not restore to an equal database: {because}",
        where=f"candidate {candidate}",
        remedy="do not trust this method on this storage; read the logs beside the checks",
    )


def _unrestored(backups: Backups, because: str) -> StithyError:
    """A volume that ran full, or a program that was killed, says nothing of the backup."""
    if is_of_the_machine(because):
        return backups.failure(f"a backup could not be restored: {because}")
    return _unequal(backups.candidate, f"it cannot be restored: {because}")
