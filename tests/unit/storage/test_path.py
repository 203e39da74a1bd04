"""Copies of a database, what lies under a directory, and how it is removed.

How a run takes directories and gives them back is in tests/unmeasured.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError
from stithy.storage import copy, volume
from stithy.storage.consent import DirectoryMark, write_mark
from support.examples import DEAD
from support.kernel import Kernel


@pytest.mark.parametrize("has_holes", [False, True])
def test_holes_are_kept_where_they_have_a_purpose(disk_place: Path, has_holes: bool) -> None:
    """Between data, and at the end; the bytes are the same either way."""
    source, target = disk_place / "source", disk_place / "target"
    for folder in (source, target):
        folder.mkdir()
    with (source / "table").open("wb") as file:
        for offset in (0, 2**20, 3 * 2**20):
            file.seek(offset)
            file.write(os.urandom(4096))
        file.truncate(4 * 2**20 + 17)
    (source / "whole").write_bytes(b"x" * 5000)
    copy.sync_filesystem(source)
    copy.copy_tree(source, target, has_holes=has_holes)
    copy.sync_filesystem(target)
    assert copy.hash_tree(source) == copy.hash_tree(target)
    written = (target / "table").stat().st_blocks * 512
    assert (written < 2**17) == has_holes
    assert written >= (3 * 4096 if has_holes else 4 * 2**20)


def test_a_copy_has_the_same_contents_and_every_change_is_noticed(disk_place: Path) -> None:
    """Bytes, names, modes, owners, empty directories; links are refused."""
    source, target = disk_place / "source", disk_place / "target"
    for folder in (source / "base/1", source / "empty", target):
        folder.mkdir(parents=True)
    (source / "none").touch(0o600)
    (source / "base/1/2601").write_bytes(os.urandom(3 * 2**20 + 17))
    (source / "base/1").chmod(0o700)
    if os.geteuid() == 0:
        os.chown(source / "none", 65534, 65534)
    copy.copy_tree(source, target)
    found = [copy.hash_tree(source), copy.hash_tree(target)]
    assert found[0] == found.pop()
    assert found[0].directories == {"base", "base/1", "empty"}
    assert found[0].size_bytes == 3 * 2**20 + 17
    for name in ("base/1", "none"):
        was, now = (source / name).stat(), (target / name).stat()
        assert (was.st_mode, was.st_uid) == (now.st_mode, now.st_uid)
    content = bytearray((target / "base/1/2601").read_bytes())
    content[2**20] ^= 1
    for change in (
        lambda: (target / "base/1/2601").write_bytes(content),
        lambda: (target / "base/1/2601").rename(target / "base/1/2603"),
        lambda: (target / "empty").rmdir(),
        lambda: (target / "empty").touch(),
    ):
        change()
        found.append(copy.hash_tree(target))
    assert len({each.sha256 for each in found}) == 5
    copy.sync_filesystem(source)
    if copy.drop_cached_pages(source) == 0:  # not where the file system is memory
        copy.hash_tree(source)
        assert copy.drop_cached_pages(source) == 0
    (source / "link").symlink_to("/etc")
    with pytest.raises(InfrastructureError, match="neither a file nor a directory"):
        copy.hash_tree(source)


def _proc(root: Path, *mounts: str) -> Path:
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    text = "".join(f"20 1 {mount} rw\n" for mount in mounts)
    (root / "proc/self/mountinfo").write_text(text)
    return root / "proc"


def test_storage_and_room_are_those_of_the_file_system(tmp_path: Path) -> None:
    """Of the nearest parent; tmpfs is memory; a device is known by model and size, not by name."""
    (tmp_path / "x").mkdir()
    proc = _proc(
        tmp_path, "254:1 / / rw - ext4 /dev/vda1", "0:30 / /dev/shm rw - tmpfs tmpfs",
        f"0:44 /@ {tmp_path} ro - btrfs /dev/nvme0n1p2", f"254:9 / {tmp_path}/x rw - xfs /dev/vdb",
    )  # fmt: skip
    assert volume.describe(Path("/dev/shm"), proc).memory_backed
    found = volume.describe(tmp_path, proc)
    assert (found.memory_backed, found.filesystem, found.mount_point) == (False, "btrfs", tmp_path)
    rooms = [
        replace(volume.measure_room(tmp_path / each, proc), free_bytes=None)
        for each in ("a/b", "c")
    ]
    assert rooms[0] == rooms[1]
    assert volume.measure_room(tmp_path / "x", proc).filesystem_id == "254:9"
    shown = set()
    for name in ("vdb", "vdc"):
        kernel = Kernel(tmp_path / name)
        (kernel.add_device(name, "254:9", model="FAST 1000") / "size").write_text(str(2**21))
        shown.add(volume.describe_storage(tmp_path / "x", proc, kernel.sys))
    assert shown == {f"xfs at {tmp_path}/x on FAST 1000 of 1 GiB"}


def test_removing_follows_no_links_and_asks_the_mark(tmp_path: Path) -> None:
    """What a link points to, or what is mounted inside, is the user's."""
    outside, own = tmp_path / "outside", tmp_path / "volume"
    (outside / "inner").mkdir(parents=True)
    (own / "data").mkdir(parents=True)
    (own / "data/link").symlink_to(outside)
    (own / "master").symlink_to(outside)
    for run_id in ("r1", "r2"):
        volume.remove_own(own, ["data", "master"], run_id)
        assert (own / "data").is_dir()
        write_mark(own, DirectoryMark("r1", made_directory=True, owner=DEAD))
    volume.remove_own(own, ["data", "master"], "r1")
    assert not (own / "data").exists()
    assert not (own / "master").is_symlink()
    proc = _proc(tmp_path, f"0:44 / {outside}/inner rw - tmpfs tmpfs")
    for path in (outside, outside / "inner"):
        with pytest.raises(OSError, match="something is mounted inside"):
            volume.remove_tree(path, proc)
        assert path.exists()
