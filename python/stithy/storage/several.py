"""Several sources under one candidate: each role may lie on storage of its own kind.

The log on a mirror of disks while the data are on SSDs, backups in a directory. Every source is
provided by its own provider, and all of them together are one provider. A provider that
can `create_together` serves all its roles at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel

from stithy.registry import plugins
from stithy.storage.provider import ROLES, Provider, Record, Role, Room, Site, Storage, Volume
from stithy.storage.space import Space

Sources = Mapping[Role, tuple[str, BaseModel]]
"""The name of a provider and its `Spec` for each role that has a source; `data` always has."""


def make_site_of_role(role: Role, site: Site) -> Site:
    """What a run offers the source of one role, which need not know that there are others."""
    return replace(
        site,
        role=role,
        needed_bytes={**site.needed_bytes, "data": site.needed_bytes[role]},
        seeds={**site.seeds, "data": site.seeds[role]},
    )


def create_storage(sources: Sources, candidate: str, site: Site) -> Storage:
    """What provides all volumes of a candidate."""
    groups = list(_make_groups(sources, candidate, site))
    return groups[0].provider if len(groups) == 1 else SeveralSources(groups, site.needed_bytes)


@dataclass(frozen=True)
class RoleGroup:
    """Roles that one provider serves; the first is the one whose volume it returns."""

    roles: tuple[Role, ...]
    provider: Storage


def _make_groups(sources: Sources, candidate: str, site: Site) -> Sequence[RoleGroup]:
    by_name: dict[str, dict[Role, BaseModel]] = {}
    for role in (each for each in ROLES if each in sources):
        name, spec = sources[role]
        by_name.setdefault(name, {})[role] = spec
    found = []
    for name, specs in by_name.items():
        kind = plugins(Provider)[name]
        if (together := kind.create_together(specs, candidate, site)) is not None:
            found.append(RoleGroup(tuple(specs), together))
            continue
        found += [
            RoleGroup((role,), kind.create(spec, candidate, make_site_of_role(role, site)))
            for role, spec in specs.items()
        ]
    return sorted(found, key=lambda each: ROLES.index(each.roles[0]))


class SeveralSources(Storage):
    """The providers of a candidate as one; that of the data stands for it where one must."""

    def __init__(self, groups: Sequence[RoleGroup], needed_bytes: Mapping[Role, int]) -> None:
        """The first group has the data."""
        self._groups = groups
        self._needed = needed_bytes
        self._owners: dict[Path, Storage] = {}

    def check(self) -> None:
        for group in self._groups:
            group.provider.check()

    def place(self) -> Path | None:
        return self._groups[0].provider.place()

    def list_rooms(self) -> tuple[Room, ...]:
        """Of each; a role without the data takes what that role may come to hold."""
        return tuple(
            room if room.takes_bytes is not None or "data" in group.roles
            else replace(room, takes_bytes=self._needed[group.roles[0]])
            for group in self._groups
            for room in group.provider.list_rooms()
        )  # fmt: skip

    def list_cautions(self) -> tuple[str, ...]:
        said = (caution for group in self._groups for caution in group.provider.list_cautions())
        return tuple(dict.fromkeys(said))

    def describe_identity(self) -> str | None:
        known = ((group.roles[0], group.provider.describe_identity()) for group in self._groups)
        return "; ".join(f"{role}: {words}" for role, words in known if words is not None) or None

    def list_profile_times_s(self) -> Mapping[tuple[str, str], float]:
        return {
            key: asked_s
            for group in self._groups
            for key, asked_s in group.provider.list_profile_times_s().items()
        }

    def find_dead_run(self) -> str | None:
        return next(filter(None, (group.provider.find_dead_run() for group in self._groups)), None)

    def find_surviving_volume(self, run_id: str) -> Path | None:
        """The volume of the data, where all outlive a session: a database is all its parts."""
        found = [group.provider.find_surviving_volume(run_id) for group in self._groups]
        return found[0] if all(found) else None

    def provision(self, run_id: str, record: Record) -> Volume:
        made: dict[Role, Volume] = {}
        for group in self._groups:
            volume = group.provider.provision(run_id, record)
            made |= {group.roles[0]: replace(volume, others={}), **volume.others}
            parts = (volume.path, *(other.path for other in volume.others.values()))
            self._owners |= dict.fromkeys(parts, group.provider)
        data = made.pop("data")
        return replace(data, others=made)

    def measure_space(self, volume: Volume) -> Space:
        return self._owners[volume.path].measure_space(volume)

    def keep(self) -> None:
        for group in self._groups:
            group.provider.keep()

    def release(self) -> None:
        for group in self._groups:
            group.provider.release()
