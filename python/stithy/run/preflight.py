"""All that can be known to fail is found before anything is started, made or measured.

`stithy plan` and `stithy run` make the same checks, by `check_machine`.
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from shlex import quote

from stithy.activity import DeclaredActivity
from stithy.drives.profiles import list_assumed_numbers, read_profile_text
from stithy.engines.engine import declaration
from stithy.errors import PreconditionError, Problems, TextError, UserError
from stithy.exporters.seen import describe_doubts
from stithy.fio.load import ALIGNED_BYTES
from stithy.hosts import links
from stithy.hosts.checks import FLOOR_S, judge_load, read_memory
from stithy.hosts.devices import find_shared
from stithy.hosts.host import Host
from stithy.hosts.runner import Command
from stithy.names import suggest_instead
from stithy.needs import Machine
from stithy.plan import sensitivity
from stithy.plan.answerable import find_doubtful, find_unanswerable, find_unlikely
from stithy.plan.expand import expand_file, find_data_bytes
from stithy.plan.remote import describe_networks, describe_remote
from stithy.plan.scenario import find_scenario
from stithy.plan.sensitivity import list_profiles
from stithy.plan.steps import Plan
from stithy.registry import plugins
from stithy.results.drives import PLURALS, estimate_tolerance_s
from stithy.results.layout import RunDirectory
from stithy.run.activity import Activity, StepKind
from stithy.run.agents import find_other_activities
from stithy.run.equip import (
    Equipped,
    Tools,
    describe_leftovers,
    equip,
    find_cpus_without_servers,
    list_cpus_in_windows,
    make_keeper,
    make_providers,
)
from stithy.run.forecast import read_added_s, read_rates
from stithy.run.room import check_room
from stithy.run.volumes import KEEPER
from stithy.storage.provider import MIB, Storage
from stithy.storage.volume import find_existing_part
from stithy.study.candidates import is_emulated
from stithy.study.document import read_document
from stithy.study.load import StudyFile, place_key
from stithy.study.model import Study
from stithy.study.network import KEY, list_networks
from stithy.units import format_duration, format_size, parse_size


@dataclass(frozen=True)
class Preflight:
    """What all checks found: `problems` prevent the run, `warnings` change what it shows.

    `equipped` is None where the study's programs or settings are among the problems.
    """

    equipped: Equipped | None
    problems: Problems
    warnings: tuple[str, ...]


def check_machine(
    file: StudyFile, directory: RunDirectory, run_id: str, tools: Tools, *, clean: bool
) -> Preflight:
    """Every check of this machine before a run, each made whatever the others find.

    `clean`: remove first what dead runs left on the candidates, as a run does; without it nothing
    is changed. Raises UserError where the scenario names plug-ins that are not there.
    """
    plan = expand_file(file)
    _require_plugins(file.study.scenario.name, plan)
    problems = Problems()
    warnings: list[str] = []
    equipped = problems.attempt(lambda: equip(file, directory, run_id, directory.drives, tools))
    host = equipped.host if equipped else tools.host(run_id)
    providers = (
        equipped.providers if equipped else make_providers(file.study, directory.drives, host, None)
    )
    if equipped or not clean:
        warnings += describe_leftovers(providers, clean=clean)
    usable = _find_usable(problems, file.study, providers, host)
    keeper = make_keeper(directory)
    problems.attempt(lambda: _check_together(file.study, plan, providers, usable, keeper, host))
    problems.attempt(lambda: check_memory(file.study, host))
    problems.attempt(lambda: check_needs(file.study, host))
    problems.attempt(lambda: check_directory(directory.root, usable))
    asked = (file.study, plan.question, read_rates())
    problems.found += (*find_unanswerable(*asked), *find_other_activities(file.study, plan))
    problems.found[:] = [place_key(file, each) for each in problems.found]
    warnings += find_doubtful(*asked)
    warnings += (
        f"the primary question may stay without an answer: {place_key(file, error)}"
        for error in find_unlikely(*asked)
    )
    warnings += [caution for provider in usable.values() for caution in provider.list_cautions()]
    warnings += () if plan.null else describe_shared_devices(usable)
    warnings += describe_undelivered(
        {key: s for storage in usable.values() for key, s in storage.list_profile_times_s().items()}
    )
    if equipped:
        warnings += [*_describe_cpus(equipped), *_describe_versions(equipped)]
        window_s = file.study.load.duration_s if file.study.given_load else math.inf
        for name, seen in equipped.exporters.items():
            warnings += describe_doubts(name, seen, window_s)
    warnings += find_scenario(file.study).describe_settings(file.study)
    warnings += [*describe_remote(file.study), *describe_networks(file.study)]
    warnings += describe_rounding(read_document("study", file.content.decode("utf-8-sig")).data)
    return Preflight(equipped, problems, (*warnings, *list_cautions(file.study, host)))


def _require_plugins(scenario: str, plan: Plan) -> None:
    """Raise UserError where nothing does a step, or an activity lacks one of its two halves."""
    windows = [step.window for step in plan.steps if step.window]
    activities = {name for window in windows for name in window.activities}
    for family, named in (
        (DeclaredActivity, activities),
        (Activity, activities),
        (StepKind, {step.kind for step in plan.steps}),
    ):
        for name in sorted(named - plugins(family).keys()):
            problem = f"it names `{name}`, which is no {family.__name__}"
            remedy = (
                f"correct the scenario, or add it: {suggest_instead(name, list(plugins(family)))}"
            )
            raise UserError(problem, where=f"scenario {scenario}", remedy=remedy)


def check_sensitivity(file: StudyFile) -> None:
    """Raise UserError where `--sensitivity` has nothing to vary, or no answer that could change."""
    named = list_profiles(file.content)
    assumed = {
        name: sum(
            len(list_assumed_numbers(read_profile_text(profile))) for profile in by_role.values()
        )
        for name, by_role in named.items()
    }
    sensitivity.check(file, expand_file(file).question, assumed)


def describe_undelivered(asked: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """Which drives are likely to take other times here than asked for, by profile and operation.

    By what the last run with each found, or else by the time that any request takes under load.
    """
    added_s = read_added_s()
    for profile in dict.fromkeys(name for name, _ in asked):
        short = []
        for operation in ("read", "write", "flush"):
            if (asked_s := asked.get((profile, operation))) is None:
                continue
            added = added_s.get(f"{profile} {operation}")
            likely_s = max(asked_s, FLOOR_S) if added is None else asked_s + added
            if likely_s - asked_s > estimate_tolerance_s(asked_s):
                times = format_duration(likely_s), format_duration(asked_s)
                short.append(f"{PLURALS[operation]} about {times[0]} (profile: {times[1]})")
        if short:
            yield (
                f"this machine cannot emulate the times of drive {profile} under load: "
                f"{' and '.join(short)}. The report shows the times that the database got. To "
                "avoid this, emulate a slower drive: a copy of the profile with longer times "
                "(`stithy drive catalogue`). `scale` does not change times"
            )


def check_candidates(
    study: Study, plan: Plan, providers: Mapping[str, Storage], keeper: Storage, host: Host
) -> None:
    """Raise all problems with the candidates' places: consent, nesting, way to it, room."""
    problems = Problems()
    usable = _find_usable(problems, study, providers, host)
    problems.attempt(lambda: _check_together(study, plan, providers, usable, keeper, host))
    problems.refuse("the candidates")


def _find_usable(
    problems: Problems, study: Study, providers: Mapping[str, Storage], host: Host
) -> dict[str, Storage]:
    usable = {}
    user = host.user if study.databases else None  # without a server only the caller goes there
    for name, provider in providers.items():
        before = len(problems.found)
        problems.attempt(provider.check)
        place = provider.place()
        if user is not None and place is not None and len(problems.found) == before:
            problems.attempt(partial(_check_way, name, place, host, user.name))
        if len(problems.found) == before:
            usable[name] = provider
    return usable


def _check_together(
    study: Study,
    plan: Plan,
    providers: Mapping[str, Storage],
    usable: Mapping[str, Storage],
    keeper: Storage,
    host: Host,
) -> None:
    problems = Problems()
    problems.attempt(lambda: _refuse_nesting(providers))
    problems.attempt(lambda: _refuse_sharing(usable))
    if plan.null:
        problems.attempt(lambda: _refuse_unlike(usable))
    rooms = {name: storage.list_rooms() for name, storage in {**usable, KEEPER: keeper}.items()}
    available = read_memory(host, "MemAvailable") or 0
    problems.attempt(lambda: check_room(study, plan, rooms, available))
    problems.refuse("the candidates")


def _refuse_unlike(providers: Mapping[str, Storage]) -> None:
    """Directories of a null study must lie on one file system; images of drives are made alike."""
    places = [
        [room.filesystem_id for room in provider.list_rooms() if room.takes_bytes is None]
        for provider in providers.values()
    ]
    if any(place != places[0] for place in places):
        first, second = (str(storage.place()) for storage in providers.values())
        problem = f"{second} is not on the file system of {first}"
        remedy = "name a directory inside of that file system, not the one it is mounted on"
        raise PreconditionError(problem, where="--null", remedy=remedy)


def describe_shared_devices(providers: Mapping[str, Storage]) -> Iterator[str]:
    """Say which candidates lie on one device, unless they are images on it."""
    places = [
        (name, find_existing_part(place))
        for name, provider in providers.items()
        if (place := provider.place()) is not None
        and any(room.takes_bytes is None for room in provider.list_rooms())
    ]
    for (first, place), (second, other) in combinations(places, 2):
        if (device := find_shared(place, other)) is not None:
            yield f"candidates {first} and {second} lie on the same storage ({device}), which " \
                "cannot differ; to compare storage, name a place on another device"  # fmt: skip


def check_memory(study: Study, machine: Machine) -> None:
    """Raise for a server that is given more memory than the machine has."""
    if study.given_database is None:
        return
    total, problems = read_memory(machine, "MemTotal"), Problems()
    servers, several = study.servers, f"{study.servers} servers" if study.servers > 1 else ""
    own = {
        f"candidates.{name}": candidate.memory_bytes for name, candidate in study.candidates.items()
    }
    varied = max(database.memory_bytes for database in study.databases) if study.vary else None
    for section, asked in {
        "database": study.database.memory_bytes,
        **own,
        "vary.database": varied,
    }.items():
        if total is not None and asked is not None and servers * asked > total:
            problems.found.append(
                PreconditionError(
                    f"the study gives {several or 'the server'} {format_size(servers * asked)} of "
                    f"memory, and this machine has {format_size(total)}",
                    where=f"{section}.memory",
                    remedy=f"lower `{section}.memory`{' or `tenants`' if several else ''}",
                )
            )
    problems.refuse("memory")


def check_needs(study: Study, machine: Machine) -> None:
    """Raise for what keys of the study need of the machine, and it does not have."""
    problems, scenario = Problems(), f"scenario.{study.scenario.name}"
    needs = [(scenario, need) for need in study.scenario.plugin.explain_needs(study)]
    needs += [(KEY, need) for need in links.NEEDS if list_networks(study)]
    for where, need in needs:
        found = need.judge(machine)
        if found.state == "missing":
            problems.found.append(
                PreconditionError(
                    f"{found.what}, for {need.why}: {found.found}",
                    where=where,
                    remedy=found.remedy or "leave the key out",
                )
            )
    problems.refuse("the study's keys")


def _describe_cpus(equipped: Equipped) -> Iterator[str]:
    study, cpus, host = equipped.file.study, equipped.server_cpus, equipped.host
    counts = {
        len(cpus_in_window or host.cpus) for cpus_in_window in list_cpus_in_windows(study, cpus)
    }
    if len(counts) == 1 or find_cpus_without_servers(study, cpus, host):
        return
    drives = any(map(is_emulated, study.candidates.values()))
    yield (
        "the largest server of the study leaves no CPU to the load driver"
        f"{' and the emulated drives' if drives else ''}: they then run on any CPU, and get less "
        "time beside the servers that have more. To compare numbers of CPUs, give every server "
        f"fewer than the {len(host.cpus)} that there are"
    )


def _describe_versions(equipped: Equipped) -> Iterator[str]:
    study = equipped.file.study
    if not equipped.databases:
        return
    known = {name: equipped.machine.get(f"storage of {name}") for name in study.candidates}
    versions = [str(version).removeprefix("server version ") for version in known.values()]
    for engine, database in equipped.databases.items():
        find, every = declaration(engine).find_defect, [database.installation.version, *versions]
        yield from dict.fromkeys(filter(None, map(find, every)))
    if study.by_url and len({*known.values()} - {None}) > 1:
        found = ", ".join(f"{name} {text or 'is not known'}" for name, text in known.items())
        yield (
            f"the servers differ: {found}; differences between candidates include those between "
            "versions, and the cost of encryption"
        )


def list_cautions(study: Study, machine: Machine) -> Iterator[str]:
    """What prevents no run, but changes what it shows: one sentence each."""
    for because, count in Counter(study.impossible.values()).items():
        combinations = f"{count} combination{'s' if count > 1 else ''} of `vary`"
        yield f"{combinations} cannot be had and will not be measured: {because}"
    if (data := find_data_bytes(study)) is not None and not study.by_url:
        for limit, asked in _list_limits(study):
            yield from _describe_memory(limit, asked, data, machine)
    for judgement in judge_load(machine):
        # Of space only what the study uses matters, which `check_room` knows.
        if judgement.state == "disturbing" and judgement.what != "space":
            yield f"the machine is not quiet: {judgement.found}: {judgement.remedy}"


def describe_rounding(value: object, *way: str) -> Iterator[str]:
    """Sizes that are no whole number of blocks, which are rounded down: one sentence each."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from describe_rounding(inner, *way, str(key))
    elif way and way[-1].rpartition(".")[2] == "size":
        whole = MIB if way[0] == "candidates" else ALIGNED_BYTES
        for text in value if isinstance(value, list) else [value]:
            with suppress(TextError):
                if left := (size := parse_size(text)) % whole:
                    rounded = f"{size - left:,} B are used, in blocks of {format_size(whole)}"
                    yield f"{'.'.join(way)}: {text} is {size:,} B: {rounded}"


def _list_limits(study: Study) -> Iterator[tuple[str, int]]:
    names: dict[int, list[str]] = {}
    studies = [of for _, of in study.own_settings]
    for variant in studies:
        for name in study.candidates:
            names.setdefault(variant.give_database(name).memory_bytes, []).append(name)
    for asked, having in names.items():
        few = len(names) > 1 and len(studies) == 1
        whose = f" on {' and '.join(having)}" if few else ""
        yield f"the server's memory of {format_size(asked)}{whose}", asked


def _describe_memory(limit: str, asked: int, data: int, machine: Machine) -> Iterator[str]:
    available = read_memory(machine, "MemAvailable")
    if available is not None and available < asked <= (read_memory(machine, "MemTotal") or asked):
        yield f"{limit} is more than the {format_size(available)} that are free now"
    if problem := machine.find_memory_limit_problem():
        yield (
            f"{limit} cannot be enforced here ({problem}): the page cache may then be larger, and "
            "the storage is read less"
        )
    if asked >= data:
        yield (
            f"{limit} holds the whole database of about {format_size(data)}, so storage is hardly "
            "read: use less memory or a larger database"
        )


def check_directory(directory: Path, providers: Mapping[str, Storage]) -> None:
    """Raise unless results can be written to `directory`: missing or empty, and on no volume."""
    real = directory.resolve()
    for name, place in _list_places(providers).items():
        if real.is_relative_to(place) or place.is_relative_to(real):
            problem = f"the results directory {directory} and candidate {name} overlap"
            remedy = "keep the results outside the measured directories"
            raise UserError(problem, where="--out", remedy=remedy)
    there, remedy = find_existing_part(directory), "name another directory with --out"
    if there.is_dir() and not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        problem = f"{there} is not writable for this user"
        raise PreconditionError(problem, where="--out", remedy=remedy)
    if there == directory and (not directory.is_dir() or any(directory.iterdir())):
        problem = f"{directory} exists and is not an empty directory"
        remedy = "name another one: results are never overwritten"
        raise UserError(problem, where="--out", remedy=remedy)
    if not there.is_dir():
        raise UserError(f"{there} is not a directory", where="--out", remedy=remedy)


def _list_places(providers: Mapping[str, Storage]) -> dict[str, Path]:
    every = {name: provider.place() for name, provider in providers.items()}
    return {name: place for name, place in every.items() if place is not None}


def _refuse_nesting(providers: Mapping[str, Storage]) -> None:
    """One candidate inside another, or the same by way of a link, would measure each other."""
    places = _list_places(providers)
    for name, place in places.items():
        for other, around in places.items():
            if name != other and place.is_relative_to(around):
                problem = f"{place} is inside {around}, the directory of candidate {other}"
                remedy = "give each candidate a directory of its own"
                raise PreconditionError(problem, where=f"candidate {name}", remedy=remedy)


def _refuse_sharing(providers: Mapping[str, Storage]) -> None:
    """What only one can have, such as a device, however the candidates name it."""
    owners: dict[str, str] = {}
    for name, provider in providers.items():
        for room in provider.list_rooms():
            other = owners.setdefault(room.filesystem_id, name)
            if room.exclusive and other != name:
                same = f"is the same {room.filesystem_id} as that of candidate {other}"
                remedy, where = "give each candidate a device of its own", f"candidate {name}"
                raise PreconditionError(f"{room.mount_point} {same}", where=where, remedy=remedy)


def _check_way(name: str, place: Path, host: Host, user: str) -> None:
    """The server's user must be able to enter every directory on the way."""
    there = find_existing_part(place)
    there = there if there.is_dir() else there.parent
    way = [str(parent) for parent in reversed([there, *there.parents])]
    script = 'for each; do test -x "$each" || { echo "$each"; exit 1; }; done'
    finished = host.runner.run(Command(["/bin/sh", "-c", script, "sh", *way], user=user))
    if finished.code != 0:
        closed = finished.stdout.strip() or str(there)
        raise PreconditionError(
            f"user {user}, as whom the database server runs, may not enter {closed}",
            where=f"candidate {name}",
            remedy=f"allow it (chmod o+x {quote(closed)}), or name another directory",
        )
