"""What a run's journal tells of it: its sessions, the steps that were done, the things made.

A session is one process's time with the run: from `stithy run` or `stithy resume` to its end, its
failure, or its death. A pure reading: the machine is not asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stithy.errors import PreconditionError, UserError, give_reason
from stithy.hosts.processes import ProcessIdentity, parse_identity
from stithy.plan.additional import Additional
from stithy.results.layout import RunDirectory
from stithy.results.manifest import SessionFacts
from stithy.run.books import JournalEntry, Resource, read_journal
from stithy.run.datasets import MASTER_MADE
from stithy.run.deciding import ADDED, read_additional
from stithy.run.equip import Fingerprint

MASTER_KEPT = "master-kept"
"""The event of a session that begins with the master copy of an earlier one."""

BEGINNINGS = ("run-started", "run-resumed")


@dataclass(frozen=True)
class RecordedSession:
    """One session: whose it was, and what the manifest keeps of it once it is over."""

    owner: ProcessIdentity
    facts: SessionFacts


@dataclass(frozen=True)
class Touched:
    """The step that began last of those that may change a candidate's database."""

    id: str
    kind: str


@dataclass(frozen=True)
class History:
    """A run until now; `finished` are ids of steps, `skipped` those left out, with the reason.

    `null`: it measures one candidate against itself. `additional`: the windows that were decided
    while it went on.
    `touched`: by candidate, what came last to its database; `restored`: the window for which it was
    put back last. `masters`: by dataset the hash of the contents of its master copy as it was made,
    without those that were loaded anew since.
    `resources` are all that were created and not removed within their own step: most of them were
    removed later, which the register knows.
    """

    run_id: str
    study: Path
    study_sha256: str
    null: bool
    machine: Fingerprint
    sessions: tuple[RecordedSession, ...]
    finished: frozenset[str]
    skipped: Mapping[str, str]
    additional: tuple[Additional, ...]
    touched: Mapping[str, Touched]
    restored: Mapping[str, str]
    masters: Mapping[str, str]
    resources: tuple[Resource, ...]


def read_history(directory: RunDirectory) -> History:
    """The run whose results are in `directory`.

    Raises UserError where there is no run, or none that began; PreconditionError for a journal
    that this user may not read, or without what a run needs to go on.
    """
    entries = _read_entries(directory)
    begun = next((entry for entry in entries if entry.event == "run-started"), None)
    if begun is None:
        raise _make_no_run(directory)
    try:
        return _make_history(entries, begun.facts)
    except (KeyError, TypeError, ValueError) as error:
        raise PreconditionError(
            "its journal lacks entries that resuming needs",
            where=str(directory.journal),
            remedy="run the study again; an older Stithy wrote this run",
        ) from error


def _read_entries(directory: RunDirectory) -> Sequence[JournalEntry]:
    try:
        return read_journal(directory.journal)
    except NotADirectoryError as error:
        raise _make_no_run(directory) from error
    except OSError as error:
        raise PreconditionError(
            f"its journal cannot be read: {give_reason(error)}",
            where=str(directory.journal),
            remedy="resume it as the user who ran it",
        ) from error


def _make_no_run(directory: RunDirectory) -> UserError:
    there = directory.root.is_dir()
    if there and _is_of_a_start(directory):
        return UserError(
            "the run ended before it began, so there is nothing to resume",
            where=str(directory.root),
            remedy="run the study again",
        )
    known = "no such directory"
    if there:
        written = directory.journal.exists()
        known = "no run begins in its journal" if written else "it has no journal"
    remedy = "name a directory that `stithy run` wrote"
    return UserError(f"not a run directory: {known}", where=str(directory.root), remedy=remedy)


def _is_of_a_start(directory: RunDirectory) -> bool:
    """Whether it has a study and nothing but what a run writes until its journal tells of it.

    A folder with a study and anything else is a person's.
    """
    written = {directory.study, directory.journal, directory.sensitivity}
    found = set(directory.root.iterdir())
    empty = not directory.sensitivity.is_dir() or not any(directory.sensitivity.iterdir())
    return bool(found & {directory.study, directory.journal}) and found <= written and empty


def _make_history(entries: Sequence[JournalEntry], begun: Mapping[str, Any]) -> History:
    machine = [entry.facts["machine"] for entry in entries if entry.event in BEGINNINGS]
    skipped = [entry.facts for entry in entries if entry.event == "step-skipped"]
    finished = [entry.facts["id"] for entry in entries if entry.event == "step-finished"]
    started = [entry.facts for entry in entries if entry.event == "step-started"]
    begins = [number for number, entry in enumerate(entries) if entry.event in BEGINNINGS]
    stops = [*begins[1:], len(entries)]
    return History(
        run_id=begun["run_id"],
        study=Path(begun["study"]),
        study_sha256=begun["study_sha256"],
        null=begun["null"],
        machine=machine[-1],
        sessions=tuple(
            _read_session(entries[begin:stop]) for begin, stop in zip(begins, stops, strict=True)
        ),
        finished=frozenset(finished),
        skipped={facts["id"]: facts["because"] for facts in skipped},
        additional=tuple(read_additional(entry.facts) for entry in entries if entry.event == ADDED),
        # A candidate's storage holds what it held when it is made ready for another session.
        touched={
            facts["candidate"]: Touched(facts["id"], facts["kind"])
            for facts in started
            if facts.get("candidate") is not None and facts["kind"] != "provision"
        },
        restored={
            facts["candidate"]: str(facts["id"]).removeprefix("restore-")
            for facts in started
            if facts["kind"] == "restore"
        },
        masters=_read_masters(entries),
        resources=_read_resources(entries),
    )


def _read_masters(entries: Sequence[JournalEntry]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        if entry.event == "step-started" and entry.facts.get("kind") == "prepare":
            found.pop(entry.facts["dataset"], None)
        elif entry.event == MASTER_MADE:
            found[entry.facts["dataset"]] = str(entry.facts["sha256"])
    return found


def _read_session(entries: Sequence[JournalEntry]) -> RecordedSession:
    first = entries[0]
    ended = next((entry for entry in entries if entry.event == "run-ended"), None)
    owner = parse_identity(first.facts["owner"])
    facts = SessionFacts(
        started_at_s=first.at_s,
        ended_at_s=(ended or entries[-1]).at_s,
        boot_id=owner.boot_id,
        changed=tuple(first.facts.get("changed", ())),
        master_kept=any(entry.event == MASTER_KEPT for entry in entries),
        end=ended.facts["end"] if ended else "killed",
        end_because=ended.facts["because"] if ended else None,
    )
    return RecordedSession(owner, facts)


def _read_resources(entries: Sequence[JournalEntry]) -> tuple[Resource, ...]:
    made: list[Resource] = []
    for entry in entries:
        if entry.event == "creating":
            made.append(Resource(entry.sequence, entry.facts["kind"], entry.facts["facts"]))
        elif entry.event == "removed":
            gone = (entry.facts["kind"], entry.facts["facts"])
            made = [resource for resource in made if (resource.kind, resource.facts) != gone]
    return tuple(made)
