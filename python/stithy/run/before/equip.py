"""From a checked study to all that a run needs of the machine: found and tried, not used yet.

A run that begins and one that is resumed are equipped alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import stithy
from stithy.clock import Clock, SystemClock
from stithy.database.engine import Engine, Installation, Request
from stithy.errors import Problems
from stithy.hosts.cpus import other_cpus, server_cpus
from stithy.hosts.facts import machine_facts
from stithy.hosts.here import LocalMachine
from stithy.hosts.processes import RUN_VARIABLE
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.hosts.users import ServerUser, server_user
from stithy.needs import Machine
from stithy.plan.expand import expand, needed_bytes
from stithy.plan.ids import derive_seed
from stithy.plan.steps import Plan
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.run.before.fingerprint import Fingerprint, fingerprint
from stithy.run.context import KEEPER, Context, State
from stithy.run.events import Observer
from stithy.run.journal import Journal
from stithy.run.log import logging
from stithy.run.stop import Stop
from stithy.run.undoing.clean import clean_run, find_run
from stithy.run.undoing.register import Register, kept_password
from stithy.run.undoing.scratch import make_scratch
from stithy.secrets import Secret, generate_password
from stithy.storage.provider import ROLES, Provider, Site
from stithy.storage.providers.path import DirectoryProvider
from stithy.study.load import StudyFile
from stithy.study.sections import is_emulated
from stithy.workload.hammer import Hammer
from stithy.workload.program import Program


def native_hammer(runner: Runner, cpus: tuple[int, ...] | None) -> Callable[[Secret], Program]:
    """The native hammer, found now: a machine without it is told so before anything starts."""
    from stithy.wire.find import HAMMER, find_program

    program = find_program(HAMMER)
    return lambda url: Hammer(runner, url, program, cpus)


def native_version(runner: Runner) -> str:
    """The version of the native hammer, as it tells it."""
    from stithy.wire.find import HAMMER, find_program

    return runner.run(Command([str(find_program(HAMMER)), "--version"])).stdout.strip()


def engine_of(file: StudyFile, request: Request) -> Engine:
    """The engine that the study names."""
    import importlib

    package = plugins("engine")[file.study.database.engine].__name__
    engine: Engine = importlib.import_module(f"{package}.engine").create(request)
    return engine


@dataclass(frozen=True)
class Tools:
    """The seams of a run: real by default, fakes in tests."""

    clock: Clock = field(default_factory=SystemClock)
    runner: Callable[[str], Runner] = lambda run_id: LocalRunner({RUN_VARIABLE: run_id})
    hammer: Callable[[Runner, tuple[int, ...] | None], Callable[[Secret], Program]] = native_hammer
    hammer_version: Callable[[Runner], str] = native_version
    engine: Callable[[StudyFile, Request], Engine] = engine_of
    user: Callable[[], ServerUser | None] = server_user
    machine: Callable[[], Machine] = LocalMachine


@dataclass(frozen=True)
class Equipped:
    """A study, and what was found on the machine for it; `machine` is what must not change."""

    run_id: str
    file: StudyFile
    plan: Plan
    directory: RunDirectory
    clock: Clock
    runner: Runner
    user: ServerUser | None
    password: Secret
    server_cpus: tuple[int, ...] | None
    engine: Engine
    installation: Installation
    hammer: Callable[[Secret], Program]
    providers: Mapping[str, Provider]
    keeper: Provider
    machine: Fingerprint

    def context(self, books: "Books", stop: Stop, tell: Observer, state: State) -> Context:
        """All of it with the run's books: what the steps may use. Makes the run's own directory.

        Raises PreconditionError where none can be made.
        """
        return Context(
            run_id=self.run_id,
            file=self.file,
            server_cpus=self.server_cpus,
            plan=self.plan,
            workload=plugins("workload")[self.file.study.workload.name].WORKLOAD,
            directory=self.directory,
            journal=books.journal,
            register=books.register,
            clock=self.clock,
            runner=self.runner,
            engine=self.engine,
            installation=self.installation,
            hammer=self.hammer,
            providers=self.providers,
            keeper=self.keeper,
            user=self.user,
            scratch=make_scratch(books.record, self.user),
            stop=stop,
            tell=logging(self.directory.log, self.clock, tell),
            state=state,
        )


@dataclass(frozen=True)
class Books:
    """What a run writes into before it makes anything."""

    register: Register
    journal: Journal

    def record(self, kind: str, facts: dict[str, str]) -> None:
        """Write down, durably and in both, what is about to be made."""
        self.journal.write("making", kind=kind, facts=facts)
        self.register.making(kind, facts)


def equip(
    file: StudyFile, directory: RunDirectory, run_id: str, logs: Path, tools: Tools
) -> Equipped:
    """Find and try what the study needs; `logs` is for what storage writes about itself.

    Makes nothing. Raises UserError or PreconditionError, with all that was found.
    """
    runner, user, problems = tools.runner(run_id), tools.user(), Problems()
    cpus = problems.attempt(lambda: _server_cpus(file))
    password = kept_password(run_id) or generate_password()
    engine = tools.engine(file, _request(file, runner, user, cpus, password))
    installation = problems.attempt(engine.check)
    hammer = problems.attempt(lambda: tools.hammer(runner, other_cpus(cpus)))
    hammer_version = problems.attempt(lambda: tools.hammer_version(runner))
    problems.refuse(str(file.path))
    assert installation is not None  # else there was a problem, as with the next two
    assert hammer is not None
    assert hammer_version is not None
    providers = providers_of(file, logs, runner, other_cpus(cpus))
    return Equipped(
        run_id=run_id,
        file=file,
        plan=expand(file.study, null=file.null),
        directory=directory,
        clock=tools.clock,
        runner=runner,
        user=user,
        password=password,
        server_cpus=cpus,
        engine=engine,
        installation=installation,
        hammer=hammer,
        providers=providers,
        keeper=keeper_in(directory),
        machine=_machine(file, installation, hammer_version, providers),
    )


def _machine(
    file: StudyFile,
    installation: Installation,
    hammer_version: str,
    providers: Mapping[str, Provider],
) -> Fingerprint:
    programs = {
        "stithy": stithy.__version__,
        "hammer": hammer_version,
        file.study.database.engine: installation.version,
    }
    storage = {f"storage of {name}": each.fingerprint() for name, each in providers.items()}
    known = {name: words for name, words in storage.items() if words is not None}
    return fingerprint(machine_facts(), {**programs, **known})


def _server_cpus(file: StudyFile) -> tuple[int, ...] | None:
    emulated = any(map(is_emulated, file.study.candidates.values()))
    return server_cpus(file.study.database.cpus, emulated=emulated)


def _request(
    file: StudyFile,
    runner: Runner,
    user: ServerUser | None,
    cpus: tuple[int, ...] | None,
    password: Secret,
) -> Request:
    database = file.study.database
    return Request(
        runner=runner,
        settings=database.settings,
        memory_bytes=database.memory_bytes,
        connections_max=file.study.load.connections_max,
        user=user,
        password=password,
        cpus=cpus,
    )


def providers_of(
    file: StudyFile, logs: Path, runner: Runner, cpus: tuple[int, ...] | None
) -> dict[str, Provider]:
    """The provider of each candidate, with what the run offers it."""
    made: dict[str, Provider] = {}
    for name, candidate in file.study.candidates.items():
        site = Site(
            runner=runner,
            needed_bytes=needed_bytes(file.study),
            logs=logs.absolute(),
            seeds={role: derive_seed(file.study.seed, "drive", name, role) for role in ROLES},
            cpus=cpus,
        )
        made[name] = plugins("provider")[candidate.provider].create(candidate.spec, name, site)
    return made


def keeper_in(directory: RunDirectory) -> Provider:
    """What keeps the master copy, beside the results: on no candidate's volume."""
    return DirectoryProvider(directory.master_copy.absolute(), KEEPER)


def clean_leftovers(providers: Mapping[str, Provider]) -> None:
    """What dead runs left on these candidates is unmade first, servers and mounts included."""
    for provider in providers.values():
        if (run_id := provider.left_by()) and (found := find_run(run_id)):
            clean_run(found)
