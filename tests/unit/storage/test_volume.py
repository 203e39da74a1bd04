"""What lies under a directory, from captured mount tables."""

from pathlib import Path

from stithy.hosts.processes import Identity
from stithy.storage.marks import Mark, write_mark
from stithy.storage.volume import Mount, describe, devices_of, mount_of, read_mounts, remove_own

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


def test_the_nearest_mount_above_a_path_is_its_mount(tmp_path: Path) -> None:
    """Blanks in names are read; parts of names are no parents."""
    proc = proc_with(tmp_path)
    assert mount_of(tmp_path / "with blank/x/y", proc).filesystem == "xfs"
    assert mount_of(tmp_path / "with", proc).filesystem == "btrfs"
    assert mount_of(Path("/dev"), proc).filesystem == "ext4"


def test_options_of_mount_and_file_system_are_joined_without_repeats(tmp_path: Path) -> None:
    """Both decide how writes are done."""
    assert read_mounts(proc_with(tmp_path))[2].options == "ro,noatime,rw,ssd"


def test_pages_of_tmpfs_are_memory(tmp_path: Path) -> None:
    """So a memory limit must grow by the size of what it holds."""
    proc = proc_with(tmp_path)
    assert describe(Path("/dev/shm"), proc).memory_backed
    assert not describe(tmp_path, proc).memory_backed


def test_devices_come_from_the_device_number(tmp_path: Path) -> None:
    """A name such as /dev/root in the table need not exist."""
    (tmp_path / "devices/vda").mkdir(parents=True)
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / "dev/block/254:0").symlink_to(tmp_path / "devices/vda")
    mount = Mount(Path("/"), "ext4", "rw", "/dev/root", "254:0")
    assert devices_of(mount, tmp_path) == ("vda",)
    assert devices_of(Mount(Path("/x"), "tmpfs", "rw", "tmpfs", "0:9"), tmp_path) == ()


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
