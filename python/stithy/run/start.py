"""From a study file to a run that can begin: read, plan, check, make the run directory.

Nothing is made before everything that can be checked was checked. A corner of a sensitivity
analysis is a run of its own below the main run's results, of a study made from the main run's:
docs/adr/0008-sensitivity-as-runs-of-their-own.md
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from stithy.drives.profiles import make_varied
from stithy.errors import (
    InvalidMeasurement,
    PreconditionError,
    StithyError,
    convert_machine_failures,
    give_reason,
)
from stithy.hosts.processes import get_identity
from stithy.names import find_free
from stithy.plan.expand import expand_file, make_null_file
from stithy.plan.sensitivity import SHARE, narrow_study
from stithy.results.files import read_manifest
from stithy.results.layout import RunDirectory, write_durably
from stithy.run.books import Journal, Register, read_journal
from stithy.run.cleaning import Books
from stithy.run.context import Context
from stithy.run.deciding import Deciders
from stithy.run.equip import Equipped, Tools, describe_profile_tables
from stithy.run.events import Note, Observer
from stithy.run.preflight import check_machine, check_sensitivity
from stithy.run.resume import resume_run
from stithy.run.session import Stop
from stithy.study.load import StudyFile, read_study


def start_run(
    study: Path | StudyFile,
    out: Path | None,
    stop: Stop,
    tell: Observer,
    tools: Tools | None = None,
    *,
    null: bool = False,
    sensitivity: bool = False,
) -> Context:
    """Everything checked, the run directory made, the run registered; the steps can begin.

    `study` may have been read already. `null`: its first candidate is measured against itself.
    `sensitivity`: the primary question is asked again afterwards, with varied drives.
    Raises StudyError, UserError or PreconditionError, with all problems, and has made nothing then.
    """
    file = read_study(study) if isinstance(study, Path) else study
    file = make_null_file(file) if null else file
    tools = tools or Tools()
    directory = RunDirectory(out or choose_directory(file.path, tools.clock.now_s()))
    run_id = secrets.token_hex(6)
    checked = check_machine(file, directory, run_id, tools, clean=True)
    if sensitivity:
        checked.problems.attempt(lambda: check_sensitivity(file))
    checked.problems.refuse(str(file.path))
    assert checked.equipped is not None  # else there was a problem
    for text in (*describe_profile_tables(file.study), *checked.warnings):
        tell(Note(text))
    found = checked.equipped
    books = _enter(found, sensitivity=sensitivity)
    try:
        return found.context(books, stop, tell)
    except StithyError:
        books.register.close(remove=True)
        raise


def choose_directory(study: Path, now_s: float) -> Path:
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
            owner=get_identity().list_facts(),
            machine=dict(found.machine),
        )
        return Books(found.run_id, register, journal)
    except OSError as error:
        register.close(remove=True)
        raise PreconditionError(
            f"the run directory cannot be made: {give_reason(error)}",
            where=str(directory.root),
            remedy="name another directory with --out",
        ) from error
    except StithyError:
        register.close(remove=True)
        raise


def is_over(directory: RunDirectory) -> bool:
    """Whether a run has ended well."""
    manifest = read_manifest(directory.manifest)
    return manifest is not None and manifest.end == "finished"


def prepare_corner(main: RunDirectory, against: str, other: str) -> bool:
    """Write the study with its drives' assumed numbers worse for `against`, better for `other`.

    False where neither has any, and nothing was written. Raises InvalidMeasurement where the
    manifest of the main run, which has the profiles, cannot be read.
    """
    manifest = read_manifest(main.manifest)
    if manifest is None:
        raise InvalidMeasurement(
            "its manifest, which has the drive profiles, cannot be read",
            where=str(main.manifest),
            remedy="run the study again",
        )
    profiles = {
        (candidate.name, drive.role): make_varied(
            drive.profile, SHARE, worse=candidate.name == against
        )
        for candidate in manifest.candidates
        if candidate.name in (against, other)
        for drive in candidate.drives
    }
    if not any(varied.changes for varied in profiles.values()):
        return False
    folder = main.corner(against).resolve()
    with convert_machine_failures(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for (name, role), varied in profiles.items():
            write_durably(folder / f"{name}.{role}.toml", varied.text.encode())
        write_durably(folder / "study.yaml", _write_corner_study(main, against, other, folder))
    return True


def _write_corner_study(main: RunDirectory, against: str, other: str, folder: Path) -> bytes:
    """The study with its profiles in the folder, its candidates in the order of the main one."""
    file = read_study(main.study)
    asked = expand_file(file).question
    assert asked is not None  # without one the run would not have begun
    first, second = (name for name in file.study.candidates if name in (against, other))

    def profile(candidate: str, role: str, _: str) -> str:
        return str(folder / f"{candidate}.{role}.toml")

    return narrow_study(file.content, (first, second), asked, profile)


@contextmanager
def begin_corner(
    main: RunDirectory,
    against: str,
    stop: Stop,
    tell: Observer,
    *,
    deciders: Deciders,
    tools: Tools | None = None,
    force: bool = False,
) -> Iterator[Context]:
    """The run of a corner that was prepared, begun or gone on with."""
    folder = main.corner(against)
    out = RunDirectory(folder / "run")
    if any(entry.event == "run-started" for entry in read_journal(out.journal)):
        going_on = resume_run(out.root, stop, tell, force=force, tools=tools, deciders=deciders)
        with going_on as found:
            yield found
        return
    with convert_machine_failures(str(out.root)):
        # A run that was killed before its journal tells of it has made nothing else.
        shutil.rmtree(out.root, ignore_errors=True)
    yield start_run(folder / "study.yaml", out.root, stop, tell, tools)
