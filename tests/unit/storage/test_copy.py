"""A copy is a copy: the same bytes, owners and modes, and out of the page cache when asked."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stithy.errors import InfrastructureError
from stithy.storage.copy import contents_of, copy_tree, evict_tree, sync_filesystem

MIB = 2**20


def make_tree(root: Path) -> Path:
    """A tree with files of several sizes, an empty file and an empty directory."""
    (root / "base/1").mkdir(parents=True)
    (root / "pg_notify").mkdir()
    (root / "empty").touch()
    (root / "base/1/2601").write_bytes(os.urandom(3 * MIB + 17))
    (root / "base/1/2602").write_bytes(b"x" * 8192)
    (root / "base/1").chmod(0o700)
    (root / "empty").chmod(0o600)
    return root


def test_a_copy_has_the_same_contents(tmp_path: Path) -> None:
    """Files, bytes, directories and modes."""
    source = make_tree(tmp_path / "source")
    (tmp_path / "target").mkdir()
    copy_tree(source, tmp_path / "target")
    found = contents_of(tmp_path / "target")
    assert found == contents_of(source)
    assert found.directories == {"base", "base/1", "pg_notify"}
    assert found.size_bytes == 3 * MIB + 17 + 8192
    assert (tmp_path / "target/base/1").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "target/empty").stat().st_mode & 0o777 == 0o600


@pytest.mark.needs_root
def test_a_copy_keeps_its_owner(tmp_path: Path) -> None:
    """The server's user must be able to use it."""
    source = make_tree(tmp_path / "source")
    os.chown(source / "empty", 65534, 65534)
    (tmp_path / "target").mkdir()
    copy_tree(source, tmp_path / "target")
    assert (tmp_path / "target/empty").stat().st_uid == 65534


def test_one_changed_byte_is_noticed(tmp_path: Path) -> None:
    """That is what the proof of a restore rests on."""
    before = contents_of(make_tree(tmp_path))
    with (tmp_path / "base/1/2601").open("r+b") as file:
        file.seek(MIB)
        byte = file.read(1)
        file.seek(MIB)
        file.write(bytes([byte[0] ^ 1]))
    assert contents_of(tmp_path) != before


def test_a_file_too_many_is_noticed(tmp_path: Path) -> None:
    """Equal contents means nothing else is there."""
    before = contents_of(make_tree(tmp_path))
    (tmp_path / "pg_notify/0000").touch()
    assert contents_of(tmp_path) != before


def test_links_are_refused(tmp_path: Path) -> None:
    """A copy of a link is no independent copy."""
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(InfrastructureError, match="neither a file nor a directory"):
        contents_of(tmp_path)


def test_pages_are_dropped_once_they_are_on_the_disk(disk_place: Path) -> None:
    """Written pages are in memory, evicted ones are not (unless the disk is memory)."""
    root = make_tree(disk_place / "tree")
    sync_filesystem(root)
    if evict_tree(root):
        pytest.skip("the directory for tests is on a file system in memory")
    contents_of(root)
    assert evict_tree(root) == 0


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=70_000))
def test_any_bytes_survive(tmp_path: Path, data: bytes) -> None:
    """Whatever a file holds, its copy holds."""
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "a").mkdir(parents=True)
    (work / "b").mkdir()
    (work / "a/file").write_bytes(data)
    copy_tree(work / "a", work / "b")
    assert (work / "b/file").read_bytes() == data


def test_one_hash_tells_contents_apart(tmp_path: Path) -> None:
    """By bytes, by names, by what is a directory; not by when it was read."""
    source = make_tree(tmp_path / "source")
    first = contents_of(source).sha256
    assert contents_of(source).sha256 == first
    (source / "base/1/2602").write_bytes(b"x" * 8191 + b"y")
    changed = contents_of(source).sha256
    (source / "base/1/2602").rename(source / "base/1/2603")
    renamed = contents_of(source).sha256
    (source / "pg_notify").rmdir()
    (source / "pg_notify").touch()
    assert len({first, changed, renamed, contents_of(source).sha256}) == 4
