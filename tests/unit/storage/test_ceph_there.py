"""A cluster that is there: which keys go with it, and that nothing of it is emulated."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from stithy.cluster import configuration
from stithy.errors import PreconditionError
from stithy.storage.providers import ceph
from stithy.storage.providers.ceph import existing
from stithy.storage.providers.ceph.keys import CephKeys
from stithy.storage.providers.ceph.laboratory import need_room

CONF = "/etc/ceph/ceph.conf"


def test_a_cluster_that_is_there_has_no_drives_of_ours() -> None:
    """Neither names nor memory."""
    spec = ceph.Spec.model_validate({"ceph": {"conf": CONF, "pool": "rbd", "size": "1 GiB"}})
    assert spec.ceph.conf == Path(CONF)
    assert ceph.drive_names(spec) == ()
    assert ceph.image_bytes(spec, {"data": 10**9}) == 0
    assert not ceph.emulated_drives(spec)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"conf": CONF}, "`conf` without `pool`"),
        ({"pool": "rbd"}, "`pool` without `conf`"),
        ({"conf": CONF, "pool": "rbd", "hosts": 3}, "`hosts` with `conf`"),
        ({"conf": "ceph.conf", "pool": "rbd"}, "not the path of a ceph.conf"),
        ({"conf": CONF, "pool": "a,conf=b"}, "not such a name"),
    ],
)
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
    assert [keys.profile_of(each) for each in keys.names] == [
        *["generic-7200"] * 2, *["generic-nvme"] * 2
    ]  # fmt: skip
    assert list(keys.sizes_bytes(0).values())[2:] == [2**29, 2**29]


def test_a_volume_that_is_too_small_is_refused_with_the_size_that_would_do() -> None:
    """The same of a cluster that is raised, and of one that is there."""
    keys = CephKeys.model_validate({"conf": CONF, "pool": "rbd", "size": "256 MiB"})
    with pytest.raises(PreconditionError) as refused:
        need_room(keys, 80 * 2**20, "candidate a")
    assert "holds about 38.4 MiB, and its data may need 80 MiB" in str(refused.value)
    assert "at least 303 MiB" in refused.value.remedy
    need_room(CephKeys.model_validate({"size": "303 MiB"}), 80 * 2**20, "candidate a")


@pytest.mark.parametrize(
    ("pool", "redundancy"),
    [({"size": 3, "erasure_code_profile": ""}, 3.0),
     ({"size": 6, "erasure_code_profile": "ec"}, 1.5)],
)  # fmt: skip
def test_the_redundancy_of_a_pool_is_its_copies_or_its_code(
    pool: dict[str, object], redundancy: float
) -> None:
    """`size` of an erasure-coded pool counts shards. As `ceph osd pool ls detail` tells them."""

    def ask(*words: str) -> object:
        if words[1] == "pool":
            return [{"pool_name": "other", "size": 9}, {"pool_name": "rbd", **pool}]
        return {"k": "4", "m": "2", "plugin": "jerasure"}

    assert existing.redundancy_of(ask, "rbd") == redundancy


def test_a_client_of_somebody_elses_cluster_tells_its_own(tmp_path: Path) -> None:
    """By a copy of the configuration, of the same name, which is the cluster's."""
    (tmp_path / "run").mkdir()
    conf = tmp_path / "blue.conf"
    conf.write_text("[global]\nmon host = 10.0.0.1\n[client.admin]\nkeyring = /k")
    copy = configuration.write_told(tmp_path / "run", conf, "admin")
    assert copy.name == "blue.conf"
    assert copy.stat().st_mode & 0o077 == 0
    text = copy.read_text()
    assert text.startswith(conf.read_text())
    assert text.endswith("\n[client.admin]\nadmin socket = image.asok\n")
