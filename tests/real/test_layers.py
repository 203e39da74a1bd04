"""Arrays over real devices: built, as large as promised, unmade."""

import mmap
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stithy.drives import control as places
from stithy.drives.control import Control
from stithy.hosts.devices import read_text
from stithy.hosts.runner import LocalRunner
from stithy.registry import plugins
from stithy.storage.layer import MEMBERS, LayerKeys, LayerKind
from stithy.storage.layers import btrfs
from stithy.storage.providers.drive import DriveKeys, EmulatedStorage
from stithy.storage.space import add_log
from support.arrays import MIB, Array, array_of, make_site, provisioned

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive]

KERNEL, ZFS, VDO = (
    getattr(pytest.mark, f"needs_{each}") for each in ("kernel_arrays", "zfs", "vdo")
)


def _case(layer: str, mark: Any, sizes_mib: list[int], **keys: object) -> Any:
    name = "-".join([layer, *map(str, keys.values())])
    return pytest.param(layer, keys, sizes_mib, marks=mark, id=name)


def _keys(layer: str, keys: dict[str, object]) -> LayerKeys:
    return plugins(LayerKind)[layer].keys.model_validate(keys)


def _members(layer: str, keys: dict[str, object]) -> int:
    return _keys(layer, keys).limit_members()[0]


def _same(layer: str, mark: Any, size_mib: int, **keys: object) -> Any:
    """A case on as few devices of one size as it takes."""
    return _case(layer, mark, [size_mib] * _members(layer, keys), **keys)


ARRAYS = [
    *(_case("btrfs", () if level in ("raid1", "raid6") else pytest.mark.long,
            [600, *[900] * (count - 1)], level=level, compression="zstd:1")
      for level, (count, *_) in MEMBERS.items()),
    *(_same(layer, KERNEL, 600, level=level) for layer in ("md", "lvm") for level in MEMBERS),
    *(_same("lvm", KERNEL, 600, level=level, checksum=True) for level in ("raid1", "raid5")),
    _same("writecache", KERNEL, 600),
    *(_same("zfs", ZFS, 600, level=level) for level in MEMBERS),
    *(_same("vdo", VDO, size, level=level)
      for level, size in (("single", 3300), ("raid0", 1650), ("raid1", 3300))),
]  # fmt: skip
"""Every level of every layer; of btrfs on devices of two sizes."""


@pytest.mark.parametrize(("layer", "keys", "sizes_mib"), ARRAYS)
def test_an_array_holds_what_it_promised(
    place: Path, layer: str, keys: dict[str, Any], sizes_mib: list[int]
) -> None:
    """Of data that do not shrink; afterwards nothing of it is left.

    Long: of btrfs all but one level of copies and one of parity.
    """
    with array_of(place, layer, keys, sizes_mib) as array:
        with (array.volume.path / "file").open("wb") as file:
            if layer in ("md", "lvm", "writecache"):
                os.posix_fallocate(file.fileno(), 0, array.promised_bytes)
            else:
                for _ in range(array.promised_bytes // MIB):
                    file.write(os.urandom(MIB))
                os.fsync(file.fileno())
        space, made = array.provider.measure_space(array.volume), array.volume.array
        expected = _keys(layer, keys).count_redundancy(len(sizes_mib))
        assert space.redundancy == pytest.approx(
            expected, rel=0.05 if layer in ("zfs", "vdo") else 0
        )
        if layer in ("md", "lvm", "writecache"):
            assert array.volume.filesystem == "ext4"
        if layer == "btrfs":
            assert made is not None
            assert (made.facts, made.redundancy) == (keys, space.redundancy)
            assert array.volume.filesystem == "btrfs"
            assert "compress-force=zstd:1" in array.volume.mount_options
            assert space.physical_bytes is not None
            assert space.physical_bytes >= space.logical_bytes * made.redundancy
        elif layer in ("zfs", "vdo"):
            assert space.reduction == pytest.approx(1, abs=0.05)


def test_single_files_add_up_in_btrfs(place: Path) -> None:
    """Compressed, in one place and in another; zeros of a log would count as data that shrink."""
    with array_of(place, "btrfs", {"level": "single", "compression": "zstd:1"}, [600]) as array:
        path, log = array.volume.path, array.volume.path / "log"
        log.mkdir()
        half = b"".join(os.urandom(2048) + bytes(2048) for _ in range(8 * 256))
        (path / "data").write_bytes(half)
        (log / "recycled").write_bytes(bytes(32 * MIB))
        with (path / "data").open("r+b") as file:  # an extent that is written over in part
            file.seek(MIB)
            file.write(os.urandom(MIB))
        (path / "small").write_bytes(b"inline")
        space = array.provider.measure_space(array.volume)
        every, of_log = btrfs.count_stored_bytes(path), btrfs.count_stored_bytes(log)
        assert space.stored_bytes == pytest.approx(every, rel=0.02)
        found = add_log(space, array.volume, [log])
        assert found.log_written_bytes == 32 * MIB
        assert found.log_stored_bytes == of_log < 2 * MIB
        assert found.reduction == pytest.approx(8.0 / ((every - of_log) / MIB), rel=0.02)
        assert (space.reduction or 0) > 2 * (found.reduction or 0) > 0


def test_a_block_that_changed_below_btrfs_is_counted(place: Path) -> None:
    """Where the only copy is wrong, and nobody has read it since."""
    with array_of(place, "btrfs", {"level": "single"}, [600]) as array:
        runner, mark = LocalRunner(), os.urandom(4096)
        (array.volume.path / "file").write_bytes(os.urandom(MIB) + mark + os.urandom(MIB))
        assert btrfs.count_damage(array.volume.path, runner) == 0
        [device] = array.devices
        image = Path(read_text(Path("/sys/block", device.name, "loop/backing_file")))
        with image.open("r+b") as file, mmap.mmap(file.fileno(), 0) as held:
            held[(at := held.find(mark)) : at + 4096] = bytes(4096)
        device_file = os.open(device, os.O_RDONLY)
        os.posix_fadvise(device_file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(device_file)
        assert btrfs.count_damage(array.volume.path, runner) == 1


@pytest.mark.parametrize(("layer", "keys", "sizes_mib"), [
    _same("zfs", ZFS, 600, level="raid5", compression="lz4", recordsize="128 KiB"),
    _same("vdo", VDO, 3300, level="single"),
])  # fmt: skip
def test_what_shrinks_takes_less(
    place: Path, layer: str, keys: dict[str, Any], sizes_mib: list[int]
) -> None:
    """Blocks of which three quarters are zeros."""
    with array_of(place, layer, keys, sizes_mib) as array:
        file = array.volume.path / "file"
        file.write_bytes(b"".join(os.urandom(1024) + bytes(3072) for _ in range(48 * 256)))
        space = array.provider.measure_space(array.volume)
        assert space.written_bytes >= 48 * MIB
        assert 2 < (space.reduction or 0) < 5
        file.unlink()
        after = array.provider.measure_space(array.volume)
        assert after.stored_bytes is not None
        assert after.stored_bytes < 12 * MIB


@pytest.mark.parametrize(("layer", "keys", "sizes_mib"), [
    _same("zfs", ZFS, 600, level="raid1", deduplication=True),
    _same("vdo", VDO, 3300, level="single", compression="none"),
])  # fmt: skip
def test_what_is_equal_is_stored_once(
    place: Path, layer: str, keys: dict[str, Any], sizes_mib: list[int]
) -> None:
    """Three files with the same content."""
    with array_of(place, layer, keys, sizes_mib) as array:
        content = os.urandom(16 * MIB)
        for name in "abc":
            (array.volume.path / name).write_bytes(content)
            os.sync()
        assert array.provider.measure_space(array.volume).reduction == pytest.approx(3, rel=0.15)


def _lose_devices(array: Array, place: Path) -> None:
    """Nothing is on any of them any more; md keeps the last ones."""
    for n, device in enumerate(array.devices):
        if node := [each.facts["device"] for each in array.recorder.resources if each.kind == "md"]:
            subprocess.run(["mdadm", "--fail", *node, device])
        os.truncate(place / f"disk-{n}.img", 0)
        os.truncate(place / f"disk-{n}.img", MIB * 300)
        subprocess.run(["blockdev", "--flushbufs", device], check=True)


def _renumber(array: Array, place: Path) -> None:
    """As whoever boots a machine assembles it."""
    subprocess.run(["umount", array.volume.mount_point], check=True)
    subprocess.run(["mdadm", "--stop", array.recorder.find("md")["device"]], check=True)
    subprocess.run(["mdadm", "--assemble", "/dev/md127", *array.devices], check=True)


@pytest.mark.needs_kernel_arrays
@pytest.mark.parametrize(
    ("layer", "level", "happens"),
    [("md", "raid5", _lose_devices), ("lvm", "raid5", _lose_devices), ("md", "raid1", _renumber)],
)
def test_an_array_is_always_unmade(
    place: Path, layer: str, level: str, happens: Callable[[Array, Path], None]
) -> None:
    """All have failed, so that nothing on them names it; or it has another number."""
    sizes_mib = [300] * _members(layer, {"level": level})
    before = set(os.listdir("/sys/block"))
    with array_of(place, layer, {"level": level}, sizes_mib, devices_stay=False) as array:
        happens(array, place)
    new = {Path("/sys/block", name) for name in set(os.listdir("/sys/block")) - before}
    assert [each for each in new if (each / "md").exists() or (each / "dm").exists()] == []


def _emulated(place: Path, **keys: object) -> EmulatedStorage:
    found = DriveKeys.model_validate({"drive": "generic-nvme", **keys})
    provider = EmulatedStorage({"data": found}, "array", make_site(place, needed_bytes=10**7))
    provider.check()
    return provider


@pytest.mark.needs_kernel_arrays
def test_an_array_of_md_lies_on_emulated_drives(place: Path, own_state: Path) -> None:
    """Synchronised on them, and filled; one program holds the data of all."""
    provider = _emulated(place, size="512 MiB", count=3, layer={"md": {"level": "raid5"}})
    with provisioned(provider) as (volume, _):
        control = Control(volume.drives[0].control)
        for drive in volume.drives:
            control.set(drive.name, paced=False)
        (volume.path / "file").write_bytes(os.urandom(256 * MIB))
        os.sync()
        assert len(control.list()) == 3
    assert places.list_folders() == []


def test_a_drive_may_be_the_volume(place: Path, own_state: Path) -> None:
    """Its device, of the size that was asked for; it goes with its program."""
    with provisioned(_emulated(place, size="64 MiB", filesystem="none")) as (volume, _):
        assert volume.raw
        assert volume.path.is_block_device()
        assert [drive.device for drive in volume.drives] == [str(volume.path)]
        with volume.path.open("rb") as file:
            assert file.seek(0, os.SEEK_END) == 64 * MIB
    assert places.list_folders() == []
