"""What lies under a directory, from captured mount tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.hosts.processes import Identity
from stithy.storage.marks import Mark, write_mark
from stithy.storage.volume import (
    describe,
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
