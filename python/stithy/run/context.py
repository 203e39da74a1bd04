"""What the steps of a run may use, and what one step leaves for the next."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stithy.clock import Clock
from stithy.database.engine import Engine, Installation, Instance, ServerFacts, Start
from stithy.hosts.runner import Runner, ServerUser
from stithy.plan.additional import Additional, steps_of
from stithy.plan.steps import Plan, Step
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CalibrationFacts, Manifest, SessionFacts
from stithy.results.tables import Row
from stithy.run.cleanup.books import Books
from stithy.run.events import Observer
from stithy.run.stop import Stop
from stithy.secrets import Secret
from stithy.storage.consent import DATA
from stithy.storage.copy import Contents
from stithy.storage.provider import Provider, Role, Volume
from stithy.study.load import StudyFile
from stithy.wire.jobs import DataShape, WorkloadSize
from stithy.workload.program import Program
from stithy.workload.workload import Workload

KEEPER = "master copy"
"""Whose the directory of the master copy is, where resources name a candidate. No candidate's name
has a space."""


@dataclass(frozen=True)
class Before:
    """Earlier sessions of a resumed run; `changed` is what they met otherwise than this one.

    `manifest` is what they wrote last, None where it could not be read. `master_kept`: their master
    copy is used on.
    """

    sessions: tuple[SessionFacts, ...]
    manifest: Manifest | None
    changed: tuple[str, ...]
    master_kept: bool = False


@dataclass
class Tables:
    """Rows of the tables of the whole run, which are written again with each one more."""

    restores: list[Row] = field(default_factory=list)
    canaries: list[Row] = field(default_factory=list)
    conditions: list[Row] = field(default_factory=list)


@dataclass
class Discovered:
    """What was found out, for the manifest; None or empty before.

    `calibration`: what the driver keeps up with. `limits`: by candidate, whether its memory limit
    held, and the note.
    """

    server_facts: ServerFacts | None = None
    hammer_version: str | None = None
    calibration: CalibrationFacts | None = None
    limits: dict[str, tuple[bool, str | None]] = field(default_factory=dict)


@dataclass
class Progress:
    """How far the run is.

    `done`: ids of steps that earlier sessions of the run have done for good. `before`: what those
    have left for this one, None in the first session. `skipped`: ids of windows that were not
    needed, with the reason. `additional`: windows that were decided while the run went on.
    """

    done: frozenset[str] = frozenset()
    before: Before | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    additional: tuple[Additional, ...] = ()


@dataclass
class State:
    """What steps leave for later ones; filled in as the run goes on.

    `master`: contents of the master copy, None before it is made. `restore_s`: how long the last
    restore of each candidate took. `trees`: directories that were made, by candidate and name.
    `starts`: how many servers were given a memory limit.
    """

    tables: Tables = field(default_factory=Tables)
    known: Discovered = field(default_factory=Discovered)
    progress: Progress = field(default_factory=Progress)
    volumes: dict[str, Volume] = field(default_factory=dict)
    master: Contents | None = None
    restore_s: dict[str, float] = field(default_factory=dict)
    trees: set[tuple[str, str]] = field(default_factory=set)
    starts: int = 0


@dataclass(frozen=True)
class Context:
    """Everything a step may use; nothing else reaches the machine.

    `keeper` gives the directory of the master copy.
    """

    run_id: str
    file: StudyFile
    server_cpus: tuple[int, ...] | None
    plan: Plan
    workload: Workload
    directory: RunDirectory
    books: Books
    clock: Clock
    runner: Runner
    engine: Engine
    installation: Installation
    hammer: Callable[[Secret], Program]
    providers: Mapping[str, Provider]
    keeper: Provider
    user: ServerUser | None
    scratch: Path
    stop: Stop
    tell: Observer
    state: State

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of this session: of the plan, and additional ones as far as they are decided.

        Without those that earlier sessions have done.
        """
        steps = steps_of(self.file.study, self.plan, self.state.progress.additional)
        return tuple(step for step in steps if step.id not in self.state.progress.done)

    @property
    def size(self) -> WorkloadSize:
        """The workload as the hammer is told it."""
        asked = self.file.study.workload
        return WorkloadSize(name=asked.name, warehouses=asked.warehouses)

    @property
    def data(self) -> DataShape:
        """What the generated text is to be like, as the hammer is told it."""
        asked = self.file.study.workload.data
        return DataShape(
            compressible_percent=asked.compressible_percent,
            duplicate_percent=asked.duplicate_percent,
        )

    def volume(self, candidate: str) -> Volume:
        """The volume of a candidate, which its provision step made."""
        return self.state.volumes[candidate]

    @contextmanager
    def server(
        self,
        candidate: str,
        log: Path,
        *,
        memory_cgroup: Path | None = None,
        loading: bool = False,
    ) -> Iterator[Instance]:
        """A server on the candidate's database that runs inside only."""
        log.parent.mkdir(parents=True, exist_ok=True)
        start = self.start_of(candidate, log, memory_cgroup=memory_cgroup, loading=loading)
        facts = {"data": str(start.data), "program": self.engine.program, "candidate": candidate}
        with self.books.resource("server", facts):
            instance = self.engine.start(start)
            with self.books.resource("shared-memory", self.memory_facts(candidate, instance)):
                failed = True
                try:
                    yield instance
                    failed = False
                finally:
                    # A server in trouble may never end the ordinary way (asked while it recovers
                    # from a crash it waits for ever), and every window begins with a fresh copy.
                    instance.stop(at_once=failed or self.stop.asked.is_set())

    def start_of(
        self,
        candidate: str,
        log: Path,
        *,
        memory_cgroup: Path | None = None,
        loading: bool = False,
    ) -> Start:
        """The start of a server on the candidate's database, where its parts lie by now."""
        parts = parts_of(self.volume(candidate))
        # The database that becomes the master copy lies in one place, whatever the roles.
        temp = parts.temp if self.state.master is not None else None
        sockets = self.sockets(candidate)
        return Start(
            parts.data, sockets, log, memory_cgroup=memory_cgroup, loading=loading, temp=temp
        )

    def memory_facts(self, candidate: str, instance: Instance) -> dict[str, str]:
        """What a killed server would leave in memory, and which engine can remove it."""
        engine = self.file.study.database.engine
        return {**instance.shared_memory(), "engine": engine, "candidate": candidate}

    def sockets(self, candidate: str) -> Path:
        """The candidate's directory for sockets, made where it is missing."""
        names = list(self.file.study.candidates)
        path = self.scratch / str(names.index(candidate))
        if not path.exists():
            path.mkdir(mode=0o700)
            own(path, self.user)
        return path


def own(path: Path, user: ServerUser | None) -> None:
    """Give a fresh file or directory to the server's user."""
    if user is not None:
        os.chown(path, user.uid, user.gid)


LOG = "log"
TEMP = "temp"
"""The directories that hold a part of a database on a volume of its own."""


@dataclass(frozen=True)
class Parts:
    """The directories of a database; `log` and `temp` are None where they lie in `data`."""

    data: Path
    log: Path | None
    temp: Path | None


def parts_of(volume: Volume) -> Parts:
    """Where the parts of the database of the candidate with this volume lie, or are to be made."""
    return Parts(volume.path / DATA, _own(volume, "log", LOG), _own(volume, "temp", TEMP))


def _own(volume: Volume, role: Role, name: str) -> Path | None:
    other = volume.others.get(role)
    return None if other is None else other.path / name
