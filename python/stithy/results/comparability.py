"""May the numbers of two runs be held against each other, and if not, what differs?

`manifest.comparability` and the fingerprints beside it, as single facts with a meaning each. A fact
is *needed* where the numbers rest on it: runs that differ in one are not comparable, unless a
person says that this is what the comparison is about. The others are only reported.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel

from stithy.errors import StithyError, UserError
from stithy.names import find_closest
from stithy.results.manifest import (
    CandidateFacts,
    ComparedField,
    DatabaseFacts,
    EngineFacts,
    Fact,
    LoadFacts,
    Manifest,
    MemoryFacts,
    Scalar,
    WorkloadFacts,
    hash_text,
)
from stithy.units import format_list

MEMORY_SHARE = 0.01
"""Firmware and kernel keep a little more or less of it for themselves at each boot."""

NOT_KNOWN = "not known"

PROFILE, SUBMISSION, METERS = "profile.", "submission.", "meters"
"""Begin facts of I/O profiles. Those of one run alone are other points, which are not compared."""


@dataclass(frozen=True)
class Meaning:
    """What a fact says, and to which group it belongs; `needed`: it must be equal."""

    group: str
    text: str
    needed: bool = True


def _group(group: str, texts: Mapping[str, str], *, needed: bool = True) -> dict[str, Meaning]:
    return {name: Meaning(group, text, needed) for name, text in texts.items()}


def _group_fields(group: str, facts: type[BaseModel], *, needed: bool = True) -> dict[str, Meaning]:
    return {
        name: Meaning(group, each.text, each.needed)
        for name, each in _list_compared(facts)
        if each.needed == needed
    }


def _list_compared(facts: type[BaseModel]) -> Iterator[tuple[str, ComparedField]]:
    for name, info in facts.model_fields.items():
        yield from ((name, each) for each in info.metadata if isinstance(each, ComparedField))


MEANINGS: Mapping[str, Meaning] = {
    "scenario": Meaning("workload", "what the study did; which points, and how often, may differ"),
    "workload": Meaning("workload", "what the users do"),
    **_group_fields("workload", WorkloadFacts),
    "workload.*": Meaning(
        "workload", "size of the data, and what else the workload's own keys say, defaults resolved"
    ),
    "fio": Meaning("workload", "version of fio, where it has windows"),
    "profile.*": Meaning(
        "workload", "content of an I/O profile or a trace of your own, of those that both runs have"
    ),
    "submission.*": Meaning(
        "workload", "how requests of an I/O profile are submitted, and by which engines of fio; of "
        "those that both runs have"
    ),
    METERS: Meaning("workload", "meters whose watts count, of runs that both have some"),
    **_group_fields("load", LoadFacts),
    **_group("database", {
        "engine": "database product; of several the study's own",
        "engine.*": "version and settings of each other engine of the study",
        "server_version": "its version; of each candidate where candidates differ in it",
        "restore": "how each window got the loaded database",
        "backup.*": "what makes backups, and its version, by method",
        "settings.*": "effective settings, or those of the study if these are unknown; of each "
        "candidate where candidates differ in them",
        "server_cpus": "number of CPUs that the server may use; of each candidate where candidates "
        "differ",
        "memory_limit_bytes": "memory of server and page cache; of each candidate where candidates "
        "differ in it",
        "memory_limit_enforced": "whether that limit was enforced",
    }),
    **_group("stithy", {
        "driver_generation": "version of the load driver, as far as it can change results",
    }),
    **_group("machine", {
        "architecture": "kind of CPU",
        "cpu_model": "its name",
        "cpu_microcode": "its microcode",
        "cpus": "number of CPUs",
        "cpu_cores": "number of cores",
        "cpu_smt": "whether cores run two threads",
        "cpu_governor": "frequency governor",
        "cpu_turbo": "whether turbo frequencies are allowed",
        "cpu_virtual": "whether the machine is virtual",
        "numa_nodes": "number of NUMA nodes",
        "machine": "maker and model",
        "memory_bytes": "memory, equal within 1 %",
        "transparent_huge_pages": "when the kernel uses large pages",
        "swappiness": "tendency of the kernel to swap",
        "dirty_background_ratio": "when the kernel begins write-back",
        "dirty_ratio": "when writers must wait for write-back",
        "kernel": "version of the kernel",
        "kernel_arguments": "kernel arguments that affect speed",
        "cgroup_version": "version of the control groups",
        "clock_source": "clock source of the kernel",
        "distribution": "distribution",
        "mitigation.*": "mitigation of each CPU vulnerability",
    }),
    **_group("candidate", {
        "provider": "the plug-in that created its storage",
        "url": "URL of a database whose server Stithy did not start",
        "filesystem": "file system",
        "mount_options": "its mount options",
        "memory_backed": "whether it is in memory",
        "device.*": "devices under it, as far as they are known, top to bottom: model, firmware, "
        "driver, scheduler, queue …",
        "array.*": "arrays by role: layer, its keys, number of devices",
        "role.*": "volumes of roles on sources of their own: file system, mount options, devices",
        "drive.*": "emulated drives by role: profile, scale, size, file system, backing",
    }),
    **_group("reported", {
        "swap_bytes": "swap of the machine",
        "python": "version of Python, which is on no measured path",
        "stithy_version": "version of Stithy",
        "hammer_version": "version of the load driver",
        "seed": "seed of data, random choices and order; other seeds must give the same answer",
        "cost.*": "inputs of what candidates cost",
    }, needed=False),
    **_group_fields("reported", LoadFacts, needed=False),
}  # fmt: skip
"""Every fact by its name; a star stands for any name that follows."""

DEVICE_FACTS = (
    "model", "firmware", "driver", "rotational", "scheduler", "queue_requests", "write_cache",
    "logical_block_bytes", "physical_block_bytes", "alignment_offset_bytes",
    "discard_granularity_bytes", "read_ahead_bytes", "size_bytes",
)  # fmt: skip
DRIVE_FACTS = (
    "profile_name", "profile", "scale", "size_bytes", "sector_bytes", "filesystem",
    "mount_options", "backing", "transport",
)  # fmt: skip


@dataclass(frozen=True)
class FactDifference:
    """A fact that is not the same in two runs; `subject` is what it is a fact of, where not all."""

    name: str
    subject: str
    base: str
    other: str

    @property
    def needed(self) -> bool:
        return find_meaning(self.name).needed

    def __str__(self) -> str:
        """`nvme: device.firmware: 1.0 and 1.1`."""
        shown = f"{self.name}: {self.base} and {self.other}"
        return f"{self.subject}: {shown}" if self.subject else shown


class NotComparable(UserError):
    """Runs that differ in what numbers rest on: carries every such fact."""

    def __init__(self, where: str, against: str, differences: Sequence[FactDifference]) -> None:
        """`differences` has at least one entry."""
        names = ", ".join(dict.fromkeys(each.name for each in differences))
        remedy = (
            "compare runs with the same facts, or name what you changed on purpose with --ignore"
        )
        super().__init__(f"not comparable with {against}: {names}", where=where, remedy=remedy)
        self._differences = tuple(differences)
        self.facts = tuple(
            UserError(
                f"differs from {against}: {difference}",
                where=where,
                remedy=f"--ignore {difference.name}",
            )
            for difference in differences
        )

    def parts(self) -> tuple[StithyError, ...]:
        return self.facts

    def details(self) -> Mapping[str, Any]:
        return {"facts": [asdict(difference) for difference in self._differences]}


def check_comparable(
    scenario: str,
    workload: WorkloadFacts | None,
    load: LoadFacts | None,
    database: DatabaseFacts | None,
    memory: MemoryFacts | None,
    stithy_version: str,
    candidates: Sequence[CandidateFacts] = (),
    io_facts: Mapping[str, str] | None = None,
    others: Sequence[EngineFacts] = (),
) -> dict[str, Scalar | tuple[Scalar, ...] | dict[str, Scalar]]:
    """What must be equal for the numbers of two runs to be comparable, storage apart.

    `own`, what candidates have of their own, is there only if any of them has it; `io_facts`, fio
    and the user's I/O profiles, where fio has windows. `others`: the study's other engines.
    Source: docs/explanation/method.md.
    """
    own = dict(_own_of(candidates))
    found: dict[str, Any] = {"scenario": scenario}
    for engine in others:
        found |= dict(_list_engine_facts(engine))
    if workload is not None:
        found |= {"workload": workload.name, **_list_needed(workload)}
        for name, value in (workload.size | workload.options).items():
            if name not in workload.varied:
                found[f"workload.{name}"] = value
    if load is not None:
        found |= _list_needed(load)
    if database is not None:
        found |= {
            "engine": database.engine,
            "server_version": database.server_version,
            "settings": _drop_varied(database.settings, database),
            "restore": database.restore,
            **{f"backup.{name}": tool for name, tool in database.backups.items()},
        }
        if not database.cpus_varied:
            found["cpus"] = None if database.cpus is None else len(database.cpus)
    if memory is not None:
        if "limit_bytes" not in memory.varied:
            found["memory_limit_bytes"] = memory.limit_bytes
        found["memory_limit_enforced"] = memory.enforced
    major, minor = stithy_version.split(".")[:2]
    # Before 1.0 any second number may change what is measured.
    found["driver"] = major if major != "0" else f"0.{minor}"
    return found | dict(io_facts or {}) | ({"own": own} if own else {})


def _list_engine_facts(engine: EngineFacts) -> Iterator[tuple[str, Scalar]]:
    database = engine.database
    above = f"engine.{database.engine}"
    yield f"{above}.server_version", database.server_version
    for name, value in _drop_varied(database.settings, database).items():
        yield f"{above}.settings.{name}", value
    for name, value in database.backups.items():
        yield f"{above}.backup.{name}", value
    for candidate, server in engine.servers.items():
        if server.server_version is not None:
            yield f"{above}.{candidate}.server_version", server.server_version
        for name, value in server.settings.items():
            yield f"{above}.{candidate}.settings.{name.lower()}", value


def _own_of(candidates: Iterable[CandidateFacts]) -> Iterator[tuple[str, Scalar]]:
    for candidate in candidates:
        if candidate.memory_limit_bytes is not None:
            yield f"{candidate.name}.memory_limit_bytes", candidate.memory_limit_bytes
        if candidate.cpus is not None:
            yield f"{candidate.name}.cpus", len(candidate.cpus)
        if candidate.server_version is not None:
            yield f"{candidate.name}.server_version", candidate.server_version
        for name, value in candidate.settings.items():
            yield f"{candidate.name}.settings.{name.lower()}", value


def _list_needed(facts: WorkloadFacts | LoadFacts) -> dict[str, Any]:
    """By name; of what varies the points say it."""
    return {
        name: vars(facts)[name]
        for name, each in _list_compared(type(facts))
        if each.needed and name not in facts.varied
    }


def _drop_varied(settings: Mapping[str, Any], database: DatabaseFacts) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name.lower() not in database.varied}


def make_comparability_key(parts: Mapping[str, object]) -> str:
    """Sixteen hexadecimal digits that differ where `parts` differ."""
    return hash_text(json.dumps(parts, sort_keys=True, default=str))[:16]


def find_meaning(name: str) -> Meaning:
    """The meaning of a fact: its own, or that of its kind. Raises KeyError for an unknown one."""
    own = MEANINGS.get(name)
    return own if own else MEANINGS[f"{name.partition('.')[0]}.*"]


def find_differences(
    base: Manifest, other: Manifest, candidates: Sequence[str]
) -> tuple[FactDifference, ...]:
    """Every fact that is not the same, in the order of `MEANINGS`; of these candidates only."""
    effective = None not in (_find_effective(base), _find_effective(other))
    own = _own(base, effective=effective) | _own(other, effective=effective)
    ours = _map_facts(base, candidates, own, effective=effective)
    theirs = _map_facts(other, candidates, own, effective=effective)
    found = []
    for subject, name in dict.fromkeys([*ours, *theirs]):
        a, b = ours.get((subject, name)), theirs.get((subject, name))
        is_same = is_same_memory(a, b) if name == "memory_bytes" else a == b
        is_of_one = name.startswith((PROFILE, SUBMISSION, METERS)) and None in (a, b)
        if not is_same and not is_of_one:
            found.append(FactDifference(name, subject, _shorten_value(a), _shorten_value(b)))
    order = list(MEANINGS.values())
    return tuple(sorted(found, key=lambda each: order.index(find_meaning(each.name))))


def is_ignored(difference: FactDifference, words: Sequence[str]) -> bool:
    """Whether a person said that this fact may differ: by its name, or by a part at a dot."""
    return any(_matches(difference.name, word) for word in words)


def require_known(words: Sequence[str], manifests: Sequence[Manifest]) -> None:
    """Refuse to ignore what is no fact. Raises UserError."""
    names = {name for name in MEANINGS if "*" not in name}
    for manifest in manifests:
        candidates = [candidate.name for candidate in manifest.candidates]
        effective = _find_effective(manifest) is not None
        own = _own(manifest, effective=effective)
        names |= {name for _, name in _map_facts(manifest, candidates, own, effective=effective)}
    for word in words:
        if not any(_matches(name, word) for name in names):
            parts = {part for name in names for part in (name, name.rpartition(".")[2])}
            guess = find_closest(word, sorted(parts))
            remedy = f"did you mean {guess}?" if guess else "see docs/reference/comparability.md"
            raise UserError("these runs have no such fact", where=f"--ignore {word}", remedy=remedy)


def _matches(name: str, word: str) -> bool:
    return name == word or name.startswith(f"{word}.") or name.endswith(f".{word}")


def _find_effective(manifest: Manifest) -> Mapping[str, str] | None:
    """The settings in force in all servers; None where they are not known."""
    known = manifest.given_database
    return known.effective_settings if known else None


def _own(manifest: Manifest, *, effective: bool) -> frozenset[str]:
    found = {"memory_limit_bytes" for each in manifest.candidates if each.memory_limit_bytes}
    found |= {"server_cpus" for each in manifest.candidates if each.cpus}
    found |= {"server_version" for each in manifest.candidates if each.server_version}
    for candidate in manifest.candidates:
        known = (
            (candidate.effective_settings or {})
            if effective
            else map(str.lower, candidate.settings)
        )
        found |= {f"settings.{name}" for name in known}
    return frozenset(found)


def _map_facts(
    manifest: Manifest, candidates: Sequence[str], own: frozenset[str], *, effective: bool
) -> dict[tuple[str, str], Any]:
    """All facts of a run by subject and name; those of `own` are of each candidate."""
    plain = dict(_list_key_facts(manifest, effective=effective))
    for name, fact in manifest.environment.items():
        if name in MEANINGS or name.startswith("mitigation."):
            plain[name] = fact.value
    plain = {name: value for name, value in plain.items() if name not in own}
    found = {("", name): value for name, value in {**plain, **_list_told_only(manifest)}.items()}
    for candidate in manifest.candidates:
        if candidate.name in candidates:
            database = dict(_list_database_facts(manifest, candidate, effective=effective))
            found |= {(candidate.name, name): database.get(name) for name in sorted(own)}
            if manifest.given_database is not None and manifest.database.by_url:
                found[candidate.name, "url"] = candidate.path
            for name, value in _list_candidate_facts(candidate):
                found[candidate.name, name] = value
    return found


def _list_database_facts(
    manifest: Manifest, candidate: CandidateFacts, *, effective: bool
) -> Iterator[tuple[str, Any]]:
    """What a candidate's server was given; nothing that is not known."""
    if manifest.given_database is None:
        return
    yield "server_version", manifest.server_version_of(candidate)
    if manifest.memory is None or "limit_bytes" not in manifest.memory.varied:
        yield "memory_limit_bytes", manifest.memory_limit_of(candidate)
    if not manifest.database.cpus_varied:
        bound = manifest.cpus_of(candidate)
        yield "server_cpus", None if bound is None else len(bound)
    asked, known = manifest.settings_of(candidate), manifest.effective_settings_of(candidate)
    found = (known or {}) if effective else asked
    for name, value in _drop_varied(found, manifest.database).items():
        yield f"settings.{name}", value


def _list_key_facts(manifest: Manifest, *, effective: bool) -> Iterator[tuple[str, Any]]:
    names = {"cpus": "server_cpus", "driver": "driver_generation"}
    for name, value in manifest.comparability.items():
        if name not in ("settings", "own"):  # which are compared one by one
            yield names.get(name, name), value
    if manifest.given_database is None:
        return
    asked = {name.lower(): value for name, value in manifest.database.settings.items()}
    known = manifest.database.effective_settings if effective else asked
    for name, value in _drop_varied(known or {}, manifest.database).items():
        yield f"settings.{name}", value


def _list_told_only(manifest: Manifest) -> dict[str, Any]:
    load = manifest.given_load
    reported = _group_fields("", LoadFacts, needed=False) if load else ()
    return {
        "stithy_version": manifest.stithy_version,
        "hammer_version": manifest.hammer_version,
        "seed": manifest.seed,
        **_list_inputs(manifest),
        **{name: vars(load)[name] for name in reported},
    }


def _list_inputs(manifest: Manifest) -> dict[str, float | str]:
    if (pricing := manifest.pricing) is None:
        return {}
    numbers = {".".join(("cost", *path)): value for path, value in pricing.list_numbers()}
    priced = (("items", pricing.items), ("licences", pricing.licences))
    owners = {f"cost.{section}.{name}.for": format_list(each.candidates or ["every candidate"])
              for section, named in priced for name, each in named.items()}  # fmt: skip
    owners |= {f"cost.licences.{name}.per": each.per for name, each in pricing.licences.items()}
    return {"cost.currency": pricing.currency, "cost.date": pricing.date, **numbers, **owners}


def _list_candidate_facts(candidate: CandidateFacts) -> Iterator[tuple[str, Any]]:
    yield "provider", candidate.provider
    yield "filesystem", candidate.filesystem
    yield "mount_options", candidate.mount_options
    yield "memory_backed", candidate.memory_backed
    yield from _list_device_facts(candidate.environment)
    for array in candidate.arrays:
        yield f"array.{array.role}", str(array)
    for other in candidate.roles:
        yield f"role.{other.role}.filesystem", other.filesystem
        yield f"role.{other.role}.mount_options", other.mount_options
        yield from _list_device_facts(candidate.environment, f"role.{other.role}.")
    for drive in candidate.drives:
        for name in DRIVE_FACTS:
            yield f"drive.{drive.role}.{name}", vars(drive)[name]


def _list_device_facts(environment: Mapping[str, Fact], of: str = "") -> Iterator[tuple[str, Any]]:
    """By place from the top, because the kernel numbers loop devices as they come.

    `of`: how the facts of a role's volume begin.
    """
    there = environment.get(f"{of}devices")
    names = there.value if there and isinstance(there.value, tuple) else ()
    for place, device in enumerate(names, start=1):
        for name in DEVICE_FACTS:
            if (fact := environment.get(f"{of}device.{device}.{name}")) is not None:
                yield f"{of}device.{place}.{name}", fact.value


def is_same_memory(base: Any, other: Any) -> bool:
    """Whether these are the sizes of one machine's memory, as it tells them at two boots."""
    if isinstance(base, int | float) and isinstance(other, int | float):
        return abs(base - other) <= MEMORY_SHARE * base
    return bool(base == other)


def _shorten_value(value: Any) -> str:
    """A value in a few words; of a long text, such as a profile, what tells it from others."""
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_shorten_value, value))}]"
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else f"a text of {len(text)} characters ({hash_text(text)[:8]})"
