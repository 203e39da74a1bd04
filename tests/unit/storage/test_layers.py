"""What layers promise: from the sizes of their devices, and the sizes that a plan asks for."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import expand
from stithy.results.manifest import ArrayFacts
from stithy.storage.layer import MEMBERS, Layer, Level, OneLayer
from stithy.storage.layers import btrfs, lvm, zfs
from stithy.storage.provider import DEVICE_BYTES_MIN, MIB, count_usable_bytes
from stithy.storage.providers.drive import DriveKeys
from support.studies import study

LEVELS = tuple(MEMBERS)


@pytest.mark.parametrize(
    ("ask", "package"),
    [(lvm.VolumeGroup(["/dev/a"], str(UUID(int=1)), LocalRunner()).make, "lvm2"),
     (partial(zfs.run_checked, "zpool", ["list"], "p", LocalRunner()), "zfsutils-linux")],
)  # fmt: skip
def test_a_missing_program_of_an_array_names_its_own_package(
    ask: Callable[[], object], package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that lost it since, such as in cleaning up."""
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PreconditionError, match="was not found") as refused:
        ask()
    assert package in refused.value.remedy


@pytest.mark.parametrize(
    ("level", "sizes", "expected"),
    [
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
    ],
)
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


@pytest.mark.parametrize(
    ("level", "count", "expected"),
    [("single", 4, 1), ("raid10", 8, 2), ("raid1c3", 4, 3), ("raid5", 4, 4 / 3), ("raid6", 6, 1.5)],
)
def test_the_redundancy_of_btrfs(level: Level, count: int, expected: float) -> None:
    """Bytes on devices for a byte: erasure coding of 3+1 takes 1.33, of 4+2 takes 1.5."""
    assert btrfs.BtrfsKeys(level=level).count_redundancy(count) == pytest.approx(expected)


def test_a_layer_may_have_no_keys_and_a_key_no_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """Both have a name in words, before a run and in its report."""
    plain = (root / "tests/fakes/plugins/storage/layers/plain.py").read_text()
    keys = plain[plain.index("    percent:") : plain.index("    def limit_members")]
    (tmp_path / "storage/layers").mkdir(parents=True)
    for name, instead in (
        ("bare", ""),
        ("cut", "    at: int\n    by: int\n    of: int = 3\n\n"),
    ):
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
    for wrong in ({"compression": "gzip"}, {"compression": "lzo", "checksum": False}):
        with pytest.raises(ValidationError):
            btrfs.BtrfsKeys.model_validate(wrong)
