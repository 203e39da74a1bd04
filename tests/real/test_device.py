"""Candidates that are whole devices, on loop devices: refused, consented to, used, emptied."""

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.hosts.runner import LocalRunner
from stithy.run.books import Resource
from stithy.storage.consent import may_format, read_content
from stithy.storage.formatted import write_claim
from stithy.storage.providers.device import DeviceSpec, DeviceStorage
from support.arrays import make_site, provisioned, undo
from support.loops import a_loop
from support.running import wait_for

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive]

RUNNER = LocalRunner()


@pytest.fixture
def device(place: Path) -> Iterator[Path]:
    """A device that may be overwritten."""
    with a_loop(place, "disk") as found:
        yield found


def provider(
    device: Path | list[Path], place: Path, *, as_found: bool = False, **keys: object
) -> DeviceStorage:
    """The provider of a candidate `disk` with these keys."""
    site = make_site(place, as_found=as_found)
    return DeviceStorage(DeviceSpec.model_validate({"device": device, **keys}), "disk", site)


def holds(device: Path) -> str:
    """What is on a device, in words."""
    return str(read_content(device, device, "the test", RUNNER))


def test_an_empty_device_is_left_empty(
    device: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each kind of file system; what is made is recorded before, and unmade from there."""
    for kind in ("ext4", "xfs", "btrfs"):
        made = provider(device, place, filesystem=kind)
        made.check()
        assert made.list_cautions() == ()
        [room] = made.list_rooms()
        assert 0 < (room.free_bytes or 0) < 2**30
        with provisioned(made) as (volume, recorder):
            kinds = [each.kind for each in recorder.resources]
            assert kinds == ["formatted", "directory", "mount", "mark"]
            assert (volume.filesystem, volume.devices[0]) == (kind, device.name)
            assert holds(device) == kind
            with monkeypatch.context() as other:  # as another process would find it
                other.setattr(os, "getpid", os.getppid)
                with pytest.raises(PreconditionError, match="in use|is mounted at .*: wait for"):
                    provider(device, place, wipe=True).check()
        assert (holds(device), volume.path.exists()) == ("nothing", False)
        undo(*recorder.resources)


def test_content_protects_a_device(place: Path, device: Path) -> None:
    """By `wipe` and a name that stays; a plan says what will be lost. In use it is never taken."""
    filesystems.make(str(device), "ext4")
    with pytest.raises(PreconditionError, match="it holds ext4: .*`wipe: true`"):
        provider(device, place).check()
    consented = provider(device, place, wipe=True)
    consented.check()
    assert consented.list_cautions() == (
        f"candidate disk: everything on {device} (1 GiB) will be lost: it holds ext4",
    )
    (point := place / "mnt").mkdir()
    filesystems.mount(str(device), point, "ext4")
    with pytest.raises(PreconditionError, match=f"it is mounted at {point}: unmount it"):
        consented.check()
    filesystems.unmount(point)
    with a_loop(place, "other", marked=False) as other:
        provider(other, place).check()
        other.write_bytes(b"raw")  # as an encrypted device, it has no signature
        with pytest.raises(PreconditionError, match="it holds data of unknown kind"):
            provider(other, place).check()
        with pytest.raises(PreconditionError, match="could be another device tomorrow"):
            provider(other, place, wipe=True).check()
    with pytest.raises(PreconditionError, match="is not there: no such file"):
        provider(Path("/dev/disk/by-id/no-such-device"), place).check()
    twice = [device, Path(f"/dev/../dev/{device.name}")]
    with pytest.raises(PreconditionError, match="the same one by two names"):
        provider(twice, place, layer={"btrfs": {}}).check()
    with pytest.raises(PreconditionError, match="/dev/null is not a block device"):
        provider(Path("/dev/null"), place).check()


def test_a_device_that_a_program_has_open_is_never_taken(device: Path, place: Path) -> None:
    """Not even with consent, though the kernel would let two have it; the program is named."""
    with device.open("rb") as file, subprocess.Popen(["sleep", "60"], stdin=file) as user:
        try:
            with pytest.raises(PreconditionError, match=rf"it is open in sleep \({user.pid}\)"):
                provider(device, place, wipe=True).check()
        finally:
            user.kill()
    provider(device, place, wipe=True).check()


def test_consent_needs_a_lasting_name(device: Path, place: Path) -> None:
    """Not by one of a slot, or one that goes with the content; the message has the right ones."""
    filesystems.make(str(device), "ext4")
    with a_loop(place, "other", marked=False) as other:
        filesystems.make(str(other), "ext4")
        for folder in ("by-id", "by-partuuid", "by-path", "by-uuid"):
            link = place / "dev/disk" / folder / "its-name"
            link.parent.mkdir(parents=True)
            link.symlink_to(other)
            asked = partial(may_format, link, "here", RUNNER, wipe=True, dev=place / "dev")
            if folder in ("by-id", "by-partuuid"):
                assert asked().known == ("ext4",)
                continue
            with pytest.raises(PreconditionError, match="another device tomorrow") as caught:
                asked()
            assert f"{place}/dev/disk/by-id/its-name or " in caught.value.remedy
        with pytest.raises(PreconditionError, match="by-id/its-name"):
            may_format(other, "here", RUNNER, wipe=False, dev=place / "dev")


def test_a_foreign_file_system_is_kept(device: Path, place: Path) -> None:
    """Somebody has made their own since; a device that has gone is forgotten.

    What was claimed before a kill, and is not a file system yet, is erased.
    """
    facts = {"device": str(device), "uuid": "11111111-1111-4111-8111-111111111111"}
    write_claim(device, facts["uuid"])
    assert holds(device) == "data of unknown kind"
    begun = Resource(0, "formatted", facts)
    undo(begun)
    assert holds(device) == "nothing"
    write_claim(device, facts["uuid"])
    table = bytes(446) + bytes.fromhex("00 202100 83 aaaa0a 00080000 00500000")
    with device.open("r+b") as file:
        file.write(table.ljust(510, b"\0") + b"\x55\xaa")
    undo(begun)
    assert holds(device) == "dos"
    filesystems.make(str(device), "ext4")
    gone = {**facts, "device": "/dev/disk/by-id/gone"}
    for number, each in enumerate((facts, gone)):
        undo(Resource(number, "formatted", each))
    assert holds(device) == "ext4"


def test_a_device_without_a_file_system_is_the_volume(device: Path, place: Path) -> None:
    """Nobody else can have it meanwhile; a database cannot be told to.

    What it held stays only where a study says so.
    """
    filesystems.make(str(device), "ext4")
    kept = provider(device, place, as_found=True, filesystem="none", wipe=True)
    assert kept.provision("r1", lambda kind, facts: None).path == device
    kept.release()
    assert holds(device) == "ext4"
    made = provider(device, place, filesystem="none", wipe=True)
    volume = made.provision("r1", lambda kind, facts: None)
    assert (volume.raw, volume.path, volume.filesystem) == (True, device, "none")
    assert volume.devices[0] == device.name
    assert holds(device) == "nothing"
    with pytest.raises(OSError, match="busy"):
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    made.release()
    os.close(os.open(device, os.O_RDWR | os.O_EXCL))


@pytest.mark.needs_ceph
def test_a_dead_mount_keeps_no_array_from_being_made(device: Path, place: Path) -> None:
    """One whose file another program served, and which was killed, as with a run of a cluster."""
    image, socket, served, point = (place / each for each in ("image", "socket", "served", "point"))
    served.mkdir()
    point.mkdir()
    image.write_bytes(bytes(2**26))
    server = subprocess.Popen(
        ["qemu-storage-daemon", f"--blockdev=file,filename={image},node-name=disk",
         f"--nbd-server=addr.type=unix,addr.path={socket}",
         "--export=nbd,id=disk,node-name=disk,name=disk,writable=on"], text=True,
    )  # fmt: skip
    wait_for(socket.exists, server)
    bridge: subprocess.Popen[str] = subprocess.Popen(
        ["nbdfuse", served / "disk", f"nbd+unix:///disk?socket={socket}"], text=True
    )
    wait_for((served / "disk").exists, bridge)
    loop = subprocess.check_output(["losetup", "-f", "--show", served / "disk"], text=True).strip()
    filesystems.make(loop, "ext4")
    subprocess.run(["mount", loop, point], check=True)
    try:
        bridge.kill()
        bridge.wait()
        filesystems.make(str(device), "btrfs")
        assert holds(device) == "btrfs"
        assert filesystems.is_mounted(point)
    finally:
        server.kill()
        server.wait()
        subprocess.run(["umount", "-l", point], check=True)
        subprocess.run(["losetup", "-d", loop], check=True)
        subprocess.run(["umount", "-l", served], check=True)
