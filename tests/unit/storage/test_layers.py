"""Arrays: what each layer can be, which policy is which level, what they hold and how they warn."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import expand
from stithy.registry import plugins
from stithy.results.manifest import ArrayFacts
from stithy.storage.layer import MEMBERS, Layer, LayerKeys, LayerKind, Level, OneLayer
from stithy.storage.layers import btrfs, lvm, zfs
from stithy.storage.provider import DEVICE_BYTES_MIN, MIB, count_usable_bytes
from stithy.storage.providers import array
from stithy.storage.providers.drive import DriveKeys
from support.studies import study

GIB = 2**30
LEVELS = tuple(MEMBERS)


@pytest.mark.parametrize(("ask", "package"), [
    (lvm.VolumeGroup(["/dev/a"], str(UUID(int=1)), LocalRunner()).make, "lvm2"),
    (partial(zfs.run_checked, "zpool", ["list"], "p", LocalRunner()), "zfsutils-linux"),
])  # fmt: skip
def test_a_missing_program_of_an_array_names_its_own_package(
    ask: Callable[[], object], package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that lost it since, such as in cleaning up."""
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PreconditionError, match="was not found") as refused:
        ask()
    assert package in refused.value.remedy


@pytest.mark.parametrize(("level", "sizes", "expected"), [
    ("single", [3, 5], 8),
    ("raid0", [3, 5], 6),
    ("raid1", [4, 4], 4),
    ("raid1", [3, 5], 3),
    ("raid1", [2, 2, 4], 4),
    ("raid1", [1, 1, 8], 2),
    ("raid1c3", [3, 3, 9], 3),
    ("raid1c3", [2, 2, 2, 9], 3),
    ("raid10", [2, 2, 2, 3], 4),
    ("raid5", [2, 2, 2, 3], 6),
    ("raid6", [2, 2, 2, 3], 4),
])  # fmt: skip
def test_the_capacity_of_btrfs(level: Level, sizes: list[int], expected: int) -> None:
    """No two copies on one device; a large one is of no use beyond what the others hold of it."""
    assert btrfs.BtrfsKeys(level=level).count_capacity_bytes(sizes) == expected


@given(st.sampled_from(LEVELS), st.integers(0, 6), st.integers(1, 2**41))
def test_members_are_as_large_as_needed_and_not_larger(
    level: Level, more: int, needed: int
) -> None:
    """Whole MiB."""
    layer, count = Layer("btrfs", btrfs.BtrfsKeys(level=level)), MEMBERS[level][0] + more
    size = layer.count_member_bytes("ext4", needed, count)
    assert size % MIB == 0
    assert layer.count_usable_bytes("ext4", [size] * count) >= needed
    smaller = size - MIB
    assert (
        smaller < DEVICE_BYTES_MIN or layer.count_usable_bytes("ext4", [smaller] * count) < needed
    )


def test_the_plan_counts_every_drive_of_an_array() -> None:
    """An array that mirrors takes twice the memory; its drives have names of their own."""
    layer = {"btrfs": {"level": "raid10"}}
    keys = DriveKeys.model_validate({"drive": "a", "count": 4, "layer": layer, "size": "1 GiB"})
    assert keys.count_image_bytes(0) == 4 * 2**30
    assert keys.count_usable_bytes(2**30) == count_usable_bytes("btrfs", 2 * 2**30)
    assert (keys.name_drives("log"), keys.model_copy(update={"count": 1}).name_drives("log")) == (
        ("log-1", "log-2", "log-3", "log-4"),
        ("log",),
    )
    disk = "disk: {path: /var/tmp/stithy}"
    single, mirror = (
        expand(study((disk, f"disk: {{drive: a{more}}}"))).image_bytes["disk"]
        for more in (", filesystem: btrfs", ", count: 2, layer: {btrfs: {}}")
    )
    assert 2 * single - 2 * MIB <= mirror <= 2 * single + 2 * MIB


def test_a_layer_may_have_no_keys_and_a_key_no_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """Both have a name in words, before a run and in its report."""
    plain = (root / "tests/fakes/plugins/storage/layers/plain.py").read_text()
    keys = plain[plain.index("    percent:") : plain.index("    def limit_members")]
    (tmp_path / "storage/layers").mkdir(parents=True)
    for name, instead in (("bare", ""), ("cut", "    at: int\n    by: int\n    of: int = 3\n\n")):
        text = plain.replace(keys, instead).replace('"plain"', f'"{name}"')
        (tmp_path / f"storage/layers/{name}.py").write_text(text)
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
    for value, words in (({"bare": None}, "bare"), ({"cut": {"at": 1, "by": 2}}, "cut 1, by 2")):
        layer = OneLayer().read(value)
        assert layer is not None
        facts = ArrayFacts(role="data", layer=layer.name, keys=dict(layer.facts), members=("sda",))
        assert str(layer) == facts.kind == words


def test_an_array_says_what_is_asked_of_it_and_what_it_warns_of() -> None:
    """Its level, and what is not as usual; compression needs checksums."""
    asked = Layer("btrfs", btrfs.BtrfsKeys(level="raid5", compression="zstd:1"))
    assert (str(asked), asked.spec.list_mount_options()) == (
        "btrfs raid5, compression zstd:1",
        ("compress-force=zstd:1",),
    )
    assert [
        len(each.spec.list_cautions()) for each in (asked, Layer("btrfs", btrfs.BtrfsKeys()))
    ] == [1, 0]
    without = Layer("btrfs", btrfs.BtrfsKeys(checksum=False))
    assert (without.spec.list_mount_options(), len(without.spec.list_cautions())) == (
        ("nodatasum",),
        1,
    )


def make_keys(layer: str, keys: Mapping[str, object]) -> LayerKeys:
    """The keys of a layer as a study gives them."""
    return plugins(LayerKind)[layer].keys.model_validate(keys)


MIRROR = {"level": "raid1", "checksum": True}


@pytest.mark.parametrize(
    ("layer", "keys", "sizes_gib", "copies", "least_share"),
    [
        *((layer, {"level": level}, [1] * count, copies, least)
          for layer, least in (("md", 0.85), ("lvm", 0.98))
          for level, count, copies in (("single", 2, 1), ("raid0", 2, 1), ("raid1", 2, 2),
                                       ("raid10", 6, 2), ("raid5", 4, 4 / 3), ("raid6", 6, 1.5))),
        ("btrfs", {"level": "raid1c3"}, [1] * 3, 3, 0.99),
        ("lvm", MIRROR, [8, 8], 2, 0.97),
        ("lvm", MIRROR, [800, 800], 2, 0.97),
        ("writecache", {}, [1, 1], 2, 0.99),
    ],
)  # fmt: skip
def test_capacity_is_what_copies_and_parity_leave(
    layer: str, keys: Mapping[str, object], sizes_gib: list[int], copies: float, least_share: float
) -> None:
    """Less what a layer keeps for itself; a cache of writes adds nothing."""
    spec, whole = make_keys(layer, keys), sum(sizes_gib) * GIB
    redundancy = 1.0 if layer == "writecache" else copies
    assert spec.count_redundancy(len(sizes_gib)) == pytest.approx(redundancy)
    capacity = spec.count_capacity_bytes([size * GIB for size in sizes_gib])
    most = 1 - 4 / 512 if "checksum" in keys else 1  # four bytes for a sector, and the journal
    assert least_share * whole / copies < capacity <= most * whole / copies


@pytest.mark.parametrize(
    ("layer", "wrong"),
    [
        *((layer, {"level": level, "chunk": chunk}) for layer in ("md", "lvm")
          for level, chunk in (("raid1", "64 KiB"), ("raid5", "65 KiB"))),
        ("lvm", {"level": "raid0", "checksum": True}),
        ("btrfs", {"compression": "gzip"}),
        ("btrfs", {"compression": "lzo", "checksum": False}),
        ("zfs", {"compression": "gzip"}),
        ("zfs", {"compression": "zstd:20"}),
        ("zfs", {"recordsize": "7 KiB"}),
        ("zfs", {"recordsize": "2 MiB"}),
        ("zfs", {"deduplication": True, "checksum": False}),
        ("zfs", {"level": "raidz3"}),
        ("vdo", {"overcommit": 0.5}),
    ],
)  # fmt: skip
def test_what_a_layer_cannot_be_is_refused(layer: str, wrong: Mapping[str, object]) -> None:
    """When the study is read."""
    with pytest.raises(ValidationError):
        make_keys(layer, wrong)


@pytest.mark.parametrize(
    ("layer", "keys", "is_slow"),
    [("lvm", {"level": "raid5"}, True), ("lvm", MIRROR, True), ("md", {"level": "raid6"}, True),
     ("lvm", {"level": "raid1"}, False), ("md", {"level": "raid10"}, False)],
)  # fmt: skip
def test_what_is_synchronised_first_says_so(
    layer: str, keys: Mapping[str, object], is_slow: bool
) -> None:
    """It may take hours, in which nothing else is to be seen."""
    cautions = make_keys(layer, keys).list_cautions()
    assert ["synchronised before the first window" in caution for caution in cautions] == (
        [True] if is_slow else []
    )


def _array(**keys: Any) -> array.ArraySpec:
    return array.ArraySpec.model_validate({"array": keys})


@pytest.mark.parametrize(("count", "policy", "level"), [
    (1, {"ftt": 0}, "single"),
    (4, {"ftt": 0, "stripe_width": 4}, "raid0"),
    (2, {}, "raid1"),
    (3, {"ftt": 2}, "raid1c3"),
    (8, {"ftt": 1, "stripe_width": 4}, "raid10"),
    (4, {"erasure_coding": "3+1"}, "raid5"),
    (6, {"erasure_coding": "4+2", "ftt": 2}, "raid6"),
])  # fmt: skip
def test_a_policy_is_the_level_that_honours_it(
    count: int, policy: dict[str, Any], level: str
) -> None:
    """Failures to tolerate by copies or by erasure coding, and the width of stripes."""
    found = _array(drives=count, drive="generic-sata", policy=policy).array
    assert found.layer.facts["level"] == level
    assert isinstance(found.members, DriveKeys)
    assert found.members.count == count


@pytest.mark.parametrize(("keys", "key"), [
    ({"drives": 3, "policy": {"erasure_coding": "3+1"}}, "policy"),
    ({"drives": 4, "policy": {"erasure_coding": "3+1", "ftt": 2}}, "policy"),
    ({"drives": 4, "policy": {"erasure_coding": "3x1"}}, "policy"),
    ({"drives": 4, "policy": {"ftt": 3}}, "policy"),
    ({"drives": 6, "policy": {"ftt": 2, "stripe_width": 2}}, "policy"),
    ({"drives": 4, "policy": {"ftt": 1, "stripe_width": 4}}, "policy"),
    ({"drives": 4, "policy": {}, "level": "raid10"}, "level"),
    ({"drives": 2, "level": "raid10"}, "level"),
    ({"drives": 2, "level": "raidz"}, "level"),
    ({"drives": 1}, "drives"),
    ({"drives": 2, "chunk": "64 KiB"}, "chunk"),
    ({"drives": 3, "engine": "md", "compression": "lzo"}, "compression"),
    ({"drives": 2, "deduplication": True}, "deduplication"),
    ({"drives": 2, "engine": "vdo", "recordsize": "8 KiB"}, "recordsize"),
    ({"drives": 2, "engine": "vdo", "compression": "zstd"}, "compression"),
    ({"drives": 3, "engine": "zfs", "policy": {"ftt": 0}}, "policy"),
    ({"drives": 4, "engine": "zfs", "policy": {"ftt": 3}}, "policy"),
    ({"drives": 3, "engine": "md", "level": "raid1"}, "level"),
    ({"drives": 5, "engine": "lvm", "level": "raid10"}, "level"),
    ({"drives": 7, "engine": "vdo", "level": "raid10"}, "level"),
    ({"drives": 2, "engine": "paper"}, "engine"),
    ({"drives": 2, "engine": "writecache"}, "engine"),
    ({"drives": 2, "wipe": True}, "wipe"),
    ({"drives": 2, "size": "7"}, "size"),
    ({"drives": 2, "filesystem": "xfs"}, "filesystem"),
])  # fmt: skip
def test_what_no_engine_honours_is_refused_at_its_key(keys: dict[str, Any], key: str) -> None:
    """Each with the key to change."""
    with pytest.raises(ValidationError) as refused:
        _array(drive="generic-sata", **keys)
    assert [error["loc"][:2] for error in refused.value.errors()] == [("array", key)]


@pytest.mark.parametrize(("engine", "keys", "words"), [
    ("zfs", {"policy": {"erasure_coding": "4+2"}, "drives": 6, "recordsize": "16 KiB"},
     "zfs raid6, recordsize 16 KiB"),
    ("zfs", {"level": "raid1", "drives": 2, "compression": "zstd:3", "deduplication": True},
     "zfs raid1, compression zstd:3, deduplication on"),
    ("vdo", {"policy": {"ftt": 1, "stripe_width": 2}, "drives": 4, "compression": "none"},
     "vdo raid10, compression none"),
])  # fmt: skip
def test_engines_that_reduce_take_policies_as_others_do(
    engine: str, keys: dict[str, Any], words: str
) -> None:
    """With what they alone have beside."""
    assert str(_array(drive="generic-sata", engine=engine, **keys).array.layer) == words


def test_devices_are_members_as_drives_are() -> None:
    """They are somebody's, so that two arrays must not share one; drives are made anew."""
    names = ["/dev/disk/by-id/a", "/dev/disk/by-id/b"]
    devices, drives = _array(devices=names), _array(drives=2, drive="generic-sata")
    [kind] = array.PLUGINS
    assert kind.is_overlapping(devices, _array(devices=[names[1], "/dev/disk/by-id/c"]))
    assert not kind.is_overlapping(drives, drives)
    assert [kind.has_emulated_drives(each) for each in (devices, drives)] == [False, True]
    assert (kind.name_drives(devices), kind.name_drives(drives)) == ((), ("data-1", "data-2"))
    with pytest.raises(ValidationError):
        _array(devices=names, drives=2)
