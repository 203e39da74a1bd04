"""Layers that compress and store once what is equal, where the kernel has them: ZFS and dm-vdo."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stithy.hosts.runner import LocalRunner
from stithy.run.cleanup.handlers import clean_up
from stithy.run.cleanup.register import Resource
from stithy.storage.layers import vdo, zfs
from stithy.storage.provider import ROLES, Site, Volume
from stithy.storage.providers.device import DeviceStorage, Spec
from support.loops import a_loop

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive]

MIB = 2**20
ARRAYS = [
    *(
        pytest.param(zfs, 600, {"level": level}, marks=pytest.mark.needs_zfs)
        for level in zfs.MEMBERS
    ),
    *(
        pytest.param(vdo, size, {"level": level}, marks=pytest.mark.needs_vdo)
        for level, size in (("single", 3300), ("raid0", 1650), ("raid1", 3300))
    ),
]
"""On devices of so many MiB."""


def _name(value: Any) -> str:
    if isinstance(value, ModuleType):
        return str(value.PLUGINS[0].name)
    return "-".join(map(str, value.values())) if isinstance(value, dict) else f"{value}M"


@dataclass(frozen=True)
class Made:
    """An array on devices that are as empty as before once it has gone."""

    provider: DeviceStorage
    volume: Volume
    promised_bytes: int


@contextmanager
def _made(place: Path, layer: Any, size_mib: int, keys: dict[str, Any]) -> Iterator[Made]:
    with ExitStack() as stack:
        count = layer.members(layer.Spec.model_validate(keys))[0]
        devices = [
            stack.enter_context(a_loop(place, f"disk-{n}", MIB * size_mib)) for n in range(count)
        ]
        spec = Spec.model_validate({"device": devices, "layer": {layer.PLUGINS[0].name: keys}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        provider = DeviceStorage(spec, "array", site)
        provider.check()
        promised = provider.rooms()[0].free_bytes
        assert promised
        before = set(os.listdir("/sys/block"))
        recorded: list[Resource] = []
        try:
            volume = provider.provision(
                "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
            )
            assert {device.name for device in devices} <= set(volume.devices)
            yield Made(provider, volume, promised)
        finally:
            assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        assert set(os.listdir("/sys/block")) == before
        provider.check()  # which takes empty devices alone


@pytest.mark.parametrize(("layer", "size_mib", "keys"), ARRAYS, ids=_name)
def test_an_array_holds_what_it_promised(
    place: Path, layer: Any, size_mib: int, keys: dict[str, Any]
) -> None:
    """Of data that do not shrink; afterwards nothing of it is left."""
    with _made(place, layer, size_mib, keys) as made:
        with (made.volume.path / "file").open("wb") as file:
            for _ in range(made.promised_bytes // MIB):
                file.write(os.urandom(MIB))
            os.fsync(file.fileno())
        space = made.provider.space(made.volume)
        assert made.volume.array is not None
        assert space.redundancy == pytest.approx(made.volume.array.redundancy, rel=0.05)
        assert space.reduction == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("layer", "size_mib", "keys"),
    [
        pytest.param(
            zfs, 600, {"level": "raid5", "compression": "lz4", "recordsize": "128 KiB"},
            marks=pytest.mark.needs_zfs,
        ),
        pytest.param(vdo, 3300, {"level": "single"}, marks=pytest.mark.needs_vdo),
    ],
    ids=_name,
)  # fmt: skip
def test_what_shrinks_takes_less(
    place: Path, layer: Any, size_mib: int, keys: dict[str, Any]
) -> None:
    """Blocks of which three quarters are zeros."""
    with _made(place, layer, size_mib, keys) as made:
        file = made.volume.path / "file"
        file.write_bytes(b"".join(os.urandom(1024) + bytes(3072) for _ in range(48 * 256)))
        space = made.provider.space(made.volume)
        assert space.written_bytes >= 48 * MIB
        assert space.reduction is not None
        assert 2 < space.reduction < 5
        file.unlink()
        after = made.provider.space(made.volume)
        assert after.stored_bytes is not None
        assert after.stored_bytes < 12 * MIB


@pytest.mark.parametrize(
    ("layer", "size_mib", "keys"),
    [
        pytest.param(
            zfs, 600, {"level": "raid1", "deduplication": True}, marks=pytest.mark.needs_zfs
        ),
        pytest.param(
            vdo, 3300, {"level": "single", "compression": "none"}, marks=pytest.mark.needs_vdo
        ),
    ],
    ids=_name,
)
def test_what_is_equal_is_stored_once(
    place: Path, layer: Any, size_mib: int, keys: dict[str, Any]
) -> None:
    """Three files with the same content."""
    with _made(place, layer, size_mib, keys) as made:
        content = os.urandom(16 * MIB)
        for name in "abc":
            (made.volume.path / name).write_bytes(content)
            os.sync()
        space = made.provider.space(made.volume)
        assert space.reduction == pytest.approx(3, rel=0.15)
