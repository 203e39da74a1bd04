"""What lies under a directory, how to remove it, and which places are open to a candidate."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.hosts.devices import mount_of
from stithy.hosts.processes import Identity
from stithy.storage.consent import Mark, write_mark
from stithy.storage.volume import (
    describe,
    open_places,
    remove_own,
    remove_tree,
    room_of,
    storage_in_words,
)

MOUNTS = """\
23 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
40 23 0:30 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=1024k
50 23 0:44 /@ {root} ro,noatime - btrfs /dev/nvme0n1p2 rw,ssd
51 50 254:9 / {root}/with\\040blank rw - xfs /dev/vdb rw
"""


def proc_with(root: Path) -> Path:
    """A /proc whose mount table names directories below `root`."""
    (root / "with blank").mkdir()
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(MOUNTS.format(root=root))
    return root / "proc"


def test_pages_of_tmpfs_are_memory(tmp_path: Path) -> None:
    """So a memory limit must grow by the size of what it holds."""
    proc = proc_with(tmp_path)
    assert describe(Path("/dev/shm"), proc).memory_backed
    found = describe(tmp_path, proc)
    assert not found.memory_backed
    assert (found.filesystem, found.mount_point) == ("btrfs", tmp_path)


def test_room_of_a_directory_to_be_is_that_of_its_nearest_parent(tmp_path: Path) -> None:
    """Directories on one file system share their room."""
    proc = proc_with(tmp_path)
    one, other = room_of(tmp_path / "a/b", proc), room_of(tmp_path, proc)
    # Others write to this file system between the two readings.
    assert replace(one, free_bytes=None) == replace(other, free_bytes=None)
    assert room_of(tmp_path / "with blank", proc).filesystem_id == "254:9"


def test_removing_follows_no_links_and_asks_the_mark(tmp_path: Path) -> None:
    """What a link points to is the user's."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    volume = tmp_path / "volume"
    (volume / "data").mkdir(parents=True)
    (volume / "data/link").symlink_to(outside)
    (volume / "master").symlink_to(outside)
    remove_own(volume, ["data", "master"], "r1")
    assert (volume / "data").is_dir()
    write_mark(volume, Mark("r1", made_directory=True, owner=Identity("b", 1, 1)))
    remove_own(volume, ["data", "master"], "r2")
    assert (volume / "data").is_dir()
    remove_own(volume, ["data", "master"], "r1")
    assert not (volume / "data").exists()
    assert not (volume / "master").is_symlink()
    assert (outside / "file").exists()


def test_what_is_mounted_inside_is_not_stithys(tmp_path: Path) -> None:
    """Nothing of the tree is removed, nor of what is mounted; one beside it is removed."""
    for name in ("data/inner", "data-2"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "data/file").touch()
    table = f"50 23 0:44 / {tmp_path}/data/inner rw - tmpfs tmpfs rw\n"
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(table)
    with pytest.raises(OSError, match="something is mounted inside"):
        remove_tree(tmp_path / "data", tmp_path / "proc")
    assert (tmp_path / "data/file").exists()
    remove_tree(tmp_path / "data-2", tmp_path / "proc")
    assert not (tmp_path / "data-2").exists()
    with pytest.raises(OSError, match="something is mounted inside"):
        remove_tree(tmp_path / "data/inner", tmp_path / "proc")


def test_storage_is_known_by_what_no_boot_changes(tmp_path: Path) -> None:
    """File system, mount point, the device's model and size; not its name."""
    proc = proc_with(tmp_path)
    for name, number in (("vdb", "254:9"), ("vdc", "254:9")):
        block = tmp_path / name / "class/block" / name
        (block / "device").mkdir(parents=True)
        (block / "dev").write_text(number)
        (block / "size").write_text(str(2**21))
        (block / "device/model").write_text("FAST 1000")
        dev = tmp_path / name / "dev/block"
        dev.mkdir(parents=True)
        (dev / number).symlink_to(block)
    told = {
        storage_in_words(tmp_path / "with blank", proc, tmp_path / name) for name in ("vdb", "vdc")
    }
    assert told == {f"xfs at {tmp_path}/with blank on FAST 1000 of 1 GiB"}
    assert "on" not in storage_in_words(Path("/dev/shm"), proc, tmp_path / "none").split()


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A /proc without mounts."""
    (tmp_path / "proc/self").mkdir(parents=True)
    return tmp_path / "proc"


def mounted(proc: Path, *lines: str) -> None:
    """Let these be the mounts."""
    (proc / "self/mountinfo").write_text("".join(f"{line}\n" for line in lines))


def line(number: str, point: Path | str, kind: str, source: str = "none") -> str:
    """A line of mountinfo."""
    return f"20 1 {number} / {point} rw - {kind} {source} rw"


def test_this_machine_has_a_place_that_may_be_used() -> None:
    """None is made; the same file system is told once."""
    found = open_places()
    assert found
    for each in found:
        assert each.path.name == "stithy"
        assert each.free_bytes >= 0
        assert mount_of(each.path.parent).point == each.mount_point
    assert len({each.filesystem_id for each in found}) == len(found)


def test_kinds_that_hold_no_database_are_left_out(proc: Path, tmp_path: Path) -> None:
    """What the kernel shows, what is packed, what knows no owners."""
    kinds = ("proc", "sysfs", "cgroup2", "squashfs", "vfat", "devtmpfs", "tmpfs", "fuse")
    mounted(proc, line("0:1", "/", "rootfs"), *(line("0:2", tmp_path, kind) for kind in kinds))
    assert open_places(proc) == ()


def test_two_mounts_of_one_file_system_are_one_place(proc: Path, disk_place: Path) -> None:
    """Candidates on them would share their storage."""
    one, two = disk_place / "one", disk_place / "two"
    for folder in (one, two):
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
    mounted(proc, line("0:7", "/", "rootfs"), line("0:9", one, "nfs4"), line("0:9", two, "nfs4"))
    (found,) = open_places(proc)
    assert (found.path, found.filesystem) == (one / "stithy", "nfs4")


def test_a_place_with_something_of_somebody_is_not_open(proc: Path, disk_place: Path) -> None:
    """Nor is one that is no directory."""
    (disk_place / "stithy").mkdir()
    (disk_place / "stithy" / "photo.jpg").touch()
    mounted(proc, line("0:7", "/", "rootfs"), line("0:9", disk_place, "nfs4"))
    assert open_places(proc) == ()


@pytest.mark.needs_root
def test_a_place_that_servers_cannot_enter_is_not_open(proc: Path, disk_place: Path) -> None:
    """They run as a user without rights."""
    assert os.geteuid() == 0
    mounted(proc, line("0:7", "/", "rootfs"), line("0:9", disk_place, "nfs4"))
    assert open_places(proc)
    disk_place.chmod(0o700)
    assert open_places(proc) == ()


def test_drives_that_are_up_are_no_places(proc: Path, disk_place: Path) -> None:
    """They are somebody's candidates, and gone soon."""
    mounted(proc, line("0:9", "/run/stithy-drives-1a2b/data", "nfs4"))
    assert open_places(proc) == ()
