"""Arrays over real devices: built, as large as promised, unmade."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from stithy.hosts.runner import LocalRunner
from stithy.run.cleanup.handlers import clean_up
from stithy.run.cleanup.register import Resource
from stithy.storage.layers.btrfs import LEAST, Level
from stithy.storage.provider import ROLES, Site
from stithy.storage.providers.device import Spec, create
from support.loops import a_loop

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive]

MIB = 2**20


@pytest.mark.parametrize("level", LEAST)
def test_an_array_of_btrfs_holds_what_it_promised(place: Path, level: Level) -> None:
    """Of devices of two sizes; what is left afterwards are empty devices."""
    with ExitStack() as stack:
        sizes = [MIB * (600 if n == 0 else 900) for n in range(LEAST[level])]
        devices = [
            stack.enter_context(a_loop(place, f"disk-{n}", size)) for n, size in enumerate(sizes)
        ]
        spec = Spec.model_validate({"device": devices, "layer": {"btrfs": {"level": level}}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        provider = create(spec, "array", site)
        provider.check()
        promised = provider.rooms()[0].free_bytes
        recorded: list[Resource] = []
        volume = provider.provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        assert volume.array is not None
        assert (volume.array.facts, volume.filesystem) == ({"level": level}, "btrfs")
        assert {each.name for each in devices} <= set(volume.devices)
        assert promised is not None
        with (volume.path / "file").open("wb") as file:
            for _ in range(promised // MIB):
                file.write(os.urandom(MIB))
            os.fsync(file.fileno())
        (volume.path / "file").unlink()
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        provider.check()  # which takes empty devices alone
