"""Storage of candidates as a run makes it: arrays over devices or drives, undone at the end."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stithy.hosts.runner import LocalRunner
from stithy.run.books import Resource
from stithy.run.cleaning import clean_up
from stithy.storage.provider import ROLES, Site, Volume
from stithy.storage.providers.device import DeviceSpec, DeviceStorage
from support.loops import a_loop

MIB = 2**20


def make_site(place: Path, *, needed_bytes: int = 10**8, as_found: bool = False) -> Site:
    """Make a site that needs so many bytes for each role."""
    needed, seeds = dict.fromkeys(ROLES, needed_bytes), dict.fromkeys(ROLES, 1)
    return Site(LocalRunner(), needed, place, seeds, as_found=as_found)


def undo(*resources: Resource) -> None:
    """Remove what a run recorded, all of which must go."""
    assert clean_up("r1", resources, lambda number: None, everything=False) == []


@dataclass
class Recorder:
    """What a provider made, in the order of its making."""

    resources: list[Resource] = field(default_factory=list)

    def __call__(self, kind: str, facts: dict[str, str]) -> None:
        """Record one thing."""
        self.resources.append(Resource(len(self.resources), kind, facts))

    def find(self, kind: str) -> Mapping[str, str]:
        """Return the facts of the one thing of that kind."""
        [facts] = [each.facts for each in self.resources if each.kind == kind]
        return facts


@contextmanager
def provisioned(provider: Any) -> Iterator[tuple[Volume, Recorder]]:
    """Lend the volume of a provider and what was recorded; all of it is undone at the end."""
    recorder = Recorder()
    try:
        yield provider.provision("r1", recorder), recorder
    finally:
        undo(*recorder.resources)


@dataclass(frozen=True)
class Array:
    """An array, the devices under it, and how much it promised to hold."""

    provider: DeviceStorage
    volume: Volume
    devices: Sequence[Path]
    recorder: Recorder
    promised_bytes: int


@contextmanager
def array_of(
    place: Path,
    layer: str,
    keys: Mapping[str, object],
    sizes_mib: Sequence[int],
    *,
    devices_stay: bool = True,
) -> Iterator[Array]:
    """Lend an array over loop devices, which are empty again once it has gone, if they stay."""
    with ExitStack() as stack:
        devices = [
            stack.enter_context(a_loop(place, f"disk-{n}", MIB * size))
            for n, size in enumerate(sizes_mib)
        ]
        spec = DeviceSpec.model_validate({"device": devices, "layer": {layer: keys}})
        provider = DeviceStorage(spec, "array", make_site(place))
        provider.check()
        promised = provider.list_rooms()[0].free_bytes
        assert promised
        before = set(os.listdir("/sys/block"))
        with provisioned(provider) as (volume, recorder):
            assert {device.name for device in devices} <= set(volume.devices)
            yield Array(provider, volume, devices, recorder, promised)
        if devices_stay:
            assert set(os.listdir("/sys/block")) == before
            provider.check()  # which takes empty devices alone
