"""A run that was cut off goes on: what is left of it is cleaned, what was measured is kept.

Nothing is guessed: the journal tells what was done, the machine whether the run still lives. Where
its master copy is still there and proven to be as it was, it is used on; otherwise volumes are made
anew and the database is loaded again from the same seed. Then the windows that are missing are
measured as planned. It stays the same run, with the same id; this is its next session.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.errors import (
    InfrastructureError,
    PreconditionError,
    StithyError,
    failures_of_the_machine,
)
from stithy.hosts.processes import is_alive, own_identity
from stithy.plan.null import as_null
from stithy.results.layout import RunDirectory
from stithy.results.manifest import Manifest
from stithy.results.read import read_manifest
from stithy.run.before.equip import Books, Equipped, Tools, clean_leftovers, equip
from stithy.run.before.fingerprint import changes
from stithy.run.before.preflight import check_candidates
from stithy.run.context import Before, Context
from stithy.run.deciding.further import Adviser, SoFar, ask
from stithy.run.events import Note, Observer
from stithy.run.journal import Journal
from stithy.run.resuming.past import MASTER_KEPT, Past, read_past
from stithy.run.resuming.rest import Rest, over, rest_of
from stithy.run.resuming.survivors import Survivors, proven, spared, survivors_of
from stithy.run.stop import Stop
from stithy.run.undoing.register import Making, Register, kept_password, read_registered
from stithy.run.undoing.undo import undo
from stithy.storage.copy import Contents
from stithy.storage.marks import read_mark
from stithy.study.load import StudyFile, read_study


@dataclass(frozen=True)
class Found:
    """A run that may go on; `changed` is what is not as it was, and was allowed.

    `survivors` are what is left alone of what its last session left.
    """

    past: Past
    manifest: Manifest | None
    equipped: Equipped
    changed: tuple[str, ...]
    survivors: Survivors


@contextmanager
def resumed_run(
    root: Path,
    stop: Stop,
    tell: Observer,
    *,
    force: bool = False,
    tools: Tools | None = None,
    advisers: Sequence[Adviser] = (),
) -> Iterator[Context]:
    """The run in `root`, ready to go on; nobody else can resume it inside.

    `force` goes on where machine or study have changed; `advisers` as `execute` has them.
    Raises UserError for what is no run, PreconditionError for one that lives, that ended, or that
    must not go on here, and has changed nothing then. InfrastructureError where what it left cannot
    be removed.
    """
    directory = RunDirectory(root)
    read_past(directory)
    with _held(root):
        found = _found(directory, tools or Tools(), force=force)
        books = _enter(found)
        try:
            _clean(found, books.register, found.survivors)
            context = _context(found, books, stop, tell, advisers)
        except StithyError as error:
            _end(found, books, error)
            raise
        yield context


@contextmanager
def _held(root: Path) -> Iterator[None]:
    """Hold a lock on the run directory: two sessions of a run would clean each other away."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise PreconditionError(
            "it is being resumed by another process",
            where=str(root),
            remedy="wait for its end",
        ) from error
    finally:
        os.close(fd)


def _found(directory: RunDirectory, tools: Tools, *, force: bool) -> Found:
    """Everything that speaks against going on is found here; nothing is changed."""
    past, manifest = read_past(directory), read_manifest(directory.manifest)
    _refuse_ended(directory, past, manifest)
    _refuse_living(directory, past)
    file = _study(directory, past)
    logs = directory.drives / f"session-{len(past.sessions) + 1}"
    knows_password = kept_password(past.run_id) is not None
    equipped = equip(file, directory, past.run_id, logs, tools)
    changed = (*_study_changed(past, file), *changes(past.machine, equipped.machine))
    if changed and not force:
        raise PreconditionError(
            f"windows before and after could not be compared, because this has changed: "
            f"{'; '.join(changed)}",
            where=str(directory.root),
            remedy="run the study again as a new run, or go on all the same with --force",
        )
    unusable = CHANGED if changed else None if knows_password else FORGOTTEN
    survivors = survivors_of(
        past, equipped.plan, equipped.providers, equipped.keeper, unusable=unusable
    )
    return Found(past, manifest, equipped, changed, survivors)


CHANGED = "what has changed may concern it"
FORGOTTEN = "it was cleaned up, or the password of its server is not known any more"
"""Why nothing that an earlier session left is used."""


def _refuse_ended(directory: RunDirectory, past: Past, manifest: Manifest | None) -> None:
    """A run that ended well has nothing left to do; its manifest is the last that it writes."""
    if past.sessions[-1].end != "finished" or manifest is None or manifest.end != "finished":
        return
    remedy = f"read its report: {directory.page}"
    if not directory.page.exists():
        remedy = f"write its report: stithy report {directory.root}"
    raise PreconditionError(
        "the run has ended well: nothing is left to be measured",
        where=str(directory.root),
        remedy=remedy,
    )


def _refuse_living(directory: RunDirectory, past: Past) -> None:
    owner = past.sessions[-1].owner
    if is_alive(owner) and owner != own_identity():
        raise PreconditionError(
            f"the run goes on: process {owner.pid} is at it",
            where=str(directory.root),
            remedy="wait for its end, or stop it with Ctrl-C",
        )


def _study(directory: RunDirectory, past: Past) -> StudyFile:
    """The study as it was when the run began: the copy among its results."""
    kept = read_study(directory.study)
    if kept.sha256 != past.study_sha256:
        raise PreconditionError(
            "the run's own copy of the study was changed: what it measured belongs to another",
            where=str(directory.study),
            remedy="put that file back as it was, or run the changed study as a new run",
        )
    named = replace(kept, path=past.study)
    return as_null(named) if past.null else named


def _study_changed(past: Past, file: StudyFile) -> list[str]:
    """Whether the person changed the study since; one that is gone or closed says nothing."""
    try:
        now = past.study.read_bytes()
    except OSError:
        return []
    return [] if now == file.content else [f"the study {past.study}"]


def _enter(found: Found) -> Books:
    """Register this session, and write down that it begins."""
    equipped, past = found.equipped, found.past
    directory = equipped.directory
    register = Register(past.run_id, directory.root.resolve(), equipped.clock)
    register.keep_password(equipped.password)
    journal = Journal(directory.journal, equipped.clock)
    journal.write(
        "run-resumed",
        run_id=past.run_id,
        owner=own_identity().facts(),
        machine=dict(equipped.machine),
        changed=found.changed,
    )
    return Books(register, journal)


OWN_NAMES = frozenset({"tree", "mark", "scratch", "cgroup", "mount", "drive", "image"})
"""Kinds whose names or marks are this run's alone. A directory is, while it bears the run's mark;
others may belong to a later run by now."""


def _is_own(making: Making, run_id: str) -> bool:
    """Whether a thing that only the journal tells of is this run's still."""
    if making.kind != "directory":
        return making.kind in OWN_NAMES
    mark = read_mark(Path(making.facts["path"]))
    return mark is not None and mark.run_id == run_id and mark.made_directory


def _clean(found: Found, register: Register, survivors: Survivors) -> None:
    """Unmake all that earlier sessions left, as `stithy clean` does, but for the survivors.

    Where the register knows nothing of it (it was lost, or is kept elsewhere), the journal tells
    what there may be.
    """
    past, known = found.past, read_registered(register.path)
    makings = known.makings if known else ()
    if not makings:
        makings = tuple(
            Making(register.making(each.kind, each.facts), each.kind, each.facts)
            for each in past.makings
            if _is_own(each, past.run_id)
        )
    left = undo(past.run_id, spared(makings, survivors), register.unmade, everything=True)
    if left:
        raise InfrastructureError(
            f"what the run left could not be removed: {left[0].making.kind}: {left[0].reason}",
            where=str(found.equipped.directory.root),
            remedy="mend that, then resume again",
        )


def _context(
    found: Found, books: Books, stop: Stop, tell: Observer, advisers: Sequence[Adviser]
) -> Context:
    """The context of the session: what is left to do, and what is known from before."""
    equipped, past = found.equipped, found.past
    so_far = _so_far(found, books.journal, advisers)
    master, survivors = _master(found, books, so_far, tell)
    rest = rest_of(so_far.steps, equipped.directory, past, found.manifest,
                   has_master=master is not None, databases=survivors.databases)  # fmt: skip
    rest.state.further = so_far.further
    rest.state.master = master
    rest.state.trees = set(survivors.recorded)
    sessions = tuple(session.facts() for session in past.sessions)
    rest.state.before = Before(sessions, found.manifest, found.changed, master is not None)
    if rest.windows:
        clean_leftovers(equipped.providers)
        file = equipped.file
        check_candidates(
            file.study,
            equipped.plan,
            equipped.providers,
            equipped.keeper,
            equipped.runner,
            equipped.user,
        )
    _set_aside(equipped.directory, rest.cut_off, len(sessions))
    context = equipped.context(books, stop, tell, rest.state)
    _tell(context, rest)
    return context


def _master(
    found: Found, books: Books, so_far: SoFar, tell: Observer
) -> tuple[Contents | None, Survivors]:
    """The contents of the master copy that is used on, None where none is; and what stays then."""
    survivors, past = found.survivors, found.past
    if not so_far.has_windows_left:
        return None, survivors
    contents, lost = None, survivors.lost
    if survivors.master is not None and past.master is not None:
        contents, lost = proven(survivors.master, past.master)
    if contents is not None:
        books.journal.write(MASTER_KEPT, path=str(survivors.master), sha256=contents.sha256)
        tell(Note("the master copy is as it was made: the database is not loaded again"))
        return contents, survivors
    survivors = survivors.without_master()
    _clean(found, books.register, survivors)
    books.journal.write("master-lost", because=lost)
    tell(Note(f"the database is loaded again: {lost}"))
    return None, survivors


def _so_far(found: Found, journal: Journal, advisers: Sequence[Adviser]) -> SoFar:
    """The run until now, with the windows that its last one needs where nobody had asked yet.

    They are asked for before it is known what is left: a run may have nothing left but them.
    """
    equipped, past = found.equipped, found.past
    directory, file, plan = equipped.directory, equipped.file, equipped.plan
    so_far = SoFar(directory, file, plan, past.further, frozenset())
    so_far = replace(so_far, done=over(so_far.steps, directory, past))
    return replace(so_far, further=ask(so_far, advisers, journal))


def _set_aside(directory: RunDirectory, windows: Sequence[str], session: int) -> None:
    """What was written of windows that are measured again is kept, out of the way."""
    with failures_of_the_machine(str(directory.root)):
        for window_id in windows:
            target = directory.cut_off(session, window_id)
            target.parent.mkdir(parents=True, exist_ok=True)
            directory.window(window_id).root.rename(target)


def _tell(context: Context, rest: Rest) -> None:
    """What was found, and which final checks cannot be done any more, for person and journal."""
    for step, because in rest.impossible.items():
        context.journal.write("step-skipped", id=step, kind="check", because=because)
        context.tell(Note(f"{step} is left out: {because}"))
    again = f", measured again: {', '.join(rest.cut_off)}" if rest.cut_off else ""
    left = f"windows kept: {rest.kept}, still to be measured: {rest.windows}"
    context.tell(Note(f"resumed: {left}{again}"))


def _end(found: Found, books: Books, error: StithyError) -> None:
    """The session ends before its first step; what it has made itself goes again."""
    registered = read_registered(books.register.path)
    makings = registered.makings if registered else ()
    left = undo(found.past.run_id, makings, books.register.unmade, everything=True)
    with suppress(StithyError):  # the first error explains the second
        books.journal.write("run-ended", end="failed", because=str(error))
    books.journal.close()
    books.register.close(remove=not left)
