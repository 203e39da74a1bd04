"""Places that are open to a candidate: one a file system, and only such as a database can use."""

import os
from pathlib import Path

import pytest

from stithy.hosts.devices import mount_of
from stithy.storage.open_places import open_places


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
