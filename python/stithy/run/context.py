"""What the steps of a run may use, and what one step leaves for the next."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stithy.clock import Clock
from stithy.database.engine import Engine, Installation, Start
from stithy.database.instance import Instance, ServerFacts
from stithy.hosts.runner import Runner
from stithy.hosts.users import ServerUser
from stithy.plan.further import Further, steps_of
from stithy.plan.steps import Plan, Step
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CalibrationFacts, Manifest, SessionFacts
from stithy.run.copies.parts import parts_of
from stithy.run.events import Observer
from stithy.run.journal import Journal
from stithy.run.stop import Stop
from stithy.run.undoing.register import Making, Register
from stithy.run.undoing.undo import undo
from stithy.secrets import Secret
from stithy.storage.copy import Contents
from stithy.storage.provider import Provider, Record, Volume
from stithy.study.load import StudyFile
from stithy.wire.jobs import DataShape, WorkloadSize
from stithy.workload.program import Program
from stithy.workload.workload import Workload

KEEPER = "master copy"
"""Whose the directory of the master copy is, where makings name a candidate. No candidate's name
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
class State:
    """What steps leave for later ones; filled in as the run goes on.

    `master`: contents of the master copy, None before it is made. `calibration`: what the driver
    keeps up with, None before it is known. `skipped`: ids of windows that were not needed, with the
    reason. `trees`: what was made on which
    volume. `limits`: whether each candidate's memory limit held, and the note. `kept`: URLs of
    instances that go on after the run. `done`: ids of steps that earlier sessions of the run have
    done for good. `before`: what those have left for this one, None in the first session.
    `further`: windows that were decided while the run went on.
    """

    volumes: dict[str, Volume] = field(default_factory=dict)
    master: Contents | None = None
    restore_s: dict[str, float] = field(default_factory=dict)
    restores: list[dict[str, Any]] = field(default_factory=list)
    canaries: list[dict[str, Any]] = field(default_factory=list)
    conditions: list[dict[str, Any]] = field(default_factory=list)
    server_facts: ServerFacts | None = None
    hammer_version: str | None = None
    calibration: CalibrationFacts | None = None
    limits: dict[str, tuple[bool, str | None]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    trees: set[tuple[str, str]] = field(default_factory=set)
    starts: int = 0
    kept: dict[str, Secret] = field(default_factory=dict)
    done: frozenset[str] = frozenset()
    before: Before | None = None
    further: tuple[Further, ...] = ()


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
    journal: Journal
    register: Register
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
        """The steps of this session: of the plan, and further ones as far as they are decided.

        Without those that earlier sessions have done.
        """
        steps = steps_of(self.file.study, self.plan, self.state.further)
        return tuple(step for step in steps if step.id not in self.state.done)

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

    def record(self, kind: str, facts: Mapping[str, str]) -> Making:
        """Write down, durably and in both books, what is about to be made."""
        self.journal.write("making", kind=kind, facts=dict(facts))
        return Making(self.register.making(kind, facts), kind, facts)

    def recorder(self, candidate: str) -> Record:
        """`record` for what belongs to one candidate."""

        def record(kind: str, facts: dict[str, str]) -> None:
            self.record(kind, {**facts, "candidate": candidate})

        return record

    def unmake(self, making: Making) -> None:
        """Undo one making now, and write that down."""

        def unmade(number: int) -> None:
            self.register.unmade(number)
            self.journal.write("unmade", kind=making.kind, facts=dict(making.facts))

        undo(self.run_id, [making], unmade, everything=False)

    @contextmanager
    def making(self, kind: str, facts: Mapping[str, str]) -> Iterator[None]:
        """A thing that exists inside only; recorded before, undone after."""
        made = self.record(kind, facts)
        try:
            yield
        finally:
            self.unmake(made)

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
        with self.making("server", facts):
            instance = self.engine.start(start)
            with self.making("shared-memory", self.memory_facts(candidate, instance)):
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
