"""A new study for this machine: what it offers, as far as it fits into free memory and space.

An offer is a candidate that could be: a directory with room, or a drive that it can emulate. The
database is as large as fits, too. All that a run checks before it starts is checked here, and
nothing is made.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stithy.engines.engine import DEMO_ENGINE, Engine
from stithy.errors import PreconditionError, UserError
from stithy.hosts.checks import read_memory
from stithy.hosts.host import Host
from stithy.names import find_free
from stithy.needs import Judgement, Machine
from stithy.plan.cost import sum_s
from stithy.plan.expand import expand
from stithy.plan.steps import Plan
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.run.doctor import judge_engine
from stithy.run.equip import make_keeper, make_providers
from stithy.run.forecast import Forecast, correct_plan, read_factors
from stithy.run.preflight import check_candidates, describe_shared_devices
from stithy.run.room import check_room
from stithy.run.volumes import KEEPER
from stithy.storage.provider import Provider
from stithy.storage.volume import OpenPlace
from stithy.study.keys import Draft, Option, write_study_text
from stithy.study.load import parse_study
from stithy.study.model import Study, name_candidate
from stithy.study.primary import MARGIN_PERCENT
from stithy.study.scenario import Scenario
from stithy.study.sections import USUAL, get_workload, list_sections
from stithy.units import format_size
from stithy.workloads.workload import Size, Workload, get_default_workload

MIB = 2**20
DATA_BYTES_MOST = 2400 * MIB
"""Larger ones take minutes to load and to restore before each window; whoever wants one says so."""

SHORT_DATA_BYTES_MOST = 750 * MIB
SIZES = 5
"""So many are tried, each half of the one before."""

DATA_PER_MEMORY = 3
"""The database is so many times what the server may keep in memory, so that storage is read."""

MEMORY_BYTES_MIN = 256 * MIB
MEMORY_STEP_BYTES = 64 * MIB
FREE_SHARE = 0.5
"""Of what is free: the rest is other people's."""

PLACES_MAX = 4
USERS_MAX = 256

EFFORTS = ((30.0, 60.0, 12), (20.0, 45.0, 10), (5.0, 15.0, 12), (5.0, 15.0, 6))
"""Ramp-up and duration of a window in seconds, and blocks at most: the first that ends in time."""

EFFORTS_SHORT = EFFORTS[-2:]
TIME_S_MAX = 3600.0
"""What a new study may take if it stays undecided, as far as its smallest can."""

QUESTION = "Which of these storages serves the users of this database best?"
ALONE = "What does this storage give the users of this database?"
WITHOUT_USERS = "Which of these storages is the fastest?"
ALONE_WITHOUT_USERS = "How fast is this storage?"


@dataclass(frozen=True)
class Wishes:
    """What the person asks for; empty or None: whatever fits. `short`: minutes, not an hour.

    `size`: that of the database, as its workload counts it. Names are those of plug-ins.
    """

    paths: tuple[Path, ...] = ()
    drives: tuple[str, ...] = ()
    engine: str | None = None
    size: str | None = None
    short: bool = False
    workload: str | None = None
    scenario: str = USUAL

    def refuse_misfits(self) -> None:
        """Refuse what the scenario has no use for. Raises UserError."""
        sections = list_sections(self.scenario)
        for option, wish, section in (
            ("--engine", self.engine, "database"),
            ("--workload", self.workload, "workload"),
            ("--size", self.size, "workload"),
        ):
            if wish is not None and section not in sections:
                what = f"the scenario {self.scenario} has no {section}"
                raise UserError(what, where=option, remedy="leave this option out")


@dataclass(frozen=True)
class Drafted:
    """A new study: its text, what it reads back as, and its plan."""

    text: str
    study: Study
    plan: Plan


ChooseMargin = Callable[[Drafted], float]
"""The margin in per cent with which equal candidates are likely to be called equivalent."""

Check = Callable[[Study, Plan], None]
"""Raises PreconditionError where a study could not run here."""


def draft(
    host: Host,
    wishes: Wishes,
    *,
    ask_engine: Callable[[str], Judgement] | None = None,
    check: Check | None = None,
    choose_margin: ChooseMargin = lambda _: MARGIN_PERCENT,
) -> Drafted:
    """The largest study that fits, and ends in time if one does.

    Raises PreconditionError where none fits, or there is no engine; UserError for a wish that no
    study can have.
    """
    wishes.refuse_misfits()
    asked = ask_engine or partial(judge_engine, host)
    has_database = "database" in list_sections(wishes.scenario)
    engine = choose_engine(wishes.engine, asked) if has_database else None
    checked = check or (lambda study, plan: check_here(host, study, plan))
    problem: PreconditionError | None = None
    largest: Drafted | None = None
    for number, begun in enumerate(_list_drafts(host, wishes, engine)):
        workload = get_workload(begun.workload)
        for size in _list_sizes(wishes, workload) if has_database else (begun.size,):
            data = workload.data_bytes(size)
            memory = data // DATA_PER_MEMORY // MEMORY_STEP_BYTES * MEMORY_STEP_BYTES
            sized = replace(begun, size=size, memory_bytes=max(MEMORY_BYTES_MIN, memory))
            drafted = _fit_effort(sized, wishes, choose_margin)
            try:
                checked(drafted.study, drafted.plan)
            except PreconditionError as error:
                # Of what is compared for want of more room nobody asked to hear.
                problem = error if number == 0 else problem
            else:
                largest = drafted
                if sum_s(drafted.plan.steps)[0] <= TIME_S_MAX:
                    return drafted
        if largest is not None:
            return largest
    raise problem or PreconditionError(
        "no file system has a directory that this user may use, and drives cannot be emulated",
        where=host.name,
        remedy="name a directory with --path; `stithy doctor` lists what drives lack",
    )


def choose_engine(wish: str | None, ask: Callable[[str], Judgement]) -> str:
    """Choose the engine asked for, else that of the demo or another that is here.

    Raises PreconditionError where there is none.
    """
    engines = plugins(Engine)
    if wish is not None and (because := engines[wish].no_server):
        raise PreconditionError(
            f"{wish} is measured by URL only: {because}",
            where="database engine",
            remedy="write the study as docs/how-to/compare-databases-by-url.md shows",
        )
    startable = [name for name, engine in engines.items() if not engine.no_server]
    names = dict.fromkeys([DEMO_ENGINE, *startable]) if wish is None else [wish]
    judged = {name: ask(name) for name in names}
    for name, judgement in judged.items():
        if judgement.state == "there":
            return name
    raise PreconditionError(
        "; ".join(f"{name}: {judgement.found}" for name, judgement in judged.items()),
        where="database engine",
        remedy="; ".join(judgement.remedy for judgement in judged.values() if judgement.remedy),
    )


def check_here(host: Host, study: Study, plan: Plan) -> None:
    """What its scenario needs, all that a run checks of its candidates; half of all stays free."""
    name = study.scenario.name
    needs = plugins(Scenario)[name].needs
    judged = [need.judge(host) for need in needs if not need.optional]
    for judgement in judged:
        if judgement.state == "missing":
            remedy = judgement.remedy or "see what is missing with `stithy doctor`"
            problem = f"{judgement.what}: {judgement.found}"
            raise PreconditionError(problem, where=f"scenario {name}", remedy=remedy)
    providers = make_providers(study, Path("logs"), host, None)
    keeper = make_keeper(RunDirectory(Path("runs")))
    check_candidates(study, plan, providers, keeper, host)
    places = {**providers, KEEPER: keeper}
    rooms = {
        name: [
            replace(room, free_bytes=room.free_bytes and round(room.free_bytes * FREE_SHARE))
            for room in storage.list_rooms()
        ]
        for name, storage in places.items()
    }
    available = round((read_memory(host, "MemAvailable") or 0) * FREE_SHARE)
    check_room(study, plan, rooms, available)
    database = study.given_database
    if database is not None and database.memory_bytes > available:
        raise PreconditionError(
            f"a server of {format_size(database.memory_bytes)} is more than half of the "
            "memory that is free",
            where="memory",
            remedy="free memory, or use a smaller database",
        )


def _list_drafts(machine: Machine, wishes: Wishes, engine: str | None) -> Iterator[Draft]:
    """Studies without a size, the one with the most to compare first."""
    places, drives = offer_places(machine), offer_drives(machine)
    in_memory = (place for place in machine.places() if place.memory_backed)
    memory = _name_option((place, _place_note(place)) for place in in_memory)
    if plugins(Scenario)[wishes.scenario].needs_drives:
        places, memory = [], []
    offers = [*places, *memory, *drives]
    for chosen in _list_choices(wishes, places, memory, drives):
        moves = plugins(Scenario)[wishes.scenario].moves
        if moves and len(chosen) > 1:  # the second is the target of the first
            first, second = chosen[:2]
            note = f"{first.note}; {second.note}"
            chosen = [replace(first, note=note, target=second.lines)]
        elif moves:
            continue
        if chosen:
            lines = [option.lines for option in (offers if moves else chosen)]
            others = tuple(offer for offer in offers if offer.lines not in lines)
            yield _begin_draft(machine, wishes, engine, tuple(chosen), others)


def _list_choices(
    wishes: Wishes, places: Sequence[Option], memory: Sequence[Option], drives: Sequence[Option]
) -> Iterator[Sequence[Option]]:
    """What is asked for; else all places, and where there is but one, something beside it."""
    if wishes.paths or wishes.drives:
        found: list[Option] = []
        for path in wishes.paths:
            found.append(offer_directory(path, [option.name for option in found]))
        for profile in wishes.drives:
            found.append(offer_drive(profile, [option.name for option in found]))
        yield found
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


def _begin_draft(
    machine: Machine,
    wishes: Wishes,
    engine: str | None,
    candidates: tuple[Option, ...],
    others: tuple[Option, ...],
) -> Draft:
    workload = wishes.workload or get_default_workload().name
    several, alone = (QUESTION, ALONE) if engine else (WITHOUT_USERS, ALONE_WITHOUT_USERS)
    # Levels by the number of CPUs; fewer users where drives take their share of those.
    emulated = any("drive" in candidate.lines for candidate in candidates)
    cpus = machine.facts["cpus"].value
    most = (cpus if isinstance(cpus, int) else 1) * (2 if emulated else 4)
    ladder = (1, most // 2) if wishes.short else (1, most // 2, most)
    return Draft(
        head=_write_head(machine),
        question=several if len(candidates) > 1 else alone,
        candidates=candidates,
        others=others,
        engine=engine,
        memory_bytes=MEMORY_BYTES_MIN,
        workload=workload,
        size=get_workload(workload).fit_size(1),
        levels=tuple(dict.fromkeys(min(users, USERS_MAX) for users in ladder)),
        scenario=wishes.scenario,
    )


def _write_head(machine: Machine) -> tuple[str, ...]:
    facts: Mapping[str, object] = {
        name: machine.facts[name].value for name in ("cpus", "distribution")
    }
    memory = read_memory(machine, "MemTotal")
    size = f", {format_size(memory)} of memory" if memory else ""
    return (
        f"A study for this machine ({facts['cpus']} CPUs{size}, {facts['distribution']}),",
        "written by `stithy new`. It is ready to run: `stithy plan` shows what it does and how",
        "long that takes, and `stithy run` runs it. Change what you like: `stithy plan` reports",
        "every mistake. Text after a # is a comment.",
    )


def _list_sizes(wishes: Wishes, workload: Workload) -> Sequence[Size]:
    if wishes.size is not None:
        return (workload.parse_size(wishes.size),)
    most_bytes = SHORT_DATA_BYTES_MOST if wishes.short else DATA_BYTES_MOST
    most = max(1, (most_bytes - workload.bytes_fixed) // workload.bytes_per_unit)
    sizes = (workload.fit_size(max(1, most >> halved)) for halved in range(SIZES))
    return list({tuple(size.items()): size for size in sizes}.values())


def _fit_effort(sized: Draft, wishes: Wishes, choose_margin: ChooseMargin) -> Drafted:
    """The study with the largest effort that ends in time; the smallest first: it may not."""
    efforts = EFFORTS_SHORT if wishes.short else EFFORTS
    for ramp_up_s, duration_s, blocks in (efforts[-1], *efforts):
        timed = replace(sized, ramp_up_s=ramp_up_s, duration_s=duration_s, blocks=blocks)
        drafted = _finish_draft(timed)
        ends_in_time = sum_s(drafted.plan.steps)[0] <= TIME_S_MAX
        if ends_in_time == (blocks > efforts[-1][2]):
            break
    return _finish_draft(replace(timed, margin_percent=choose_margin(drafted)))


def _finish_draft(sized: Draft) -> Drafted:
    text = write_study_text(sized)
    study = parse_study("the new study", text.encode())
    return Drafted(text, study, correct_plan(expand(study), Forecast(read_factors())))


def describe_cautions(host: Host, study: Study) -> tuple[str, ...]:
    """Say which candidates lie on one device, a sentence each."""
    providers = make_providers(study, Path("logs"), host, None)
    return tuple(describe_shared_devices(providers))


DRIVES = {
    "generic-nvme": "an NVMe drive for servers",
    "generic-sata": "a SATA SSD for servers",
    "generic-7200": "a disk of 7,200 rpm",
}
"""Shipped profiles of the kinds that most people choose between, and what they are."""


def offer_places(machine: Machine) -> list[Option]:
    """Directories on which a candidate could stand, most room first, none of them memory."""
    return _name_option(
        (place, _place_note(place)) for place in machine.places() if not place.memory_backed
    )


def offer_drives(machine: Machine) -> list[Option]:
    """Emulated drives, as far as the machine has what they need."""
    needs = plugins(Provider)["drive"].needs
    if any(need.judge(machine).state == "missing" for need in needs if not need.optional):
        return []
    return [offer_drive(profile, note=f"emulated: {title}") for profile, title in DRIVES.items()]


def offer_drive(
    profile: str, taken: Collection[str] = (), note: str = "an emulated drive"
) -> Option:
    """The offer of a drive profile: a shipped one's name, or a file."""
    name = find_free(name_candidate(Path(profile).name.removesuffix(".toml")), taken)
    return Option(name, {"drive": profile}, note)


def offer_directory(path: Path, taken: Collection[str] = ()) -> Option:
    """The offer of a directory that a person names."""
    name = find_free(name_candidate(path.name), taken)
    return Option(name, {"path": str(path.absolute())}, "a directory")


def _name_option(places: Iterable[tuple[OpenPlace, str]]) -> list[Option]:
    found: list[Option] = []
    for place, note in places:
        taken = [filesystem.name for filesystem in found]
        name = find_free(_place_name(place), taken)
        found.append(Option(name, {"path": str(place.path)}, note))
    return found


def _place_name(place: OpenPlace) -> str:
    if place.memory_backed:
        return "memory"
    if place.mount_point == Path("/"):
        return "system"
    return name_candidate("-".join(place.mount_point.parts[1:]))


def _place_note(place: OpenPlace) -> str:
    free = format_size(place.free_bytes)
    if place.memory_backed:
        return f"{place.filesystem}: its pages are memory, {free} at most"
    on = f" on {', '.join(place.devices)}" if place.devices else ""
    return f"{place.filesystem}{on}, {free} free"
