"""From a study file to a run that can begin: read, plan, check, make the run directory.

Nothing is made before everything that can be checked was checked.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from stithy.clock import Clock, SystemClock
from stithy.database.engine import Engine, Request
from stithy.errors import PreconditionError, StithyError
from stithy.hosts.cpus import server_cpus
from stithy.hosts.processes import RUN_VARIABLE
from stithy.hosts.runner import LocalRunner, Runner
from stithy.hosts.users import ServerUser, server_user
from stithy.plan.expand import expand, needed_bytes
from stithy.plan.ids import derive_seed
from stithy.registry import plugins
from stithy.results.files import write_durably
from stithy.results.layout import RunDirectory
from stithy.run.clean import clean_run, find_run
from stithy.run.context import Context, State
from stithy.run.events import Observer
from stithy.run.journal import Journal
from stithy.run.log import logging
from stithy.run.preflight import check_candidates, check_directory
from stithy.run.register import Register
from stithy.run.scratch import make_scratch
from stithy.run.stop import Stop
from stithy.secrets import Secret, generate_password
from stithy.storage.provider import ROLES, Provider, Site
from stithy.study.load import StudyFile, read_study
from stithy.study.sections import is_emulated
from stithy.workload.hammer import Hammer, Program


def native_hammer(runner: Runner) -> Callable[[Secret], Program]:
    """The native hammer, found now: a machine without it is told so before anything starts."""
    from stithy.wire.find import HAMMER, find_program

    program = find_program(HAMMER)
    return lambda url: Hammer(runner, url, program)


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
    hammer: Callable[[Runner], Callable[[Secret], Program]] = native_hammer
    engine: Callable[[StudyFile, Request], Engine] = engine_of
    user: Callable[[], ServerUser | None] = server_user


def start_run(
    study: Path, out: Path | None, stop: Stop, tell: Observer, tools: Tools | None = None
) -> Context:
    """Everything checked, the run directory made, the run registered; the steps can begin.

    Raises StudyError, UserError or PreconditionError, and has made nothing then.
    """
    tools = tools or Tools()
    file = read_study(study)
    plan = expand(file.study)
    run_id = secrets.token_hex(6)
    runner, user, clock = tools.runner(run_id), tools.user(), tools.clock
    cpus = _server_cpus(file)
    engine = tools.engine(file, _request(file, runner, user, cpus))
    installation = engine.check()
    hammer = tools.hammer(runner)
    directory = RunDirectory(out or default_directory(study, clock.now_s()))
    providers = _providers(file, directory, runner)
    _clean_leftovers(providers)
    check_candidates(file.study, plan, providers, runner, user)
    check_directory(directory.root, providers)
    register, journal, scratch = _enter(run_id, directory, file, clock, user)
    return Context(
        run_id=run_id,
        file=file,
        server_cpus=cpus,
        plan=plan,
        workload=plugins("workload")[file.study.workload.name].WORKLOAD,
        directory=directory,
        journal=journal,
        register=register,
        clock=clock,
        runner=runner,
        engine=engine,
        installation=installation,
        hammer=hammer,
        providers=providers,
        user=user,
        scratch=scratch,
        stop=stop,
        tell=logging(directory.log, clock, tell),
        state=State(),
    )


def default_directory(study: Path, now_s: float) -> Path:
    """`runs/<name of the study>-<UTC time>` in the current directory."""
    at = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{study.stem}-{at}"


def _server_cpus(file: StudyFile) -> tuple[int, ...] | None:
    emulated = any(map(is_emulated, file.study.candidates.values()))
    return server_cpus(file.study.database.cpus, emulated=emulated)


def _request(
    file: StudyFile, runner: Runner, user: ServerUser | None, cpus: tuple[int, ...] | None
) -> Request:
    database = file.study.database
    return Request(
        runner=runner,
        settings=database.settings,
        memory_bytes=database.memory_bytes,
        connections_max=file.study.load.connections_max,
        user=user,
        password=generate_password(),
        cpus=cpus,
    )


def _providers(file: StudyFile, directory: RunDirectory, runner: Runner) -> dict[str, Provider]:
    """The provider of each candidate, with what the run offers it."""
    made: dict[str, Provider] = {}
    for name, candidate in file.study.candidates.items():
        site = Site(
            runner=runner,
            needed_bytes=needed_bytes(file.study, name),
            logs=directory.drives.absolute(),
            seeds={role: derive_seed(file.study.seed, "drive", name, role) for role in ROLES},
        )
        made[name] = plugins("provider")[candidate.provider].create(candidate.spec, name, site)
    return made


def _clean_leftovers(providers: dict[str, Provider]) -> None:
    """What dead runs left on these candidates is unmade first, servers and mounts included."""
    for provider in providers.values():
        if (run_id := provider.left_by()) and (found := find_run(run_id)):
            clean_run(found)


def _enter(
    run_id: str, directory: RunDirectory, file: StudyFile, clock: Clock, user: ServerUser | None
) -> tuple[Register, Journal, Path]:
    """Register the run, make its directory and its scratch directory, in that order."""
    register = Register(run_id, directory.root.resolve(), clock)
    try:
        directory.root.mkdir(parents=True, exist_ok=True)
        journal = Journal(directory.journal, clock)
        journal.write("run-started", run_id=run_id, study=str(file.path))
        write_durably(directory.study, file.content)

        def record(kind: str, facts: dict[str, str]) -> None:
            journal.write("making", kind=kind, facts=facts)
            register.making(kind, facts)

        return register, journal, make_scratch(record, user)
    except OSError as error:
        register.close(remove=True)
        raise PreconditionError(
            f"the run directory cannot be made: {error.strerror}",
            where=str(directory.root),
            remedy="name another directory with --out",
        ) from error
    except StithyError:
        register.close(remove=True)
        raise
