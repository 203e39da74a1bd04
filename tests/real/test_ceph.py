"""Clusters of Ceph: raised, written to, broken, unmade."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.cluster import daemons, layout
from stithy.cluster.layout import ask_ceph
from stithy.drives import control
from stithy.hosts.devices import list_mounts
from stithy.hosts.host import NAMESPACES
from stithy.hosts.links import INTERFACES
from stithy.hosts.processes import find_pids_inside, find_pids_within
from stithy.storage.providers.ceph.keys import CephKeys
from stithy.storage.providers.ceph.laboratory import LaboratoryStorage
from support.arrays import Recorder, make_site, undo

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_ceph]

UP_S, DOWN_S = 120.0, 60.0


@pytest.fixture
def recorded() -> Iterator[Recorder]:
    """What was made; it is unmade whatever a test does."""
    recorder = Recorder()
    yield recorder
    undo(*recorder.resources)


def _provider(place: Path, **keys: object) -> LaboratoryStorage:
    found = CephKeys.model_validate({"size": "512 MiB", **keys})
    return LaboratoryStorage(found, "lab", make_site(place, needed_bytes=10**7))


def _assert_gone(entry: layout.ClusterEntry, folder: Path, recorder: Recorder) -> None:
    begun_s = time.monotonic()
    undo(*recorder.resources)
    assert time.monotonic() - begun_s <= DOWN_S
    assert find_pids_within(folder) == []
    assert not folder.exists()
    assert not any(str(folder) in str(mount.point) for mount in list_mounts())
    links = {path.name for path in INTERFACES.iterdir()}
    assert not any(entry.tag in link for link in links)
    assert not any(entry.tag in each.name for each in NAMESPACES.iterdir())
    assert control.list_folders() == []


def test_a_cluster_keeps_its_policy(place: Path, own_state: Path, recorded: Recorder) -> None:
    """With cephx, on its own addresses; what files hold as often as the policy says.

    Of erasure coding: `tests/e2e/test_cluster_by_hand.py` loses one copy of a mirror.
    """
    policy = {"erasure_coding": "2+1", "compression": "lz4"}
    begun_s = time.monotonic()
    provider = _provider(place, policy=policy, network_gbit=10)
    provider.check()
    volume = provider.provision("r1", recorded)
    assert time.monotonic() - begun_s <= UP_S
    folder = volume.clusters[0]
    entry = layout.read_entry(folder)
    assert entry is not None
    shown = ask_ceph(folder, "osd", "pool", "ls", "detail", "--format", "json")
    pools = {load["pool_name"]: load for load in json.loads(shown)}
    data, asked = pools[layout.POOL], provider._keys.policy.policy
    assert (data["type"], data["size"], data["min_size"]) == (3, asked.hosts, asked.min_size)
    before = provider.measure_space(volume)
    with (volume.path / "file").open("wb") as file:
        file.write(os.urandom(64 * 2**20))
        os.fsync(file.fileno())
    after = provider.measure_space(volume)
    assert before.physical_bytes is not None
    assert after.physical_bytes is not None
    grown = after.physical_bytes - before.physical_bytes
    assert grown / 2**26 == pytest.approx(asked.redundancy, rel=0.1)
    (volume.path / "file").unlink()
    left = provider.measure_space(volume).physical_bytes
    assert left is not None
    assert left - before.physical_bytes < grown / 10
    _assert_gone(entry, folder, recorded)


@pytest.mark.long
def test_a_thick_image_stays_allocated(place: Path, own_state: Path, recorded: Recorder) -> None:
    """Neither its file system nor the question for its space gives anything back.

    All but the tables that the file system has asked zeros for.
    """
    provider = _provider(place, hosts=1, policy={"ftt": 0, "space": "thick"})
    volume = provider.provision("r1", recorded)
    for _ in range(2):
        taken = provider.measure_space(volume).allocated_bytes
        assert taken is not None
        assert taken > 0.9 * 512 * 2**20
        (volume.path / "file").write_bytes(os.urandom(2**26))
        os.sync()
        (volume.path / "file").unlink()


@pytest.mark.long
@pytest.mark.parametrize("fault", ["hung", "killed", "unplugged"])
def test_a_silent_cluster_is_removed(
    place: Path, own_state: Path, recorded: Recorder, fault: str
) -> None:
    """Without a second copy its requests would wait for ever, and unmounting with them."""
    volume = _provider(place, hosts=1, policy={"ftt": 0}).provision("r1", recorded)
    folder = volume.clusters[0]
    entry = layout.read_entry(folder)
    assert entry is not None
    (volume.path / "file").write_bytes(bytes(2**20))
    if fault == "unplugged":
        daemons.set_link(entry, 1, up=False)
    else:
        for pid in find_pids_inside(folder, "ceph-osd"):
            os.kill(pid, signal.SIGSTOP if fault == "hung" else signal.SIGKILL)
    _assert_gone(entry, folder, recorded)
