"""What a study says about a cluster of Ceph, and what its policies mean."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from stithy.cli.cluster.up import ClusterOptions, make_keys
from stithy.errors import UserError
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import set_aside, sum_daemons_bytes, sum_image_bytes
from stithy.storage.provider import ROLES, Site
from stithy.storage.providers.ceph import existing, laboratory
from stithy.storage.providers.ceph.keys import CephKeys
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
        assert not existing.is_clean({**status, "osdmap": {**osds, "num_in_osds": 2}})
