"""A new study for this machine: what it offers, as far as it fits into free memory and space.

The database is as large as fits too. All that a run checks before it starts is checked here, and
nothing is made.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.checks.room import memory_of
from stithy.hosts.runner import LocalRunner
from stithy.hosts.users import server_user
from stithy.needs import Judgement, Machine
from stithy.plan.expand import expand, needed_bytes
from stithy.plan.steps import Plan
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.run.before.doctor import engine_here
from stithy.run.before.equip import keeper_in
from stithy.run.before.offers import (
    directory,
    drive,
    offered_drives,
    offered_memory,
    offered_places,
)
from stithy.run.before.preflight import check_candidates, check_room
from stithy.run.context import KEEPER
from stithy.storage.provider import ROLES, Provider, Room, Site
from stithy.study.load import parse_study
from stithy.study.model import Study
from stithy.study.template import Draft, Option, study_text
from stithy.units import format_size

MIB = 2**20
WORKLOAD = "order-entry"
WAREHOUSES = (20, 10, 5, 2, 1)
"""Larger ones take minutes to load and to restore before each window; whoever wants one says so."""

SHORT_WAREHOUSES_MAX = 5
DATA_PER_MEMORY = 3
"""The database is so many times what the server may keep in memory, so that storage is read."""

MEMORY_BYTES_MIN = 256 * MIB
MEMORY_STEP_BYTES = 64 * MIB
FREE_SHARE = 0.5
"""Of what is free: the rest is other people's."""

PLACES_MAX = 4
USERS_MAX = 256
QUESTION = "Which of these storages serves the users of this database best?"
ALONE = "What does this storage give the users of this database?"


@dataclass(frozen=True)
class Wishes:
    """What the person asks for; empty or None: whatever fits. `short`: minutes, not an hour."""

    paths: tuple[Path, ...] = ()
    drives: tuple[str, ...] = ()
    engine: str | None = None
    warehouses: int | None = None
    short: bool = False


@dataclass(frozen=True)
class Drafted:
    """A new study: its text, what it reads back as, and its plan."""

    text: str
    study: Study
    plan: Plan


Check = Callable[[Study, Plan], None]
"""Raises PreconditionError where a study could not run here."""


def draft(
    machine: Machine,
    wishes: Wishes,
    *,
    ask_engine: Callable[[str], Judgement] | None = None,
    check: Check | None = None,
) -> Drafted:
    """The largest study that fits. Raises PreconditionError where none does, or there is no engine.

    UserError for a wish that no study can have.
    """
    engine = choose_engine(wishes.engine, ask_engine or engine_here)
    checked = check or (lambda study, plan: check_here(machine, study, plan))
    problem: PreconditionError | None = None
    for number, begun in enumerate(_drafts(machine, wishes, engine)):
        for warehouses in _warehouses(wishes):
            drafted = _finished(_sized(begun, warehouses))
            try:
                checked(drafted.study, drafted.plan)
            except PreconditionError as error:
                # Of what is compared for want of more room nobody asked to hear.
                problem = error if number == 0 else problem
            else:
                return drafted
    raise problem or PreconditionError(
        "no file system has a directory that this user may use, and drives cannot be emulated",
        where="this machine",
        remedy="name a directory with --path; `stithy doctor` tells what drives lack",
    )


def choose_engine(wish: str | None, ask: Callable[[str], Judgement]) -> str:
    """The engine asked for, else the first that is here; PreconditionError where it is not."""
    names = list(plugins("engine")) if wish is None else [wish]
    judged = {name: ask(name) for name in names}
    for name, each in judged.items():
        if each.state == "there":
            return name
    raise PreconditionError(
        "; ".join(f"{name}: {each.found}" for name, each in judged.items()),
        where="database engine",
        remedy="; ".join(each.remedy for each in judged.values() if each.remedy),
    )


def check_here(machine: Machine, study: Study, plan: Plan) -> None:
    """All that a run checks of its candidates; and that half of what is free stays so."""
    runner, user = LocalRunner(), server_user()
    providers = {name: _provider(study, name) for name in study.candidates}
    keeper = keeper_in(RunDirectory(Path("runs")))
    check_candidates(study, plan, providers, keeper, runner, user)
    places = {**providers, KEEPER: keeper}
    rooms = {name: [_spared(room) for room in each.rooms()] for name, each in places.items()}
    available = round((memory_of(machine, "MemAvailable") or 0) * FREE_SHARE)
    check_room(study, plan, rooms, available)
    if study.database.memory_bytes > available:
        raise PreconditionError(
            f"a server of {format_size(study.database.memory_bytes)} is more than half of the "
            "memory that is free",
            where="memory",
            remedy="free memory, or use fewer warehouses",
        )


def _spared(room: Room) -> Room:
    free = room.free_bytes
    return room if free is None else replace(room, free_bytes=round(free * FREE_SHARE))


def _provider(study: Study, name: str) -> Provider:
    candidate = study.candidates[name]
    site = Site(
        runner=LocalRunner(),
        needed_bytes=needed_bytes(study),
        logs=Path("logs"),
        seeds=dict.fromkeys(ROLES, 0),
    )
    module = plugins("provider")[candidate.provider]
    provider: Provider = module.create(candidate.spec, name, site)
    return provider


def _drafts(machine: Machine, wishes: Wishes, engine: str) -> Iterator[Draft]:
    """Studies without a size, the one with the most to compare first."""
    places, memory = offered_places(machine), offered_memory(machine)
    drives = offered_drives(machine)
    offers = [*places, *memory, *drives]
    for chosen in _choices(wishes, places, memory, drives):
        if chosen:
            lines = [each.lines for each in chosen]
            others = tuple(each for each in offers if each.lines not in lines)
            yield _begun(machine, wishes, engine, tuple(chosen), others)


def _choices(
    wishes: Wishes, places: Sequence[Option], memory: Sequence[Option], drives: Sequence[Option]
) -> Iterator[Sequence[Option]]:
    """What is asked for; else all places, and where there is but one, something beside it."""
    if wishes.paths or wishes.drives:
        yield _wished(wishes)
        return
    if len(places) > 1:
        yield places[:PLACES_MAX]
        yield places[:2]
    for beside in (drives[:1], memory[:1]):
        if beside:
            yield [*places[:1], *beside]
    yield drives[:2]
    yield places[:1]
    yield memory[:1]


def _wished(wishes: Wishes) -> list[Option]:
    found: list[Option] = []
    for path in wishes.paths:
        found.append(directory(path, [each.name for each in found]))
    for profile in wishes.drives:
        found.append(drive(profile, [each.name for each in found]))
    return found


def _begun(
    machine: Machine,
    wishes: Wishes,
    engine: str,
    candidates: tuple[Option, ...],
    others: tuple[Option, ...],
) -> Draft:
    """A draft with everything but the size of its database."""
    return Draft(
        head=_head(machine),
        question=QUESTION if len(candidates) > 1 else ALONE,
        candidates=candidates,
        others=others,
        engine=engine,
        memory_bytes=MEMORY_BYTES_MIN,
        workload=WORKLOAD,
        warehouses=1,
        users=_users(machine, wishes, emulated=any("drive" in each.lines for each in candidates)),
        ramp_up_s=5.0 if wishes.short else 30.0,
        duration_s=15.0 if wishes.short else 60.0,
    )


def _users(machine: Machine, wishes: Wishes, *, emulated: bool) -> tuple[int, ...]:
    """Levels by the number of CPUs; fewer users where drives take their share of those."""
    cpus = machine.fact("cpus").value
    most = (cpus if isinstance(cpus, int) else 1) * (2 if emulated else 4)
    ladder = (1, most // 2) if wishes.short else (1, most // 2, most)
    return tuple(dict.fromkeys(min(each, USERS_MAX) for each in ladder))


def _head(machine: Machine) -> tuple[str, ...]:
    facts: Mapping[str, object] = {
        name: machine.fact(name).value for name in ("cpus", "distribution")
    }
    memory = memory_of(machine, "MemTotal")
    size = f", {format_size(memory)} of memory" if memory else ""
    return (
        f"A study for this machine ({facts['cpus']} CPUs{size}, {facts['distribution']}),",
        "written by `stithy new`. It can be run as it stands: `stithy plan` shows what it does and",
        "how long that takes, `stithy run` does it. Change what you like: `stithy plan` tells of",
        "every mistake. What stands behind a # is for people only.",
    )


def _warehouses(wishes: Wishes) -> Sequence[int]:
    """Sizes to try, the largest first."""
    if wishes.warehouses is not None:
        return (wishes.warehouses,)
    most = SHORT_WAREHOUSES_MAX if wishes.short else max(WAREHOUSES)
    return [each for each in WAREHOUSES if each <= most]


def _sized(begun: Draft, warehouses: int) -> Draft:
    workload = plugins("workload")[begun.workload].WORKLOAD
    data = workload.bytes_fixed + warehouses * workload.bytes_per_warehouse
    memory = data // DATA_PER_MEMORY // MEMORY_STEP_BYTES * MEMORY_STEP_BYTES
    return replace(begun, warehouses=warehouses, memory_bytes=max(MEMORY_BYTES_MIN, memory))


def _finished(sized: Draft) -> Drafted:
    text = study_text(sized)
    study = parse_study("the new study", text.encode())
    return Drafted(text, study, expand(study))
