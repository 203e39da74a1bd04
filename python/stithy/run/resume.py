"""A run that was cut off goes on: what is left of it is cleaned, what was measured is kept.

Nothing is guessed: the journal tells what was done, the machine whether the run still lives. Where
its master copy is still there and proven to be as it was, it is used on; otherwise volumes are made
anew and the database is loaded again from the same seed. Then the windows that are missing are
measured as planned. It stays the same run, with the same id; this is its next session.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.errors import (
    InfrastructureError,
    PreconditionError,
    Problems,
    StithyError,
    convert_machine_failures,
)
from stithy.hosts.processes import get_identity, is_alive
from stithy.plan.expand import make_null_file
from stithy.restores.method import get_restore
from stithy.results.files import read_manifest
from stithy.results.layout import RunDirectory
from stithy.results.manifest import Manifest
from stithy.run.books import Journal, Register, Resource, read_password, read_registered
from stithy.run.cleaning import Books, clean_up, end_at_agents
from stithy.run.context import Before, Context
from stithy.run.deciding import Deciders, SoFar, ask
from stithy.run.equip import Equipped, Tools, describe_changes, describe_leftovers, equip
from stithy.run.events import Note, Observer
from stithy.run.history import MASTER_KEPT, History, read_history
from stithy.run.preflight import check_candidates
from stithy.run.remaining import (
    Remaining,
    Reusable,
    find_remaining,
    find_reusable,
    list_over,
    list_proven,
)
from stithy.run.session import Stop
from stithy.storage.consent import read_mark
from stithy.storage.copy import Contents
from stithy.study.load import StudyFile, read_study


@dataclass(frozen=True)
class ResumableRun:
    """A run that may go on; `changed` is what is not as it was, and was allowed.

    `reusable` are what is left alone of what its last session left.
    """

    history: History
    manifest: Manifest | None
    equipped: Equipped
    changed: tuple[str, ...]
    reusable: Reusable


@contextmanager
def resume_run(
    root: Path,
    stop: Stop,
    tell: Observer,
    *,
    force: bool = False,
    tools: Tools | None = None,
    deciders: Deciders | None = None,
) -> Iterator[Context]:
    """The run in `root`, ready to go on; nobody else can resume it inside.

    `force` goes on where machine or study have changed; `deciders` as `execute` has them.
    Raises UserError for what is no run, PreconditionError for one that lives, that ended, or that
    must not go on here, and has changed nothing then. InfrastructureError where what it left cannot
    be removed.
    """
    directory = RunDirectory(root)
    read_history(directory)
    with hold_run(root):
        found = _find_past(directory, tools or Tools(), force=force)
        books = _enter(found)
        try:
            known = read_registered(books.register.path)
            for unreached in end_at_agents(books.run_id, known.resources if known else ()):
                tell(Note(f"agents of the earlier session were {unreached.reason}"))
            _clean(found, books.register, found.reusable)
            context = _make_context(found, books, stop, tell, deciders)
        except StithyError as error:
            # The session ends before its first step; what it has made itself goes again.
            books.end(found.reusable.keeps)
            with suppress(StithyError):  # the first error explains the second
                books.journal.write("run-ended", end="failed", because=str(error))
            books.journal.close()
            raise
        yield context


@contextmanager
def hold_run(root: Path) -> Iterator[None]:
    """Hold a lock on the run directory: two sessions of a run would clean each other away."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise PreconditionError(
            "it is being resumed by another process", where=str(root), remedy="wait for its end"
        ) from error
    finally:
        os.close(fd)


def _find_past(directory: RunDirectory, tools: Tools, *, force: bool) -> ResumableRun:
    history, manifest = read_history(directory), read_manifest(directory.manifest)
    _refuse_ended(directory, history, manifest)
    refuse_living(directory, history)
    file = _read_study_copy(directory, history)
    logs = directory.drives / f"session-{len(history.sessions) + 1}"
    knows_password = read_password(history.run_id) is not None
    equipped = equip(file, directory, history.run_id, logs, tools)
    # Storage that does not answer need not have changed: raise what it says of itself.
    problems = Problems()
    for name, provider in equipped.providers.items():
        key = f"storage of {name}"
        if key in history.machine and key not in equipped.machine:
            problems.attempt(provider.check)
    problems.refuse(str(directory.root))
    changed = tuple(describe_changes(history.machine, equipped.machine))
    with suppress(OSError):  # a study that is gone or closed says nothing
        if history.study.read_bytes() != file.content:
            changed = (f"the study {history.study}", *changed)
    if changed and not force:
        raise PreconditionError(
            f"windows from before and after would not be comparable, because this has changed: "
            f"{'; '.join(changed)}",
            where=str(directory.root),
            remedy="run the study again as a new run, or resume it anyway with --force",
        )
    unusable = CHANGED if changed else None if knows_password else FORGOTTEN
    reusable = find_reusable(
        history, equipped.plan, equipped.providers, equipped.keeper, unusable=unusable
    )
    return ResumableRun(history, manifest, equipped, changed, reusable)


CHANGED = "the change may affect it"
FORGOTTEN = "it was cleaned up, or the password of its server is no longer known"
"""Why nothing that an earlier session left is used."""


def _refuse_ended(directory: RunDirectory, history: History, manifest: Manifest | None) -> None:
    ends = (history.sessions[-1].facts.end, manifest.end if manifest else None)
    if ends != ("finished", "finished"):
        return
    remedy = f"read its report: {directory.page}"
    if not directory.page.exists():
        remedy = f"write its report: stithy report {directory.root}"
    raise PreconditionError(
        "the run has ended well: nothing is left to measure",
        where=str(directory.root),
        remedy=remedy,
    )


def refuse_living(directory: RunDirectory, history: History) -> None:
    """Raise PreconditionError where a process is at the run."""
    owner = history.sessions[-1].owner
    if is_alive(owner) and owner != get_identity():
        raise PreconditionError(
            f"the run is still active: process {owner.pid}",
            where=str(directory.root),
            remedy="wait for its end, or stop it with Ctrl-C",
        )


def _read_study_copy(directory: RunDirectory, history: History) -> StudyFile:
    kept = read_study(directory.study)
    if kept.sha256 != history.study_sha256:
        raise PreconditionError(
            "the run's own copy of the study has changed, so it does not fit the measured windows",
            where=str(directory.study),
            remedy="restore that file, or run the changed study as a new run",
        )
    named = replace(kept, path=history.study)
    return make_null_file(named) if history.null else named


def _enter(found: ResumableRun) -> Books:
    equipped, history = found.equipped, found.history
    directory = equipped.directory
    register = Register(history.run_id, directory.root.resolve(), equipped.clock)
    register.keep_password(equipped.password)
    journal = Journal(directory.journal, equipped.clock)
    journal.write(
        "run-resumed",
        run_id=history.run_id,
        owner=get_identity().list_facts(),
        machine=dict(equipped.machine),
        changed=found.changed,
    )
    return Books(history.run_id, register, journal)


OWN_NAMES = frozenset(
    {"tree", "mark", "scratch", "cgroup", "io-group", "mount", "drive", "bridge", "image"}
)
"""Kinds whose names or marks are this run's alone. A directory is, while it bears the run's mark;
others may belong to a later run by now."""


def _is_own(resource: Resource, run_id: str) -> bool:
    """Whether a thing that only the journal tells of is this run's still."""
    if resource.kind != "directory":
        return resource.kind in OWN_NAMES
    mark = read_mark(Path(resource.facts["path"]))
    return mark is not None and mark.run_id == run_id and mark.made_directory


def _clean(found: ResumableRun, register: Register, reusable: Reusable) -> None:
    """Remove all that earlier sessions left, as `stithy clean` does, but for what is reusable.

    Where the register knows nothing of it (it was lost, or is kept elsewhere), the journal tells
    what there may be.
    """
    history, known = found.history, read_registered(register.path)
    resources = known.resources if known else ()
    if not resources:
        resources = tuple(
            Resource(
                register.register_creation(resource.kind, resource.facts),
                resource.kind,
                resource.facts,
            )
            for resource in history.resources
            if _is_own(resource, history.run_id)
        )
    going = [resource for resource in resources if not reusable.keeps(resource)]
    left = clean_up(history.run_id, going, register.removed)
    if left:
        raise InfrastructureError(
            f"what the run left could not be removed: {left[0].resource.kind}: {left[0].reason}",
            where=str(found.equipped.directory.root),
            remedy="fix that, then resume again",
        )


def _make_context(
    found: ResumableRun, books: Books, stop: Stop, tell: Observer, deciders: Deciders | None
) -> Context:
    equipped, history = found.equipped, found.history
    so_far = _make_so_far(found, books.journal, deciders or Deciders())
    masters, reusable = _verify_masters(found, books, so_far, tell)
    remaining = find_remaining(so_far.steps, equipped.directory, history, found.manifest,
                   masters=frozenset(masters), databases=reusable.databases)  # fmt: skip
    remaining.state.progress.additional = so_far.additional
    sessions = tuple(session.facts for session in history.sessions)
    remaining.state.progress.before = Before(sessions, found.manifest, found.changed, bool(masters))
    if remaining.windows:
        for sentence in describe_leftovers(equipped.providers, clean=True, run_id=history.run_id):
            tell(Note(sentence))
        file = equipped.file
        check_candidates(
            file.study, equipped.plan, equipped.providers, equipped.keeper, equipped.host
        )
    # What was written of windows that are measured again is kept, out of the way.
    directory = equipped.directory
    with convert_machine_failures(str(directory.root)):
        for window_id in remaining.cut_off:
            target = directory.cut_off(len(sessions), window_id)
            target.parent.mkdir(parents=True, exist_ok=True)
            directory.window(window_id).root.rename(target)
    context = equipped.context(books, stop, tell, remaining.state)
    context.volumes.masters.update(masters)
    # Which dataset the databases were made of that are still there.
    restored, plan = history.restored, equipped.plan
    points = {step.window.id: step.window.point for step in so_far.steps if step.window}
    context.volumes.held.update(
        {
            name: plan.dataset_at(points[restored[name]]).name
            for name in reusable.databases
            if restored.get(name) in points
        }
    )
    # The register knows them already.
    context.volumes.recorded.update(
        (name, t) for name, tree in reusable.trees.items() for t in tree
    )
    _tell(context, remaining)
    return context


def _verify_masters(
    found: ResumableRun, books: Books, so_far: SoFar, tell: Observer
) -> tuple[dict[str, Contents], Reusable]:
    reusable, history = found.reusable, found.history
    kept: dict[str, Contents] = {}
    if not so_far.has_windows_left:
        return kept, reusable
    for dataset, master in reusable.masters.items():
        contents = list_proven(master, history.masters[dataset])
        if isinstance(contents, str):
            reusable = reusable.without_master(dataset, contents)
        else:
            facts = {"path": str(master), "sha256": contents.sha256}
            books.journal.write(MASTER_KEPT, dataset=dataset, **facts)
            kept[dataset] = contents
    _tell_of_masters(found, kept, reusable, books, tell)
    return kept, reusable


def _tell_of_masters(
    found: ResumableRun,
    kept: Mapping[str, Contents],
    reusable: Reusable,
    books: Books,
    tell: Observer,
) -> None:
    several = len(found.equipped.plan.datasets) > 1
    if kept:
        of = f" of {' and '.join(kept)}" if several else ""
        method = get_restore(found.equipped.file.study.database.restore)
        tell(Note(method.resume_note.format(of=of)))
    if reusable.lost:
        _clean(found, books.register, reusable)
    for dataset, lost in reusable.lost.items():
        books.journal.write("master-lost", dataset=dataset, because=lost)
        of = f" with {dataset}" if several else ""
        tell(Note(f"the database{of} is loaded again: {lost}"))


def _make_so_far(found: ResumableRun, journal: Journal, deciders: Deciders) -> SoFar:
    """The run until now, with the windows that its last one needs where nobody had asked yet.

    They are asked for before it is known what is left: a run may have nothing left but them.
    """
    equipped, history = found.equipped, found.history
    directory, file, plan = equipped.directory, equipped.file, equipped.plan
    so_far = SoFar(directory, file, plan, history.additional, frozenset())
    so_far = replace(so_far, done=list_over(so_far.steps, directory, history))
    return replace(so_far, additional=ask(so_far, deciders.schedulers, journal))


def _tell(context: Context, remaining: Remaining) -> None:
    """What was found, and which final checks cannot be done any more, for person and journal."""
    for step, because in remaining.impossible.items():
        context.session.journal.write("step-skipped", id=step, kind="check", because=because)
        context.session.tell(Note(f"{step} is left out: {because}"))
    again = f", measured again: {', '.join(remaining.cut_off)}" if remaining.cut_off else ""
    left = f"windows kept: {remaining.kept}, still to be measured: {remaining.windows}"
    context.session.tell(Note(f"resumed: {left}{again}"))
