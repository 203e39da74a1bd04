"""A cluster that is there: which keys go with it, and that nothing of it is emulated."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fakes.clock import FakeClock
from fakes.program import EndingRunner
from stithy.cluster import layout
from stithy.errors import PreconditionError
from stithy.storage.provider import ROLES, Site, Volume
from stithy.storage.providers import ceph
from stithy.storage.providers.ceph import existing
from stithy.storage.providers.ceph.keys import CephKeys, CephSpec
from stithy.storage.providers.ceph.laboratory import need_room
from stithy.storage.space import Space

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
