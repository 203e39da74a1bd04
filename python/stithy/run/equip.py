"""From a checked study to all that a run needs of the machine: found and tried, not used yet.

A run that begins and one that is resumed are equipped alike. The fingerprint is what of the machine
and the programs must be the same for a run to go on where it was cut off: less than the environment
that the manifest records, only what numbers rest on and no restart changes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import stithy
from stithy.agents.coordinator import Agents
from stithy.agents.link import NOT_JOINED
from stithy.clock import Clock, SystemClock
from stithy.engines.backup import BackupOptions
from stithy.engines.engine import get_engine
from stithy.engines.instance import Configuration, ConfiguredEngine, Installation, Request
from stithy.errors import PreconditionError, Problems, StithyError, UserError
from stithy.exporters.given import Role
from stithy.exporters.metrics import EXPORTERS
from stithy.exporters.seen import SeenExporter, see_exporter
from stithy.fio import library, program
from stithy.fio.profile import IoProfile, Pattern
from stithy.fio.streamjob import choose_engine, describe_submission
from stithy.hosts.host import Host, LocalHost
from stithy.hosts.processes import RUN_VARIABLE
from stithy.hosts.resources import choose_server_cpus, list_other_cpus
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.meters.meter import Unreadable
from stithy.plan.expand import (
    expand_file,
    leaves_devices_as_found,
    suggest_less_room,
    sum_needed_bytes,
)
from stithy.plan.scenario import find_scenario
from stithy.plan.steps import Plan, derive_seed
from stithy.power import NAME as POWER
from stithy.restores.method import get_restore
from stithy.results.comparability import PROFILE, SUBMISSION, is_same_memory
from stithy.results.layout import RunDirectory
from stithy.results.manifest import Fact, Scalar
from stithy.run.books import make_scratch, read_password
from stithy.run.cleaning import Books, clean_run, find_run
from stithy.run.context import Context, State
from stithy.run.events import Observer, log_events
from stithy.run.servers import FoundDatabase, ServerCpus, Servers, make_configuration
from stithy.run.session import Session, Stop
from stithy.run.volumes import KEEPER, Volumes
from stithy.secrets import Secret, generate_password
from stithy.storage.provider import NOWHERE, ROLES, Site, Storage
from stithy.storage.providers.path import DirectoryStorage
from stithy.storage.several import create_storage
from stithy.study.agents import PLACE, list_agents
from stithy.study.candidates import is_emulated
from stithy.study.load import StudyFile, place_error
from stithy.study.model import Quiet, Study
from stithy.units import format_size
from stithy.wire.hammer import Hammer
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


def find_hammer(runner: Runner, cpus: tuple[int, ...] | None) -> Callable[[Secret], Hammer]:
    """The native hammer, found now: a machine without it is told so before anything starts."""
    program = find_program(HAMMER)
    return lambda url: Hammer(runner, url, program, cpus)


def read_hammer_version(runner: Runner) -> str:
    """The version of the native hammer, as it tells it."""
    return runner.run(Command([str(find_program(HAMMER)), "--version"])).stdout.strip()


def configure_engine(file: StudyFile, request: Request) -> ConfiguredEngine:
    """The engine that the study names."""
    return get_engine(file.study.database.engine).configure(request)


def find_no_agents(study: Study) -> Agents | None:
    """None, for a study that this host drives alone. Raises PreconditionError for another."""
    if not list_agents(study):
        return None
    remedy = "name where agents meet with --scheduler"
    raise PreconditionError("nobody knows where its agents are", where="agents", remedy=remedy)


@dataclass(frozen=True)
class Tools:
    """The seams of a run: real by default, fakes in tests; `waits`: blocks wait as studies say."""

    clock: Clock = field(default_factory=SystemClock)
    host: Callable[[str], Host] = lambda run_id: LocalHost(LocalRunner({RUN_VARIABLE: run_id}))
    hammer: Callable[[Runner, tuple[int, ...] | None], Callable[[Secret], Hammer]] = find_hammer
    hammer_version: Callable[[Runner], str] = read_hammer_version
    engine: Callable[[StudyFile, Request], ConfiguredEngine] = configure_engine
    waits: bool = True
    agents: Callable[[Study], Agents | None] = find_no_agents


@dataclass(frozen=True)
class Equipped:
    """A study, and what was found on the machine for it; `machine` is what must not change.

    `databases` are those of the study's engines, by name. `io_facts`: fio and the user's I/O
    profiles. `exporters`: those of other hosts, by name.
    """

    run_id: str
    file: StudyFile
    plan: Plan
    directory: RunDirectory
    clock: Clock
    host: Host
    password: Secret
    server_cpus: ServerCpus
    databases: Mapping[str, FoundDatabase]
    hammer: Callable[[Secret], Hammer]
    providers: Mapping[str, Storage]
    keeper: Storage
    machine: Fingerprint
    io_facts: Mapping[str, str]
    exporters: Mapping[str, SeenExporter] = field(default_factory=dict)
    agents: Agents | None = None

    def context(
        self, books: Books, stop: Stop, tell: Observer, state: State | None = None
    ) -> Context:
        """All of it with the run's books: what the steps may use. Makes the run's own directory.

        Raises PreconditionError where none can be made.
        """
        heard = log_events(self.directory.log, self.clock, tell)
        session = Session(self.host, self.directory, books, self.clock, stop, heard)
        volumes = Volumes(books, self.host, self.providers, self.keeper)
        scratch = make_scratch(books.record, self.host.user)
        if self.agents is not None:
            books.record("agents", self.agents.list_facts())
        servers = None
        if self.databases:
            servers = Servers(
                study=self.file.study,
                plan=self.plan,
                session=session,
                volumes=volumes,
                engines=self.databases,
                cpus=self.server_cpus,
                scratch=scratch,
            )
        state = state or State()
        state.known.io_facts = dict(self.io_facts)
        state.known.profile_words = describe_profiles(self.file.study)
        state.known.exporters = self.exporters
        return Context(
            self.file, self.plan, session, volumes, servers, self.hammer, scratch, state,
            self.agents,
        )  # fmt: skip


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
    cpus = problems.attempt(lambda: _choose_server_cpus(file, host)) or {}
    others = find_cpus_without_servers(file.study, cpus, host)
    password = read_password(run_id) or generate_password()
    databases = _find_databases(file, host, password, tools, problems)
    hammer = problems.attempt(lambda: tools.hammer(host.runner, others))
    hammer_version = problems.attempt(lambda: tools.hammer_version(host.runner))
    io = problems.attempt(lambda: read_io_facts(file.study, host.runner)) or {}
    exporters = see_exporters(file, tools.clock, problems)
    ask_meters(file, problems)
    agents = problems.attempt(lambda: find_placed_agents(file, tools))
    problems.refuse(str(file.path))
    assert hammer is not None  # else there was a problem, as with the next one
    assert hammer_version is not None
    providers = make_providers(file.study, logs, host, others)
    return Equipped(
        run_id=run_id,
        file=file,
        plan=expand_file(file),
        directory=directory,
        clock=tools.clock,
        host=host,
        password=password,
        server_cpus=cpus,
        databases=databases,
        hammer=hammer,
        providers=providers,
        keeper=make_keeper(directory),
        machine=_take_fingerprint(host, databases, {"hammer": hammer_version, **io}, providers),
        io_facts=io,
        exporters=exporters,
        agents=agents,
    )


def find_placed_agents(file: StudyFile, tools: Tools) -> Agents | None:
    """Find them; what is wrong with them, not with their scheduler, has its place in the study."""
    try:
        return tools.agents(file.study)
    except PreconditionError as error:
        if NOT_JOINED in error.problem or error.where.startswith("agent "):
            whole = f"{error.where}: {error.problem}"
            error = PreconditionError(whole, where="agents", remedy=error.remedy)
        if error.where != "agents":
            raise
        load, scenario = file.study.given_load, file.study.scenario
        own = ("scenario", scenario.name, scenario.keys.AGENTS_KEY)
        raise place_error(file, error, *(PLACE if load and load.agents else own)) from error


def see_exporters(file: StudyFile, clock: Clock, problems: Problems) -> dict[str, SeenExporter]:
    """Read each exporter of the study once; what is wrong has its place in the study."""
    collect, found = file.study.collect, {}
    role: Role = "database" if file.study.by_url else "other"
    for name, keys in collect.exporters.items() if collect else ():
        try:
            found[name] = see_exporter(name, keys, file.path.parent, clock, role)
        except (UserError, PreconditionError) as error:
            problems.found.append(place_error(file, error, "collect", EXPORTERS, name, error.where))
    return found


def ask_meters(file: StudyFile, problems: Problems) -> None:
    """Ask each meter of the study once that can be asked now; what is wrong has its place in it."""
    meters = file.study.power.meters if file.study.power else {}
    for name, meter in meters.items():
        try:
            meter.plugin.check(meter.keys)
        except Unreadable as reason:
            error = PreconditionError(
                f"meter {name} cannot be read: {reason}",
                where=POWER,
                remedy="see that this machine reaches it: docs/how-to/measure-power.md",
            )
            problems.found.append(place_error(file, error, POWER, "meters", name))


def _find_databases(
    file: StudyFile, host: Host, password: Secret, tools: Tools, problems: Problems
) -> dict[str, FoundDatabase]:
    found = {}
    for name in file.study.engines:
        study = file.study.select_engine(name)
        engine = tools.engine(replace(file, study=study), _make_request(study, host, password))
        installation: Installation | None = Installation(NOWHERE, "")  # whose servers run already
        if not study.by_url:
            installation = problems.attempt(engine.check)
        if installation is not None:
            found[name] = FoundDatabase(engine, installation)
    return found


def _take_fingerprint(
    host: Host,
    databases: Mapping[str, FoundDatabase],
    known: Mapping[str, str],
    providers: Mapping[str, Storage],
) -> Fingerprint:
    programs = {"stithy": stithy.__version__, **known}
    for engine, database in databases.items():
        if database.installation.version:
            programs[engine] = database.installation.version
        # Engines may have methods of one name.
        whose = f" of {engine}" if len(databases) > 1 else ""
        made_by = database.installation.backups
        programs |= {f"backup {name}{whose}": tool for name, tool in made_by.items()}
    storage = {
        f"storage of {name}": storage.describe_identity() for name, storage in providers.items()
    }
    there = {name: words for name, words in storage.items() if words is not None}
    return make_fingerprint(host.facts, {**programs, **there})


def _choose_server_cpus(file: StudyFile, host: Host) -> ServerCpus:
    emulated = any(map(is_emulated, file.study.candidates.values()))
    return {
        asked: choose_server_cpus(asked, host.cpus, emulated=emulated, where=where)
        for asked, where in _list_cpu_counts(file.study).items()
    }


def _list_cpu_counts(study: Study) -> dict[int | None, str]:
    if study.given_database is None:
        return {None: "database.cpus"}
    found: dict[int | None, str] = {
        database.cpus: "vary.database.cpus" for database in study.databases
    }
    for name, candidate in study.candidates.items():
        if candidate.cpus is not None:
            found[candidate.cpus] = f"candidates.{name}.cpus"
    return {**found, study.database.cpus: "database.cpus"}


def list_cpus_in_windows(study: Study, cpus: ServerCpus) -> set[tuple[int, ...] | None]:
    """The CPUs of each server that has others in a window; None for one that may use any."""
    if study.given_database is None:
        return {cpus.get(None)}
    return {
        cpus.get(variant.give_database(name).cpus)
        for variant in study.variants
        for name in study.candidates
    }


def find_cpus_without_servers(study: Study, cpus: ServerCpus, host: Host) -> tuple[int, ...] | None:
    """The CPUs that no server has in a window: so the driver and drives always have the same.

    None where there is no such CPU: they may use any.
    """
    found = [cpus_in_window or () for cpus_in_window in list_cpus_in_windows(study, cpus)]
    return list_other_cpus(max(found, key=len), host.cpus) if all(found) else None


def _make_request(study: Study, host: Host, password: Secret) -> Request:
    shared = make_configuration(study.database)
    return Request(
        host=host,
        configuration=shared,
        connections_max=study.connections_max,
        window_s=study.load.ramp_up_s + study.load.duration_s,
        password=password,
        own=tuple(
            (where, configuration)
            for where, configuration in _list_configurations(study)
            if configuration != shared
        ),
        backups=(*find_scenario(study).list_backups(study), *_list_restores(study)),
        programs=study.database.programs,
    )


def _list_restores(study: Study) -> Iterator[tuple[str, BackupOptions]]:
    """What copies the loaded database for restores, where its server does not keep it itself."""
    method = get_engine(study.database.engine).native_copy
    if method is not None and get_restore(study.database.restore).keeps_inside:
        yield method.name, BackupOptions()


def _list_configurations(study: Study) -> Iterator[tuple[str, Configuration]]:
    for name in study.candidates:
        yield f"candidates.{name}", make_configuration(study.give_database(name))
    known: list[Configuration] = []
    for variant in study.variants if study.vary else ():
        if variant.database.engine != study.database.engine:
            continue
        for name in study.candidates:
            given = make_configuration(variant.give_database(name))
            if given not in known:
                known.append(given)
                yield "vary", given


def make_providers(
    study: Study, logs: Path, host: Host, cpus: tuple[int, ...] | None
) -> dict[str, Storage]:
    """The provider of each candidate, with what the run offers it."""
    made: dict[str, Storage] = {}
    database = study.given_database
    for name, candidate in study.candidates.items():
        site = Site(
            runner=host.runner,
            needed_bytes=sum_needed_bytes(study),
            logs=logs.absolute(),
            seeds={role: derive_seed(study.seed, "drive", name, role) for role in ROLES},
            cpus=cpus,
            less_room=suggest_less_room(study),
            keeps_inside=database is not None and get_restore(database.restore).keeps_inside,
            sessions=study.connections_max if database else 0,
            as_found=leaves_devices_as_found(study),
            settings=study.give_database(name).settings if database else {},
            backs_up=bool(database and find_scenario(study).list_backups(study)),
        )
        sources = {
            role: (source.provider, source.spec) for role, source in candidate.sources.items()
        }
        made[name] = create_storage(sources, name, site)
    return made


def make_keeper(directory: RunDirectory) -> Storage:
    """What keeps the master copy, beside the results: on no candidate's volume."""
    return DirectoryStorage(directory.master_copy.absolute(), KEEPER)


def describe_leftovers(
    providers: Mapping[str, Storage], *, clean: bool, run_id: str | None = None
) -> Iterator[str]:
    """What dead runs but this one left on these candidates, and how to continue those runs.

    `clean`: remove it first, servers and mounts too, but no loaded database: that lies elsewhere.
    """
    for name, provider in providers.items():
        if (dead := provider.find_dead_run()) in (None, run_id):
            continue
        of, instead, found = f"the dead run {dead}", "", find_run(str(dead))
        if found is not None and RunDirectory(found.directory).journal.exists():
            of = f"the run in {found.directory}, which was cut off"
            instead = f"; to continue that run: stithy resume {found.directory}"
        if clean and found is not None:
            clean_run(found, lambda resource: resource.facts.get("candidate") == KEEPER)
        does = "they are removed" if clean else "a new run removes them"
        yield f"candidate {name} holds files of {of}: {does}{instead}"


def make_fingerprint(machine: Mapping[str, Fact], programs: Mapping[str, str]) -> dict[str, Scalar]:
    """The fingerprint of this machine with these versions of programs."""
    found: dict[str, Scalar] = {}
    for name, word in FACTS.items():
        value = machine[name].value if name in machine else None
        found[word] = value if isinstance(value, str | int | float) else None
    return {**found, **programs}


def describe_changes(before: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """What is not as it was, each in words: `kernel: 6.1.0 before, 6.2.0 now`."""
    pairs = {name: (before.get(name), now.get(name)) for name in dict.fromkeys([*before, *now])}
    return tuple(
        f"{name}: {_format_fact(name, old)} before, {_format_fact(name, new)} now"
        for name, (old, new) in pairs.items()
        if not (is_same_memory(old, new) if name == MEMORY else old == new)
    )


def _format_fact(name: str, value: Scalar) -> str:
    if value is None:
        return "not known"
    return format_size(value) if name == MEMORY and isinstance(value, int) else str(value)


HASH_DIGITS = 16


def read_io_facts(study: Study, runner: Runner) -> dict[str, str]:
    """`fio` with its version, how each pattern is submitted, and `profile.mine.toml` with a hash.

    Empty without windows of fio. A fio that is missing or does not start is another check's to
    tell; it has no version here. Raises PreconditionError where an engine does not work.
    """
    runs = _list_profiles(study)
    if not runs:
        return {}
    try:
        found = program.find(runner)
    except StithyError:
        facts = {}
    else:
        facts = {"fio": found.version, **_describe_submissions(study, runner, found)}
    for name in dict.fromkeys(name for run in runs for name in run):
        if files := library.own_files(name):
            facts[f"{PROFILE}{files[0]}"] = _hash(files, library.find(name))
    return facts


def _describe_submissions(
    study: Study, runner: Runner, found: program.FioProgram
) -> dict[str, str]:
    usual, texts = program.find_async_engine(runner, found), dict[str, dict[str, None]]()
    patterns = list(_list_patterns(study))
    streams = (stream for _, pattern in patterns for stream in pattern.streams)
    for engine in dict.fromkeys(choose_engine(stream, usual) for stream in streams):
        program.need_engine(runner, found, engine)
    for label, pattern in patterns:
        texts.setdefault(label, {})[describe_submission(pattern, usual)] = None
    return {f"{SUBMISSION}{label}": " or ".join(text) for label, text in texts.items()}


def describe_profile_tables(study: Study) -> Iterator[str]:
    """How requests are submitted, and what becomes of the words of other tools' files."""
    lines = dict.fromkeys(
        f"{label}, {stream.name}: {stream.submission} by {stream.engine or 'the usual engine'}, "
        f"jobs {stream.jobs}, iodepth {stream.iodepth}"
        for label, pattern in _list_patterns(study)
        for stream in pattern.streams
    )
    if lines:
        yield "\n  ".join(["How requests are submitted:", *lines])
    for file, words in describe_profiles(study).items():
        yield "\n  ".join([f"What becomes of the words of {file}:", *words])


def describe_profiles(study: Study) -> dict[str, tuple[str, ...]]:
    """What becomes of the words of other tools' files, a line for each kind of word."""
    by_file = {library.own_files(name): name for run in _list_profiles(study) for name in run}
    known = {files: library.find(name).words for files, name in by_file.items()}
    return {str(files[0]): words for files, words in known.items() if words}


def _list_profiles(study: Study) -> list[Mapping[str, IoProfile]]:
    every = (variant.scenario.keys.list_profiles() for variant in study.variants)
    return [profiles for profiles in every if profiles]


def _list_patterns(study: Study) -> Iterator[tuple[str, Pattern]]:
    for run in _list_profiles(study):
        for name, profile in run.items():
            for pattern in profile.patterns:
                yield name if len(profile.patterns) == 1 else f"{name}/{pattern.name}", pattern


def _hash(files: Iterable[Path], profile: IoProfile) -> str:
    """Hexadecimal digits of what they hold, and of what variables and other files make of it."""
    whole = hashlib.sha256(profile.model_dump_json(exclude={"words"}).encode())
    for each in files:
        with each.open("rb") as file:
            hashlib.file_digest(file, lambda: whole)
    return whole.hexdigest()[:HASH_DIGITS]
