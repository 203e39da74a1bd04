"""Ceph as storage: policies, drives and links of a cluster of ours, and clusters that are there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fakes.clock import FakeClock
from fakes.program import EndingRunner
from stithy.cli.cluster.up import ClusterOptions, make_keys
from stithy.cluster import layout
from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import set_aside, sum_daemons_bytes, sum_image_bytes
from stithy.storage.provider import ROLES, Site, Volume
from stithy.storage.providers import ceph
from stithy.storage.providers.ceph import existing, laboratory
from stithy.storage.providers.ceph.keys import CephKeys, CephSpec
from stithy.storage.providers.ceph.laboratory import need_room
from stithy.storage.space import Space
from stithy.study.candidates import read_candidate

MIB = 2**20
NEEDED = dict.fromkeys(("data", "log", "temp", "backup"), 10**9)


@pytest.mark.parametrize(("policy", "hosts", "min_size", "redundancy"), [
    ({"ftt": 0}, 1, 1, 1.0),
    ({"ftt": 1}, 2, 1, 2.0),
    ({"ftt": 2}, 3, 1, 3.0),
    ({"erasure_coding": "2+1"}, 3, 2, 1.5),
    ({"erasure_coding": "3+1"}, 4, 3, 4 / 3),
    ({"erasure_coding": "4+2"}, 6, 4, 1.5),
])  # fmt: skip
def test_a_policy_serves_through_as_many_failed_hosts_as_its_name_says(
    policy: dict[str, object], hosts: int, min_size: int, redundancy: float
) -> None:
    """It needs a host for each copy or shard, and goes on with those that carry the data."""
    keys = CephKeys.model_validate({"hosts": hosts, "policy": policy})
    found = keys.policy.policy
    assert (found.hosts, found.min_size, found.redundancy) == (hosts, min_size, redundancy)
    assert found.hosts - found.min_size == found.failures
    if hosts > 1:
        with pytest.raises(ValidationError, match=f"at least {hosts} hosts"):
            CephKeys.model_validate({"hosts": hosts - 1, "policy": policy})


def test_copies_and_shards_at_once_are_refused() -> None:
    """A pool is one or the other."""
    with pytest.raises(ValidationError, match="`ftt` or `erasure_coding`"):
        CephKeys.model_validate({"policy": {"ftt": 1, "erasure_coding": "2+1"}})


def test_drives_hold_the_whole_volume_with_all_copies() -> None:
    """Each has its share, and room for what BlueStore keeps for itself."""
    one = CephKeys.model_validate({"hosts": 1, "size": "1 GiB", "policy": {"ftt": 0}})
    three = CephKeys.model_validate({"hosts": 3, "size": "1 GiB", "policy": {"ftt": 2}})
    assert one.count_drive_bytes(0) == three.count_drive_bytes(0) > 1024 * MIB


def test_drives_are_named_by_their_hosts() -> None:
    """With a number where a host has several."""
    assert CephKeys.model_validate({"hosts": 2}).names == ("data-host1", "data-host2")
    several = CephKeys.model_validate({"hosts": 2, "drives_per_host": 2})
    assert several.names == tuple(f"data-host{name}" for name in ("1-1", "1-2", "2-1", "2-2"))


def test_what_a_cluster_sets_aside_and_its_daemons_take_is_known_before() -> None:
    """By its policy, as the run will say it; of a cluster that is there nothing is known."""
    coded = {"size": "1 GiB", "policy": {"erasure_coding": "2+1"}, "backing": "/var/tmp"}
    candidate = read_candidate({"ceph": coded})
    found = set_aside(candidate, NEEDED)["data"]
    assert (found.provisioned_bytes, found.redundancy) == (1536 * MIB, 1.5)
    assert sum_image_bytes(candidate, NEEDED) == 0
    assert sum_daemons_bytes(candidate) == 750 * MIB
    there = read_candidate({"ceph": {"conf": "/etc/ceph/ceph.conf", "pool": "rbd"}})
    assert set_aside(there, NEEDED)["data"].redundancy is None
    assert sum_daemons_bytes(there) == 0


def test_a_policy_that_would_set_nothing_aside_is_refused() -> None:
    """A thick image is zeros, which compress to nothing."""
    with pytest.raises(ValidationError, match="zeros compress to nothing"):
        CephKeys.model_validate({"policy": {"space": "thick", "compression": "lz4"}})


def test_links_are_scaled_as_drives_are() -> None:
    """Else a scale model of 40 Gbit/s would have a network that never limits."""
    keys = CephKeys.model_validate({"network_gbit": 40, "scale": "1/8"})
    assert keys.link_gbit == 5
    assert CephKeys.model_validate({"scale": "1/8"}).link_gbit is None


def test_options_by_hand_are_keys_of_a_study() -> None:
    """Also of the faster drives; what does not go together is reported at its option."""
    found = make_keys(ClusterOptions(cache="generic-nvme", drive="generic-7200", hosts=4))
    assert found.cache is not None
    assert (found.cache.drive, found.drive, found.hosts) == ("generic-nvme", "generic-7200", 4)
    with pytest.raises(UserError, match="^these options: .*zeros compress to nothing"):
        make_keys(ClusterOptions(space="thick", compression="lz4"))


@pytest.mark.parametrize(("limit", "is_said"), [({}, False), ({"iops_limit": 500}, True)])
def test_a_plan_says_that_a_limit_takes_an_image_another_way(
    limit: dict[str, int], is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates of one study would differ in their way, too."""
    monkeypatch.setattr(laboratory, "describe_unlimited_access", lambda: "krbd")
    keys = CephKeys.model_validate({"hosts": 1, "policy": {"ftt": 0, **limit}})
    site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**6), tmp_path, dict.fromkeys(ROLES, 1))
    said = laboratory.LaboratoryStorage(keys, "a", site).list_cautions()
    assert any("without `iops_limit` go by krbd" in each for each in said) is is_said


@pytest.mark.parametrize(("available", "states", "expected"), [
    (True, {"active+clean": 30, "active+clean+scrubbing": 2}, True),
    (True, {"active+clean": 31, "active+undersized+degraded": 1}, False),
    (False, {}, None),
])  # fmt: skip
def test_a_manager_says_whether_a_cluster_is_clean(
    available: bool, states: dict[str, int], expected: bool | None
) -> None:
    """Scrubbing is clean; without a manager nobody knows."""
    groups = [{"state_name": name, "count": count} for name, count in states.items()]
    osds = {"num_osds": 3, "num_up_osds": 3, "num_in_osds": 3}
    status = {"mgrmap": {"available": available}, "osdmap": osds,
              "pgmap": {"pgs_by_state": groups, "num_pgs": 32}}  # fmt: skip
    assert existing.is_clean(status) is expected
    if expected:
        assert not existing.is_clean({**status, "osdmap": {**osds, "num_up_osds": 2}})
        assert existing.is_clean({**status, "osdmap": {**osds, "num_in_osds": 2}}), "one is out"
        assert existing.is_clean({**status, "osdmap": {**osds, "num_osds": 4}}), "one is out"


CONF = "/etc/ceph/ceph.conf"


def test_a_cluster_that_is_there_has_no_drives_of_ours() -> None:
    """Neither names nor memory."""
    spec = CephSpec.model_validate({"ceph": {"conf": CONF, "pool": "rbd", "size": "1 GiB"}})
    assert spec.ceph.conf == Path(CONF)
    [kind] = ceph.PLUGINS
    assert kind.name_drives(spec) == ()
    assert kind.count_image_bytes(spec, {"data": 10**9}) == 0
    assert not kind.has_emulated_drives(spec)


@pytest.mark.parametrize(("keys", "said"), [
    ({"conf": CONF}, "`conf` without `pool`"),
    ({"pool": "rbd"}, "`pool` without `conf`"),
    ({"conf": CONF, "pool": "rbd", "hosts": 3}, "`hosts` with `conf`"),
    ({"conf": "ceph.conf", "pool": "rbd"}, "not the path of a ceph.conf"),
    ({"conf": CONF, "pool": "a,conf=b"}, "not such a name"),
])  # fmt: skip
def test_keys_that_do_not_go_together_are_refused(keys: dict[str, object], said: str) -> None:
    """And words that would be other options of a program."""
    with pytest.raises(ValidationError, match=said):
        CephKeys.model_validate(keys)


def test_a_faster_drive_lies_beside_each_drive() -> None:
    """Its size is its own, and its name says beside which."""
    keys = CephKeys.model_validate(
        {"hosts": 1, "drives_per_host": 2, "policy": {"ftt": 0}, "size": "1 GiB",
         "cache": {"drive": "generic-nvme", "size": "512 MiB"}, "drive": "generic-7200"}
    )  # fmt: skip
    assert keys.names == ("data-host1-1", "data-host1-2", "data-host1-1-cache",
                          "data-host1-2-cache")  # fmt: skip
    assert [keys.name_profile(name) for name in keys.names] == [
        *["generic-7200"] * 2, *["generic-nvme"] * 2
    ]  # fmt: skip
    assert list(keys.count_bytes_by_drive(0).values())[2:] == [2**29, 2**29]


def test_a_volume_that_is_too_small_is_refused_with_the_size_that_would_do() -> None:
    """The same of a cluster that is raised, and of one that is there."""
    keys = CephKeys.model_validate({"conf": CONF, "pool": "rbd", "size": "256 MiB"})
    with pytest.raises(PreconditionError) as refused:
        need_room(keys, 80 * 2**20, "candidate a")
    assert "holds about 38.4 MiB, and its data may need 80 MiB" in str(refused.value)
    assert "at least 303 MiB" in refused.value.remedy
    need_room(CephKeys.model_validate({"size": "303 MiB"}), 80 * 2**20, "candidate a")


@pytest.mark.parametrize(("pool", "redundancy"), [
    ({"size": 3, "erasure_code_profile": ""}, 3.0),
    ({"size": 6, "erasure_code_profile": "ec"}, 1.5),
])  # fmt: skip
def test_the_redundancy_of_a_pool_is_its_copies_or_its_code(
    pool: dict[str, object], redundancy: float
) -> None:
    """`size` of an erasure-coded pool counts shards. As `ceph osd pool ls detail` tells them."""

    def ask(*words: str) -> object:
        if words[1] == "pool":
            return [{"pool_name": "other", "size": 9}, {"pool_name": "rbd", **pool}]
        return {"k": "4", "m": "2", "plugin": "jerasure"}

    assert existing.read_redundancy(ask, "rbd") == redundancy


def test_a_client_of_somebody_elses_cluster_tells_its_own(tmp_path: Path) -> None:
    """By a copy of the layout, of the same name, which is the cluster's."""
    (tmp_path / "run").mkdir()
    conf = tmp_path / "blue.conf"
    conf.write_text("[global]\nmon host = 10.0.0.1\n[client.admin]\nkeyring = /k")
    copy = layout.write_told(tmp_path / "run", conf, "admin")
    assert copy.name == "blue.conf"
    assert copy.stat().st_mode & 0o077 == 0
    text = copy.read_text()
    assert text.startswith(conf.read_text())
    assert text.endswith("\n[client.admin]\nadmin socket = image.asok\n")


# As `ceph df detail --format json` of Ceph 16.2 has them.
STATS = {"stored": 11534336, "objects": 64, "bytes_used": 34603008, "compress_bytes_used": 0,
         "compress_under_bytes": 0}  # fmt: skip


def _asked(*used: int, available: bool = True, **options: str) -> existing.Ask:
    """A cluster whose pool takes so much, one time after another."""
    left = list(used)

    def ask(*words: str) -> Any:
        if words[0] == "df":
            return {"pools": [{"name": "rbd", "stats": STATS | {"bytes_used": left.pop(0)}}]}
        if words[0] == "mgr":
            return {"available": available}
        if words[0] == "config":
            return "none"
        return [{"pool_name": "rbd", "options": options}]

    return ask


def test_the_books_of_a_pool_are_read_once_they_are_settled() -> None:
    """OSDs report every few seconds what was written."""
    assert (
        existing.wait_for_used_bytes(_asked(1, 34603008, 34603008), "rbd", FakeClock()) == 34603008
    )
    assert existing.wait_for_used_bytes(_asked(*range(1, 40)), "rbd", FakeClock()) is None
    assert existing.wait_for_used_bytes(_asked(7, 7), "other", FakeClock()) is None


def test_a_cluster_without_a_manager_has_no_books() -> None:
    """It answers 0, or what was true once."""
    assert existing.read_used_bytes(_asked(0, available=False), "rbd") is None


def test_a_pool_compresses_by_its_own_options_or_those_of_all() -> None:
    """As `ceph osd pool ls detail` has them."""
    assert existing.is_compressing(_asked(compression_mode="force"), "rbd")
    assert not existing.is_compressing(_asked(compression_mode="none"), "rbd")
    assert not existing.is_compressing(_asked(), "rbd")


CEPH = """#!/bin/sh
cd "${0%/*}"
case "$*" in
*"mgr stat"*) echo '{"available": '$(cat manager)'}' ;;
*"df detail"*) echo '{"pools": [{"name": "rbd", "stats": {"bytes_used": '$(cat used)'}}]}' ;;
*"pool ls detail"*)
  pool='"pool_name": "rbd", "size": 3, "erasure_code_profile": ""'
  echo "[{$pool, \\"options\\": $(cat options)}]" ;;
*"config get"*) echo '"none"' ;;
esac
"""
RBD = """#!/bin/sh
cd "${0%/*}"
cat images
"""


@dataclass(frozen=True)
class Answering:
    """A cluster of scripts: what its pool takes, which images it has, and its options."""

    folder: Path

    def says(self, used: int, images: str = "", options: str = "{}") -> None:
        """From now on."""
        for name, text in (("used", str(used)), ("images", images), ("options", options)):
            (self.folder / name).write_text(text)

    def space(self, used_before: int, used: int, images: str, options: str = "{}") -> Space:
        """Of an image that is made while the pool takes so much, and of which 1 MiB is written."""
        keys = CephKeys.model_validate({"conf": CONF, "pool": "rbd", "size": "1 GiB"})
        site = Site(EndingRunner(), dict.fromkeys(ROLES, 1), self.folder, dict.fromkeys(ROLES, 1))
        provider = existing.ExistingStorage(keys, "a", site)
        self.says(used_before)
        provider.look_at_pool()
        self.says(used, images, options)
        volume = self.folder / "volume"
        volume.mkdir(exist_ok=True)
        (volume / "file").write_bytes(bytes(range(256)) * 4096)
        return provider.measure_space(
            Volume(volume, "ext4", volume, "rw", devices=(), memory_backed=False)
        )


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """It answers at once, and is settled as soon."""
    for name, text in (("ceph", CEPH), ("rbd", RBD)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(existing, "REPORTED_S", 0.0)
    (tmp_path / "manager").write_text("true")
    return Answering(tmp_path)


def test_an_image_that_is_alone_in_its_pool_takes_what_the_pool_says(cluster: Answering) -> None:
    """What is stored once is the third part of three copies, compressed or not."""
    found = cluster.space(0, 3 * 700000, "stithy-1\n", '{"compression_mode": "force"}')
    assert (found.stored_bytes, found.physical_bytes) == (700000, 2100000)
    assert (found.allocated_bytes, found.provisioned_bytes) == (2100000, 3 * 2**30)
    assert (found.below, found.missing) == (True, {})


@pytest.mark.parametrize(
    ("before", "images"), [(0, "stithy-1\nother\n"), (2**30, "stithy-1\n")]
)  # fmt: skip
def test_an_image_beside_others_takes_nobody_knows_what(
    cluster: Answering, before: int, images: str
) -> None:
    """What its files store is known as long as the pool does not compress."""
    plain, compressed = (
        cluster.space(before, 5 * 2**30, images, f'{{"compression_mode": "{mode}"}}')
        for mode in ("none", "force")
    )
    assert plain.stored_bytes == plain.written_bytes > 0
    assert compressed.stored_bytes is None
    for each in (plain, compressed):
        assert (each.physical_bytes, each.allocated_bytes, each.redundancy) == (None, None, 3.0)
    assert set(compressed.missing) == {"stored_bytes", "physical_bytes", "allocated_bytes"}
    assert set(plain.missing) == {"physical_bytes", "allocated_bytes"}
    assert all("empty pool" in each for each in compressed.missing.values())


def test_an_image_is_left_and_named_while_its_cluster_cannot_be_asked(cluster: Answering) -> None:
    """So it stays in the register until the configuration is back; a foreign one never matters."""
    conf = cluster.folder / "ceph.conf"
    facts = {"conf": str(conf), "user": "admin", "pool": "rbd", "image": "stithy-r1-a-data"}
    with pytest.raises(PreconditionError, match=f"stithy-r1-a-data is left: {conf} is not there"):
        existing.remove_image(facts)
    existing.remove_image(facts | {"image": "somebody-elses"})
    existing.remove_image(facts | {"conf": str(cluster.folder / "down" / "ceph.conf")})
    conf.touch()
    cluster.says(0)
    existing.remove_image(facts)


def test_books_that_nobody_keeps_are_not_read(cluster: Answering) -> None:
    """A cluster without a manager says 0, or what was true once."""
    (cluster.folder / "manager").write_text("false")
    found = cluster.space(0, 3 * 700000, "stithy-1\n")
    assert found.physical_bytes is None
    assert "no manager" in found.missing["physical_bytes"]
    assert found.stored_bytes == found.written_bytes
