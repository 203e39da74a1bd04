"""Faults of drives under files that were made durable: what is there after the repair."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.drives import control as places
from stithy.hosts.runner import LocalRunner
from stithy.registry import plugins
from stithy.run.session import Stop
from stithy.run.volumes import Volumes
from stithy.scenarios.failure import service
from stithy.scenarios.failure.fault import FaultKind, Target
from stithy.scenarios.failure.levels import get_fault
from stithy.storage.copy import drop_cached_pages, sync_filesystem
from stithy.storage.providers.drive import DriveKeys, EmulatedStorage
from support.arrays import make_site, provisioned

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive]

CONTENT = os.urandom(2**20)
SINGLE: dict[str, Any] = {}
MIRROR: dict[str, Any] = {"count": 2, "layer": {"btrfs": {"level": "raid1"}}}
STALE: dict[str, Any] = {"count": 2, "layer": {"btrfs": {"level": "raid1", "checksum": False}}}


@contextmanager
def target_of(
    place: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]
) -> Iterator[Target]:
    """A volume of a candidate without a server, as faults see it."""
    drives = DriveKeys.model_validate({"drive": "generic-nvme", "size": "512 MiB", **keys})
    site = make_site(place, needed_bytes=10**7)
    monkeypatch.setattr(service, "find_server", lambda target: None)
    with provisioned(EmulatedStorage({"data": drives}, "array", site)) as (volume, record):
        session = SimpleNamespace(
            host=SimpleNamespace(runner=LocalRunner()),
            books=SimpleNamespace(recorder=lambda candidate: record), stop=Stop(),
        )  # fmt: skip
        of_nobody: Any = None
        books: Any = session.books
        volumes = Volumes(books, of_nobody, {}, of_nobody, made={"array": volume})
        context: Any = SimpleNamespace(volumes=volumes, session=session)
        yield Target(context, "array")
    assert places.list_folders() == []


def write_files(folder: Path, numbers: range) -> set[int]:
    """Write files of 1 MiB; the numbers of those that are durable."""
    durable = set()
    for number in numbers:
        try:
            with (folder / str(number)).open("wb") as file:
                file.write(CONTENT)
                file.flush()
                os.fsync(file.fileno())
            durable.add(number)
        except OSError:
            continue
    return durable


def count_right(folder: Path, numbers: set[int]) -> Counter[bool]:
    """Count which of the files are as they were written, read from the drives."""
    sync_filesystem(folder)
    drop_cached_pages(folder)
    # Which copy of a mirror is read depends on the process that asks.
    read = (
        subprocess.run(["cat", folder / str(number)], capture_output=True) for number in numbers
    )
    return Counter(finished.stdout == CONTENT for finished in read)


def break_and_repair(target: Target, name: str, options: dict[str, Any], before: range) -> Any:
    """Write under a fault and repair it; what is durable, and what the rebuild said."""
    fault: FaultKind = get_fault(name)
    keys = fault.keys.model_validate(options)
    folder = target.volume.path
    durable = write_files(folder, before)
    assert durable == set(before)
    fault.inject(target, keys)
    if name != "drive-power-cut":
        durable |= write_files(folder, range(before.stop, before.stop + 8))
    fault.heal(target, keys)
    assert fault.find_loss(target, keys) is None, name
    return durable, fault.rebuild(target, keys)


def test_a_mirror_repairs_what_each_fault_left(
    place: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were written meanwhile, too; an empty drive gets all of them."""
    with target_of(place, monkeypatch, MIRROR) as target:
        durable: set[int] = set()
        corrected = {}
        faults: dict[str, dict[str, Any]] = {
            "drive-gone": {"drive": 2}, "drive-errors": {"drive": 2, "share": "30%"},
            "drive-read-only": {"drive": 2}, "drive-corrupting": {"drive": 2, "bits": 3000},
            "drive-power-cut": {}, "drive-lost": {"drive": 2},
        }  # fmt: skip
        for number, (name, options) in enumerate(faults.items()):
            begin = 20 * number
            more, corrected[name] = break_and_repair(
                target, name, options, range(begin, begin + 8)
            )  # fmt: skip
            durable |= more
            assert count_right(target.volume.path, durable) == {True: len(durable)}, name
        # Each file that the drive missed is 256 blocks.
        assert corrected["drive-gone"].split()[0] == str(8 * 256)
        assert corrected["drive-power-cut"] is None
        assert corrected["drive-lost"].endswith("MiB rebuilt")
        assert target.context.volumes.moved == {"array"}


def test_a_mirror_without_checksums_gives_old_data(
    place: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing corrects what a drive missed: the fault shows what the policy does not promise."""
    with target_of(place, monkeypatch, STALE) as target:
        durable, _ = break_and_repair(target, "drive-gone", {"drive": 2}, range(8))
        assert len(durable) == 16
        assert count_right(target.volume.path, durable)[False] > 0


def test_a_single_drive_comes_back(
    place: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what was durable; its file system is mounted again where it had become read-only."""
    with target_of(place, monkeypatch, SINGLE) as target:
        folder = target.volume.path
        for begin, name in ((0, "drive-read-only"), (20, "drive-gone"), (40, "drive-power-cut")):
            durable, rebuilt = break_and_repair(target, name, {}, range(begin, begin + 8))
            assert rebuilt is None
            assert count_right(folder, durable) == {True: len(durable)}, name


@pytest.mark.parametrize(
    ("name", "keys"), [("storage-full", SINGLE), ("quota-reached", {"filesystem": "btrfs"})]
)
def test_a_volume_without_room_takes_writes_again(
    place: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch, name: str, keys: dict[str, Any]
) -> None:
    """Nothing can be written while the fault lasts; what was there before it stays."""
    with target_of(place, monkeypatch, keys) as target:
        folder, fault = target.volume.path, plugins(FaultKind)[name]
        durable = write_files(folder, range(60, 64))
        fault.inject(target, fault.keys())
        assert write_files(folder, range(64, 68)) == set()
        fault.heal(target, fault.keys())
        fault.heal(target, fault.keys())
        durable |= write_files(folder, range(64, 68))
        assert count_right(folder, durable) == {True: 8}
