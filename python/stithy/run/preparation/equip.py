"""From a checked study to all that a run needs of the machine: found and tried, not used yet.

A run that begins and one that is resumed are equipped alike. The fingerprint is what of the machine
and the programs must be the same for a run to go on where it was cut off: less than the environment
that the manifest records, only what numbers rest on and no restart changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import stithy
from stithy.clock import Clock, SystemClock
from stithy.engines.engine import get_engine
from stithy.engines.instance import Configuration, ConfiguredEngine, Installation, Request
from stithy.errors import Problems
from stithy.hosts.host import Host, LocalHost
from stithy.hosts.processes import RUN_VARIABLE
from stithy.hosts.resources import other_cpus, server_cpus
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.plan.expand import as_found, expand, less_room, needed_bytes
from stithy.plan.scenario import scenario_of
from stithy.plan.steps import Plan, derive_seed
from stithy.restores.method import get_restore
from stithy.results.comparability import is_same_memory
from stithy.results.layout import RunDirectory
from stithy.results.manifest import Fact, Scalar
from stithy.run.cleanup.handlers import Books, clean_run, find_run
from stithy.run.cleanup.register import kept_password, make_scratch
from stithy.run.context import Context, State
from stithy.run.events import Observer, logging
from stithy.run.preparation.io import io_facts, profile_words
from stithy.run.servers import ServerCpus, Servers, configuration_of
from stithy.run.session import Session, Stop
from stithy.run.volumes import KEEPER, Volumes
from stithy.secrets import Secret, generate_password
from stithy.storage.provider import NOWHERE, ROLES, Site, Storage
from stithy.storage.providers.path import DirectoryStorage
from stithy.storage.several import provider_of
from stithy.study.candidates import is_emulated
from stithy.study.load import StudyFile
from stithy.study.model import Quiet, Study
from stithy.units import format_size
from stithy.wire.hammer import Hammer, Program
from stithy.wire.program import HAMMER, find_program

Fingerprint = Mapping[str, Scalar]
"""By the name of each thing, in words; None where the machine does not tell it."""

MEMORY = "memory"
FACTS = {
    "kernel": "kernel",
    "architecture": "architecture",
    "cpu_model": "CPU",
    "cpus": "number of CPUs",
    "memory_bytes": MEMORY,
}
"""Facts of the machine that count, and what a person calls them."""


def native_hammer(runner: Runner, cpus: tuple[int, ...] | None) -> Callable[[Secret], Program]:
    """The native hammer, found now: a machine without it is told so before anything starts."""
    program = find_program(HAMMER)
    return lambda url: Hammer(runner, url, program, cpus)


def native_version(runner: Runner) -> str:
    """The version of the native hammer, as it tells it."""
    return runner.run(Command([str(find_program(HAMMER)), "--version"])).stdout.strip()


def engine_of(file: StudyFile, request: Request) -> ConfiguredEngine:
    """The engine that the study names."""
    return get_engine(file.study.database.engine).configure(request)


@dataclass(frozen=True)
class Tools:
    """The seams of a run: real by default, fakes in tests; `waits`: blocks wait as studies say."""

    clock: Clock = field(default_factory=SystemClock)
    host: Callable[[str], Host] = lambda run_id: LocalHost(LocalRunner({RUN_VARIABLE: run_id}))
    hammer: Callable[[Runner, tuple[int, ...] | None], Callable[[Secret], Program]] = native_hammer
    hammer_version: Callable[[Runner], str] = native_version
    engine: Callable[[StudyFile, Request], ConfiguredEngine] = engine_of
    waits: bool = True


@dataclass(frozen=True)
class Found:
    """The database engine of a study, and its programs as they were found."""

    engine: ConfiguredEngine
    installation: Installation


@dataclass(frozen=True)
class Equipped:
    """A study, and what was found on the machine for it; `machine` is what must not change.

    `database` is None where the study has none. `io_facts`: fio and the user's I/O profiles.
    """

    run_id: str
    file: StudyFile
    plan: Plan
    directory: RunDirectory
    clock: Clock
    host: Host
    password: Secret
    server_cpus: ServerCpus
    database: Found | None
    hammer: Callable[[Secret], Program]
    providers: Mapping[str, Storage]
    keeper: Storage
    machine: Fingerprint
    io_facts: Mapping[str, str]

    def context(
        self, books: Books, stop: Stop, tell: Observer, state: State | None = None
    ) -> Context:
        """All of it with the run's books: what the steps may use. Makes the run's own directory.

        Raises PreconditionError where none can be made.
        """
        heard = logging(self.directory.log, self.clock, tell)
        session = Session(self.host, self.directory, books, self.clock, stop, heard)
        volumes = Volumes(books, self.host, self.providers, self.keeper)
        scratch = make_scratch(books.record, self.host.user)
        servers = None
        if self.database is not None:
            servers = Servers(
                study=self.file.study,
                plan=self.plan,
                session=session,
                volumes=volumes,
                engine=self.database.engine,
                installation=self.database.installation,
                cpus=self.server_cpus,
                scratch=scratch,
            )
        state = state or State()
        state.known.io_facts = dict(self.io_facts)
        state.known.profile_words = profile_words(self.file.study)
        return Context(self.file, self.plan, session, volumes, servers, self.hammer, scratch, state)


def equip(
    file: StudyFile, directory: RunDirectory, run_id: str, logs: Path, tools: Tools
) -> Equipped:
    """Find and try what the study needs; `logs` is for what storage writes about itself.

    Makes nothing. Raises UserError or PreconditionError, with all that was found.
    """
    if not tools.waits:
        quiet = Quiet.model_validate({"wait": "0 s"})
        file = replace(file, study=file.study.model_copy(update={"quiet": quiet}))
    host, problems = tools.host(run_id), Problems()
    cpus = problems.attempt(lambda: _server_cpus(file, host)) or {}
    others = never_of_servers(file.study, cpus, host)
    password = kept_password(run_id) or generate_password()
    database = _database(file, _request(file, host, password), tools, problems)
    hammer = problems.attempt(lambda: tools.hammer(host.runner, others))
    hammer_version = problems.attempt(lambda: tools.hammer_version(host.runner))
    io = problems.attempt(lambda: io_facts(file.study, host.runner)) or {}
    problems.refuse(str(file.path))
    assert hammer is not None  # else there was a problem, as with the next one
    assert hammer_version is not None
    providers = providers_of(file, logs, host, others)
    return Equipped(
        run_id=run_id,
        file=file,
        plan=expand(file.study, null=file.null),
        directory=directory,
        clock=tools.clock,
        host=host,
        password=password,
        server_cpus=cpus,
        database=database,
        hammer=hammer,
        providers=providers,
        keeper=keeper_in(directory),
        machine=_machine(file, host, database, {"hammer": hammer_version, **io}, providers),
        io_facts=io,
    )


def _database(
    file: StudyFile, request: Request | None, tools: Tools, problems: Problems
) -> Found | None:
    """The engine that the study needs; None where it needs none, or there was a problem."""
    if request is None:
        return None
    engine = tools.engine(file, request)
    if file.study.by_url:
        return Found(engine, Installation(NOWHERE, ""))  # whose servers run already
    installation = problems.attempt(engine.check)
    return None if installation is None else Found(engine, installation)


def _machine(
    file: StudyFile,
    host: Host,
    database: Found | None,
    known: Mapping[str, str],
    providers: Mapping[str, Storage],
) -> Fingerprint:
    """`known`: other programs and files, by name."""
    programs = {"stithy": stithy.__version__, **known}
    if database and database.installation.version:
        programs[file.study.database.engine] = database.installation.version
    if database:
        programs |= {f"backup {name}": t for name, t in database.installation.backups.items()}
    storage = {f"storage of {name}": each.fingerprint() for name, each in providers.items()}
    there = {name: words for name, words in storage.items() if words is not None}
    return fingerprint(host.facts, {**programs, **there})


def _server_cpus(file: StudyFile, host: Host) -> ServerCpus:
    """For each number of CPUs that any server is asked to have, which they are."""
    emulated = any(map(is_emulated, file.study.candidates.values()))
    return {
        asked: server_cpus(asked, host.cpus, emulated=emulated, where=where)
        for asked, where in _asked_cpus(file.study).items()
    }


def _asked_cpus(study: Study) -> dict[int | None, str]:
    """Each number that is asked, None for the default, and which key asks it."""
    if study.given_database is None:
        return {None: "database.cpus"}
    found: dict[int | None, str] = {
        database.cpus: "vary.database.cpus" for database in study.databases
    }
    for name, candidate in study.candidates.items():
        if candidate.cpus is not None:
            found[candidate.cpus] = f"candidates.{name}.cpus"
    return {**found, study.database.cpus: "database.cpus"}


def cpus_in_windows(study: Study, cpus: ServerCpus) -> set[tuple[int, ...] | None]:
    """The CPUs of each server that has others in a window; None for one that may use any."""
    if study.given_database is None:
        return {cpus.get(None)}
    return {
        cpus.get(variant.database_of(name).cpus)
        for variant in study.variants
        for name in study.candidates
    }


def never_of_servers(study: Study, cpus: ServerCpus, host: Host) -> tuple[int, ...] | None:
    """The CPUs that no server has in a window: so the driver and drives always have the same.

    None where there is no such CPU: they may use any.
    """
    found = [cpus_in_window or () for cpus_in_window in cpus_in_windows(study, cpus)]
    return other_cpus(max(found, key=len), host.cpus) if all(found) else None


def _request(file: StudyFile, host: Host, password: Secret) -> Request | None:
    """What the engine is asked to be; None without one."""
    study = file.study
    if study.given_database is None:
        return None
    shared = configuration_of(study.database)
    return Request(
        host=host,
        configuration=shared,
        connections_max=study.connections_max,
        password=password,
        own=tuple((where, each) for where, each in _own(study) if each != shared),
        backups=tuple(scenario_of(study).list_backups(study)),
        programs=study.database.programs,
    )


def _own(study: Study) -> Iterator[tuple[str, Configuration]]:
    """What servers are given besides the study's own configuration, and by which section."""
    for name in study.candidates:
        yield f"candidates.{name}", configuration_of(study.database_of(name))
    known: list[Configuration] = []
    for variant in study.variants if study.vary else ():
        for name in study.candidates:
            given = configuration_of(variant.database_of(name))
            if given not in known:
                known.append(given)
                yield "vary", given


def providers_of(
    file: StudyFile, logs: Path, host: Host, cpus: tuple[int, ...] | None
) -> dict[str, Storage]:
    """The provider of each candidate, with what the run offers it."""
    made: dict[str, Storage] = {}
    database = file.study.given_database
    for name, candidate in file.study.candidates.items():
        site = Site(
            runner=host.runner,
            needed_bytes=needed_bytes(file.study),
            logs=logs.absolute(),
            seeds={role: derive_seed(file.study.seed, "drive", name, role) for role in ROLES},
            cpus=cpus,
            less_room=less_room(file.study),
            keeps_inside=database is not None and get_restore(database.restore).keeps_inside,
            sessions=file.study.connections_max if database else 0,
            as_found=as_found(file.study),
        )
        sources = {role: (each.provider, each.spec) for role, each in candidate.sources.items()}
        made[name] = provider_of(sources, name, site)
    return made


def keeper_in(directory: RunDirectory) -> Storage:
    """What keeps the master copy, beside the results: on no candidate's volume."""
    return DirectoryStorage(directory.master_copy.absolute(), KEEPER)


def leftovers(
    providers: Mapping[str, Storage], *, clean: bool, run_id: str | None = None
) -> Iterator[str]:
    """What dead runs but this one left on these candidates, and how to continue those runs.

    `clean`: remove it first, servers and mounts too, but no loaded database: that lies elsewhere.
    """
    for name, provider in providers.items():
        if (dead := provider.left_by()) in (None, run_id):
            continue
        of, instead, found = f"the dead run {dead}", "", find_run(str(dead))
        if found is not None and RunDirectory(found.directory).journal.exists():
            of = f"the run in {found.directory}, which was cut off"
            instead = f"; to continue that run: stithy resume {found.directory}"
        if clean and found is not None:
            clean_run(found, lambda resource: resource.facts.get("candidate") == KEEPER)
        does = "they are removed" if clean else "a new run removes them"
        yield f"candidate {name} holds files of {of}: {does}{instead}"


def fingerprint(machine: Mapping[str, Fact], programs: Mapping[str, str]) -> dict[str, Scalar]:
    """The fingerprint of this machine with these versions of programs."""
    found = {word: _scalar(machine.get(name)) for name, word in FACTS.items()}
    return {**found, **programs}


def changes(before: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """What is not as it was, each in words: `kernel: 6.1.0 before, 6.2.0 now`."""
    return tuple(
        f"{name}: {_in_words(name, before.get(name))} before, {_in_words(name, now.get(name))} now"
        for name in dict.fromkeys([*before, *now])
        if not _same(name, before.get(name), now.get(name))
    )


def _same(name: str, before: Scalar, now: Scalar) -> bool:
    return is_same_memory(before, now) if name == MEMORY else before == now


def _scalar(fact: Fact | None) -> Scalar:
    value = fact.value if fact else None
    return value if isinstance(value, str | int | float) else None


def _in_words(name: str, value: Scalar) -> str:
    if value is None:
        return "not known"
    return format_size(value) if name == MEMORY and isinstance(value, int) else str(value)
