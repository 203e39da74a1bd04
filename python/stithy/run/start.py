"""From a study file to a run that can begin: read, plan, check, make the run directory.

Nothing is made before everything that can be checked was checked.
"""

import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from stithy.errors import PreconditionError, StithyError, reason_of
from stithy.hosts.processes import own_identity
from stithy.names import find_free
from stithy.plan.expand import as_null
from stithy.results.layout import RunDirectory, write_durably
from stithy.run.cleanup.handlers import Books
from stithy.run.cleanup.register import Register
from stithy.run.context import Context
from stithy.run.events import Note, Observer
from stithy.run.journal import Journal
from stithy.run.preparation.equip import Equipped, Tools
from stithy.run.preparation.io import profile_tables
from stithy.run.preparation.preflight import check_sensitivity, preflight
from stithy.run.session import Stop
from stithy.study.load import StudyFile, read_study


def start_run(
    study: Path,
    out: Path | None,
    stop: Stop,
    tell: Observer,
    tools: Tools | None = None,
    *,
    null: bool = False,
    sensitivity: bool = False,
) -> Context:
    """Everything checked, the run directory made, the run registered; the steps can begin.

    `null`: the study's first candidate is measured against itself. `sensitivity`: the primary
    question is asked again afterwards, with varied drives (`stithy.run.sensitivity`).
    Raises StudyError, UserError or PreconditionError, with all problems, and has made nothing then.
    """
    file = as_null(read_study(study)) if null else read_study(study)
    return start(file, out, stop, tell, tools, sensitivity=sensitivity)


def start(
    file: StudyFile,
    out: Path | None,
    stop: Stop,
    tell: Observer,
    tools: Tools | None = None,
    *,
    sensitivity: bool = False,
) -> Context:
    """As `start_run`, of a study that was read already."""
    tools = tools or Tools()
    directory = RunDirectory(out or default_directory(file.path, tools.clock.now_s()))
    run_id = secrets.token_hex(6)
    checked = preflight(file, directory, run_id, tools, clean=True)
    if sensitivity:
        checked.problems.attempt(lambda: check_sensitivity(file))
    checked.problems.refuse(str(file.path))
    assert checked.equipped is not None  # else there was a problem
    for text in (*profile_tables(file.study), *checked.warnings):
        tell(Note(text))
    found = checked.equipped
    books = _enter(found, sensitivity=sensitivity)
    try:
        return found.context(books, stop, tell)
    except StithyError:
        books.register.close(remove=True)
        raise


def default_directory(study: Path, now_s: float) -> Path:
    """`runs/<name of the study>-<UTC time>` in the current directory, one that is not there yet."""
    at, runs = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%dT%H%M%SZ"), Path("runs")
    return runs / find_free(f"{study.stem}-{at}", os.listdir(runs) if runs.is_dir() else ())


def _enter(found: Equipped, *, sensitivity: bool) -> Books:
    """Register the run, make its directory, and write down that it begins, in that order."""
    directory = found.directory
    register = Register(found.run_id, directory.root.resolve(), found.clock)
    try:
        register.keep_password(found.password)
        directory.root.mkdir(parents=True, exist_ok=True)
        # Before the journal: a run that its journal knows has its study, and can be resumed.
        write_durably(directory.study, found.file.content)
        if sensitivity:
            directory.sensitivity.mkdir()
        journal = Journal(directory.journal, found.clock)
        # What a later session needs in order to go on: which study, which machine, whose run.
        journal.write(
            "run-started",
            run_id=found.run_id,
            study=str(found.file.path.absolute()),
            study_sha256=found.file.sha256,
            null=found.file.null,
            owner=own_identity().facts(),
            machine=dict(found.machine),
        )
        return Books(found.run_id, register, journal)
    except OSError as error:
        register.close(remove=True)
        raise PreconditionError(
            f"the run directory cannot be made: {reason_of(error)}",
            where=str(directory.root),
            remedy="name another directory with --out",
        ) from error
    except StithyError:
        register.close(remove=True)
        raise
