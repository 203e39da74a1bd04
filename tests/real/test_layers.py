"""Arrays over real devices: built, as large as promised, unmade."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from stithy.drives import places
from stithy.drives.control import Control
from stithy.hosts.runner import LocalRunner
from stithy.run.cleanup.handlers import clean_up
from stithy.run.cleanup.register import Resource
from stithy.storage.layer import MEMBERS, Level
from stithy.storage.layers import lvm, md, writecache
from stithy.storage.layers.btrfs import stored_bytes
from stithy.storage.provider import ROLES, Site
from stithy.storage.providers.device import DeviceStorage, Spec
from stithy.storage.providers.drive.emulated import EmulatedStorage
from stithy.storage.providers.drive.keys import DriveKeys
from stithy.storage.space import with_log
from support.loops import a_loop

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive]

MIB = 2**20


@pytest.mark.parametrize("level", MEMBERS)
def test_an_array_of_btrfs_holds_what_it_promised(place: Path, level: Level) -> None:
    """Of devices of two sizes; what is left afterwards are empty devices."""
    compressed = {"level": level, "compression": "zstd:1"}
    with ExitStack() as stack:
        sizes = [MIB * (600 if n == 0 else 900) for n in range(MEMBERS[level][0])]
        devices = [
            stack.enter_context(a_loop(place, f"disk-{n}", size)) for n, size in enumerate(sizes)
        ]
        spec = Spec.model_validate({"device": devices, "layer": {"btrfs": compressed}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        provider = DeviceStorage(spec, "array", site)
        provider.check()
        promised = provider.rooms()[0].free_bytes
        recorded: list[Resource] = []
        volume = provider.provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        assert volume.array is not None
        assert (volume.array.facts, volume.filesystem) == (compressed, "btrfs")
        assert "compress-force=zstd:1" in volume.mount_options
        assert {device.name for device in devices} <= set(volume.devices)
        assert promised is not None
        with (volume.path / "file").open("wb") as file:
            for _ in range(promised // MIB):
                file.write(os.urandom(MIB))
        taken = provider.space(volume)
        assert volume.array.redundancy == taken.redundancy
        assert taken.physical_bytes is not None
        assert taken.physical_bytes >= taken.logical_bytes * volume.array.redundancy
        (volume.path / "file").unlink()
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        provider.check()  # which takes empty devices alone


def test_what_single_files_take_adds_up_to_the_books_of_btrfs(place: Path) -> None:
    """Compressed, in one place and in another; zeros of a log would count as data that shrink."""
    with ExitStack() as stack:
        device = stack.enter_context(a_loop(place, "disk", MIB * 600))
        layer = {"btrfs": {"level": "single", "compression": "zstd:1"}}
        spec = Spec.model_validate({"device": [device], "layer": layer})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        provider = DeviceStorage(spec, "array", site)
        recorded: list[Resource] = []
        volume = provider.provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        log = volume.path / "log"
        log.mkdir()
        half = b"".join(os.urandom(2048) + bytes(2048) for _ in range(8 * 256))
        (volume.path / "data").write_bytes(half)
        (log / "recycled").write_bytes(bytes(32 * MIB))
        with (volume.path / "data").open("r+b") as file:  # an extent that is written over in part
            file.seek(MIB)
            file.write(os.urandom(MIB))
        (volume.path / "small").write_bytes(b"inline")
        space = provider.space(volume)
        every = stored_bytes(volume.path)
        assert space.stored_bytes == pytest.approx(every, rel=0.02)
        found = with_log(space, volume, [log])
        assert found.log_written_bytes == 32 * MIB
        assert found.log_stored_bytes == stored_bytes(log) < 2 * MIB
        assert found.reduction == pytest.approx(8.0 / ((every - stored_bytes(log)) / MIB), rel=0.02)
        assert space.reduction is not None
        assert found.reduction is not None
        assert space.reduction > 2 * found.reduction
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []


ARRAYS = [
    *((layer, {"level": level}) for layer in (md, lvm) for level in layer.MEMBERS),
    *((lvm, {"level": level, "checksum": True}) for level in ("raid1", "raid5")),
    (writecache, {}),
]
"""Every level of the kernel's arrays, on as few devices as it takes."""


def _name(value: ModuleType | dict[str, object]) -> str:
    return (
        str(value.PLUGINS[0].name)
        if isinstance(value, ModuleType)
        else "-".join(map(str, value.values()))
    )


@pytest.mark.needs_kernel_arrays
@pytest.mark.parametrize(("layer", "keys"), ARRAYS, ids=_name)
def test_an_array_of_the_kernel_holds_what_it_promised(
    place: Path, layer: ModuleType, keys: dict[str, object]
) -> None:
    """Its devices are empty afterwards, and nothing of it is left in the kernel."""
    asked = layer.Spec.model_validate(keys)
    with ExitStack() as stack:
        devices = [
            stack.enter_context(a_loop(place, f"disk-{n}", MIB * 600))
            for n in range(layer.members(asked)[0])
        ]
        spec = Spec.model_validate({"device": devices, "layer": {layer.PLUGINS[0].name: keys}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        provider = DeviceStorage(spec, "array", site)
        provider.check()
        promised = provider.rooms()[0].free_bytes
        before = set(os.listdir("/sys/block"))
        recorded: list[Resource] = []
        volume = provider.provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        try:
            assert volume.filesystem == "ext4"
            assert {device.name for device in devices} <= set(volume.devices)
            assert provider.space(volume).redundancy == layer.redundancy(asked, len(devices))
            assert promised is not None
            with (volume.path / "file").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, promised)
        finally:
            assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        assert set(os.listdir("/sys/block")) == before
        provider.check()


@pytest.mark.needs_kernel_arrays
def test_an_array_of_md_is_unmade_after_all_its_devices_have_failed(place: Path) -> None:
    """Its identifier, by which it is known as Stithy's, can be read from none of them."""
    with ExitStack() as stack:
        devices = [stack.enter_context(a_loop(place, f"disk-{n}", MIB * 300)) for n in range(3)]
        spec = Spec.model_validate({"device": devices, "layer": {"md": {"level": "raid5"}}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        recorded: list[Resource] = []
        DeviceStorage(spec, "array", site).provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        [node] = [each.facts["device"] for each in recorded if each.kind == "md"]
        for n, device in enumerate(devices):
            subprocess.run(["mdadm", "--fail", node, device])  # md keeps the last ones
            os.truncate(place / f"disk-{n}.img", 0)
            os.truncate(place / f"disk-{n}.img", MIB * 300)
            subprocess.run(["blockdev", "--flushbufs", device], check=True)
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        assert not Path("/sys/block", Path(node).name, "md").exists()


@pytest.mark.needs_kernel_arrays
def test_an_array_of_lvm_is_unmade_after_all_its_devices_have_failed(place: Path) -> None:
    """LVM finds no group on them any more, and the kernel still has its volumes."""
    with ExitStack() as stack:
        devices = [stack.enter_context(a_loop(place, f"disk-{n}", MIB * 300)) for n in range(3)]
        spec = Spec.model_validate({"device": devices, "layer": {"lvm": {"level": "raid5"}}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        before = set(os.listdir("/sys/block"))
        recorded: list[Resource] = []
        DeviceStorage(spec, "array", site).provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        for n, device in enumerate(devices):
            os.truncate(place / f"disk-{n}.img", 0)
            os.truncate(place / f"disk-{n}.img", MIB * 300)
            subprocess.run(["blockdev", "--flushbufs", device], check=True)
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        assert set(os.listdir("/sys/block")) == before


@pytest.mark.needs_kernel_arrays
def test_an_array_of_md_under_another_number_is_found_by_its_identifier(place: Path) -> None:
    """As whoever boots a machine assembles it."""
    with ExitStack() as stack:
        devices = [stack.enter_context(a_loop(place, f"disk-{n}", MIB * 300)) for n in range(2)]
        spec = Spec.model_validate({"device": devices, "layer": {"md": {"level": "raid1"}}})
        site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
        recorded: list[Resource] = []
        volume = DeviceStorage(spec, "array", site).provision(
            "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
        )
        [node] = [each.facts["device"] for each in recorded if each.kind == "md"]
        subprocess.run(["umount", volume.mount_point], check=True)
        subprocess.run(["mdadm", "--stop", node], check=True)
        subprocess.run(["mdadm", "--assemble", "/dev/md127", *devices], check=True)
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []
        assert not Path("/sys/block/md127/md").exists()


@pytest.mark.needs_kernel_arrays
def test_an_array_of_md_lies_on_emulated_drives(place: Path, own_state: Path) -> None:
    """Synchronised on them, and filled; one program holds the data of all."""
    keys = DriveKeys.model_validate(
        {
            "drive": "generic-nvme",
            "size": "512 MiB",
            "count": 3,
            "layer": {"md": {"level": "raid5"}},
        }
    )
    site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**8), place, dict.fromkeys(ROLES, 1))
    provider = EmulatedStorage({"data": keys}, "array", site)
    provider.check()
    recorded: list[Resource] = []
    volume = provider.provision(
        "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
    )
    try:
        control = Control(volume.drives[0].control)
        for drive in volume.drives:
            control.set(drive.name, paced=False)
        (volume.path / "file").write_bytes(os.urandom(256 * MIB))
        os.sync()
        assert len(control.list()) == 3
    finally:
        assert clean_up("r1", recorded, lambda number: None, everything=False) == []
    assert places.all_folders() == []


def test_an_emulated_drive_without_a_file_system_is_the_volume(
    place: Path, own_state: Path
) -> None:
    """Its device, of the size that was asked for; it goes with its program."""
    keys = DriveKeys.model_validate(
        {"drive": "generic-nvme", "size": "64 MiB", "filesystem": "none"}
    )
    site = Site(LocalRunner(), dict.fromkeys(ROLES, 10**7), place, dict.fromkeys(ROLES, 1))
    provider = EmulatedStorage({"data": keys}, "raw", site)
    provider.check()
    recorded: list[Resource] = []
    volume = provider.provision(
        "r1", lambda kind, facts: recorded.append(Resource(len(recorded), kind, facts))
    )
    assert volume.raw
    assert volume.path.is_block_device()
    assert [drive.device for drive in volume.drives] == [str(volume.path)]
    with volume.path.open("rb") as file:
        assert file.seek(0, os.SEEK_END) == 64 * MIB
    assert clean_up("r1", recorded, lambda number: None, everything=False) == []
    assert places.all_folders() == []
