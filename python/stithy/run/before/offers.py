"""What this machine offers to a new study: directories with room, drives that it can emulate.

An offer is a candidate that could be, in the words of the study file.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from stithy.needs import Machine
from stithy.registry import plugins
from stithy.storage.open_places import OpenPlace
from stithy.study.template import Option
from stithy.units import format_size

DRIVES = {
    "generic-nvme": "an NVMe drive for servers",
    "generic-sata": "a SATA SSD for servers",
    "generic-7200": "a disk of 7,200 turns a minute",
}
"""Shipped profiles of the kinds that most people choose between, and what they are."""

NAME_MAX = 40
"""What a study file allows."""


def offered_places(machine: Machine) -> list[Option]:
    """Directories on which a candidate could stand, most room first, none of them memory."""
    return _named((each, _place_note(each)) for each in machine.places() if not each.memory_backed)


def offered_memory(machine: Machine) -> list[Option]:
    """The same of file systems in memory."""
    return _named((each, _place_note(each)) for each in machine.places() if each.memory_backed)


def offered_drives(machine: Machine) -> list[Option]:
    """Emulated drives, as far as the machine has what they need."""
    needs = plugins("provider")["drive"].NEEDS
    if any(need.judge(machine).state == "missing" for need in needs if not need.optional):
        return []
    return [drive(profile, note=f"emulated: {title}") for profile, title in DRIVES.items()]


def drive(profile: str, taken: Iterable[str] = (), note: str = "an emulated drive") -> Option:
    """The offer of a drive profile: a shipped one's name, or a file."""
    name = _unique(_name(Path(profile).name.removesuffix(".toml")), taken)
    return Option(name, {"drive": profile}, note)


def directory(path: Path, taken: Iterable[str] = ()) -> Option:
    """The offer of a directory that a person names."""
    return Option(_unique(_name(path.name), taken), {"path": str(path.absolute())}, "a directory")


def _named(places: Iterable[tuple[OpenPlace, str]]) -> list[Option]:
    found: list[Option] = []
    for place, note in places:
        taken = [each.name for each in found]
        found.append(Option(_unique(_place_name(place), taken), {"path": str(place.path)}, note))
    return found


def _place_name(place: OpenPlace) -> str:
    if place.memory_backed:
        return "memory"
    if place.mount_point == Path("/"):
        return "system"
    return _name("-".join(place.mount_point.parts[1:]))


def _place_note(place: OpenPlace) -> str:
    free = format_size(place.free_bytes)
    if place.memory_backed:
        return f"{place.filesystem}: its pages are memory, {free} at most"
    on = f" on {', '.join(place.devices)}" if place.devices else ""
    return f"{place.filesystem}{on}, {free} free"


def _name(text: str) -> str:
    """A candidate's name: small letters, digits and hyphens, and no number to YAML."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: NAME_MAX - 8].strip("-")
    return plain if re.match(r"(?!(true|false|null)$)[a-z]", plain) else f"at-{plain}".rstrip("-")


def _unique(name: str, taken: Iterable[str]) -> str:
    names = set(taken)
    return next(each for each in _numbered(name) if each not in names)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in range(2, 10_000))
