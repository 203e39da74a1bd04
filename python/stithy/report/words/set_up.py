"""What a run was made of, as boxes of few words: hammer, servers, volumes, and what is under them.

From the manifest alone. A box has a heading and lines below it; nothing in it is guessed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stithy.activity import get_level_factor
from stithy.report.words import loads
from stithy.report.words.loads import named
from stithy.report.words.wording import DASH, listing, plural
from stithy.results.manifest import CandidateFacts, DriveFacts, Fact, LoadFacts, Manifest
from stithy.units import format_duration, format_rate, format_size
from stithy.workloads.words import PACE

ROLES = ("data", "log", "temp", "backup")
FEW_LEVELS = 6


@dataclass(frozen=True)
class Box:
    """One part of the set-up: what it is, and what must be known of it."""

    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A volume of a candidate, headed by the roles that lie on it, and the storage under it."""

    volume: Box
    storage: Box
    emulated: bool


@dataclass(frozen=True)
class Lane:
    """One candidate: its server, which is there in its windows alone, and its volumes."""

    candidate: str
    server: Box
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class SetUp:
    """The machine with all that ran on it."""

    machine: str
    hammer: Box
    lanes: tuple[Lane, ...]


def set_up(manifest: Manifest) -> SetUp:
    """The set-up of a run."""
    lanes = (
        Lane(
            candidate.name,
            Box(candidate.name, _describe_server(manifest, candidate)),
            tuple(_list_parts(candidate)),
        )
        for candidate in manifest.candidates
    )
    return SetUp(_describe_machine(manifest), _describe_hammer(manifest), tuple(lanes))


def _describe_machine(manifest: Manifest) -> str:
    """`This machine: 8 × Example CPU, 32 GiB of memory, kernel 6.1.0`."""
    cpus, model = _find_fact(manifest, "cpus"), _find_fact(manifest, "cpu_model")
    memory, kernel = _find_fact(manifest, "memory_bytes"), _find_fact(manifest, "kernel")
    parts = [f"{cpus} × {model or 'CPU of unknown model'}" if cpus else model]
    parts.append(f"{format_size(memory)} of memory" if isinstance(memory, int | float) else None)
    parts.append(f"kernel {kernel}" if kernel else None)
    shown = ", ".join(str(part) for part in parts if part)
    return f"This machine: {shown or 'its facts are not known'}"


def _find_fact(manifest: Manifest, name: str) -> Any:
    known = manifest.environment.get(name)
    return known.value if known else None


def _describe_hammer(manifest: Manifest) -> Box:
    if manifest.given_load is None:
        return Box(f"scenario {manifest.scenario.partition(' ')[0]}", ())
    load = manifest.load
    bound = all(manifest.cpus_of(candidate) is not None for candidate in manifest.candidates)
    drives = any(each.drives for each in manifest.candidates)
    beside = ("shares CPUs with the drives",) if bound and drives else ()
    cpus = "on the other CPUs" if bound else "on any CPU"
    return Box(
        "hammer (load driver)", (*_describe_levels(load), _describe_loop(load), *beside, cpus)
    )


def _describe_levels(load: LoadFacts) -> tuple[str, ...]:
    factor = get_level_factor().driven(is_open=load.is_open)
    if load.is_idle:
        return ("no users",)
    if not load.levels:
        return (f"{factor.plural} chosen by the search",)
    if len(load.levels) > FEW_LEVELS:
        ends = f"{min(load.levels):,} to {max(load.levels):,}"
        return (f"{plural(len(load.levels), 'level')},", f"{ends} {factor.plural}")
    every = listing([f"{level:,}" for level in load.levels])
    return (f"{every} {factor.unit if load.levels == (1,) else factor.plural}",)


def _describe_loop(load: LoadFacts) -> str:
    if PACE.intersection(load.varied):
        return "several paces"
    if load.is_idle:
        return "the database is idle"
    if load.rate_per_s is not None:
        return f"open loop, {format_rate(load.rate_per_s)}"
    if load.is_open:
        return "open loop"
    if load.pace == "think" and load.think_s is not None:
        return f"think {format_duration(load.think_s)}"
    return {"none": "back to back", "keyed": "keying, thinking"}.get(load.pace, load.pace)


def _describe_server(manifest: Manifest, candidate: CandidateFacts) -> tuple[str, ...]:
    """Three lines, whatever the candidate has of its own: more have no room in a drawing.

    None without a server.
    """
    if manifest.given_database is None:
        return ()
    database, memory = manifest.database, manifest.memory
    version = (manifest.server_version_of(candidate) or "").split(" ")[0]
    size = format_size(manifest.memory_limit_of(candidate) or 0)
    # A longer line would be cut, and with it the words that matter.
    is_held = memory is None or memory.enforced is not False
    limit = f"memory {size}" if is_held else f"{size} NOT ENFORCED"
    lines = [f"{database.engine} {version}".strip(), limit, _describe_cpus(manifest, candidate)]
    if (own := loads.settings(manifest, candidate)) is not None:
        lines[1:] = [", ".join(lines[1:]) if is_held else limit, own.replace(" = ", "=")]
    return tuple(lines)


def _describe_cpus(manifest: Manifest, candidate: CandidateFacts) -> str:
    """`CPUs 1, 2`; of many how many."""
    cpus = manifest.cpus_of(candidate)
    if manifest.database.cpus_varied:
        return "several numbers of CPUs"
    if cpus is None:
        return "any CPU"
    if len(cpus) > 4:
        return f"bound to {len(cpus)} CPUs"
    return f"CPU{'s' if len(cpus) > 1 else ''} {', '.join(map(str, cpus))}"


def _list_parts(candidate: CandidateFacts) -> Iterator[Part]:
    """Its volumes, of which that of the data has every role that has none of its own."""
    by_role: dict[str, DriveFacts] = {}
    for drive in candidate.drives:
        by_role.setdefault(drive.role, drive)
    elsewhere = {*by_role, *(each.role for each in candidate.roles)} - {"data"}
    shared = tuple(each for each in ROLES if each not in elsewhere)
    if "data" not in by_role:
        volume = Box(
            ", ".join(shared), _describe_filesystem(candidate.filesystem, candidate.mount_options)
        )
        yield Part(volume, _describe_storage(candidate), emulated=False)
    arrays = {array.role: str(array) for array in candidate.arrays}
    for each in candidate.roles:
        volume = Box(each.role, _describe_filesystem(each.filesystem, each.mount_options))
        devices = " on ".join(each.devices) or "no block device known"
        yield Part(volume, Box(each.path, (devices,)), emulated=False)
    for role, drive in by_role.items():
        roles = shared if role == "data" else (role,)
        volume = Box(", ".join(roles), _describe_filesystem(drive.filesystem, drive.mount_options))
        yield Part(volume, _describe_drive(drive, arrays.get(role)), emulated=True)


def _describe_filesystem(kind: str | None, options: str | None) -> tuple[str, ...]:
    return (kind or "file system not known", options or DASH)


def _describe_drive(drive: DriveFacts, array: str | None) -> Box:
    """A drive, or one of those of an array."""
    where = "in memory" if drive.backing == "memory" else f"in a file at {drive.backing}"
    size = f"{format_size(drive.size_bytes)}{'' if array is None else ' each'}, {where}"
    return Box(f"EMULATED {named(drive)}", (size, array or drive.title))


def _describe_storage(candidate: CandidateFacts) -> Box:
    """A directory with what the machine tells of its file system and of the devices under it."""
    facts = candidate.environment
    size = _format_size_fact(facts.get("filesystem_size_bytes"))
    shown = f"file system of {size}" if size else "size not known"
    if candidate.memory_backed:
        return Box(candidate.path, (shown, "its pages are memory"))
    if candidate.arrays:
        array = candidate.arrays[0]
        return Box(candidate.path, (shown, f"{array}: {', '.join(array.members)}"))
    devices = [_describe_device(candidate, name) for name in candidate.devices]
    return Box(candidate.path, (shown, " on ".join(devices) or "no block device known"))


def _format_size_fact(fact: Fact | None) -> str | None:
    if fact is None or not isinstance(fact.value, int | float):
        return None
    return format_size(fact.value)


def _describe_device(candidate: CandidateFacts, name: str) -> str:
    """`nvme0n1 (Example SSD, 1.75 TiB)`."""
    model = candidate.environment.get(f"device.{name}.model")
    size = _format_size_fact(candidate.environment.get(f"device.{name}.size_bytes"))
    shown = str(model.value).strip() if model is not None and model.value else None
    known = ", ".join(part for part in (shown, size) if part)
    return f"{name} ({known})" if known else name
