"""What a person may name as a target."""

import os
from pathlib import Path

import pytest

from stithy.drives.measure.target import facts, inspect
from stithy.errors import PreconditionError, UserError

MIB = 2**20


def test_a_directory_on_a_disk_is_measured_by_a_scratch_file(disk_place: Path) -> None:
    """Its file system and device are told."""
    target = inspect(disk_place)
    assert target.kind == "directory"
    assert target.file_system
    found = facts(target, 64 * MIB)
    assert found.span_bytes == 64 * MIB
    assert found.name


def test_a_written_file_is_read_and_one_with_holes_is_not(disk_place: Path) -> None:
    """What was never written is read from nowhere, at once: also where room was only set aside."""
    written, sparse, aside = (disk_place / name for name in ("written", "sparse", "aside"))
    written.write_bytes(os.urandom(64 * MIB))
    with written.open("rb") as file:
        os.fsync(file.fileno())
    assert inspect(written).kind == "file"
    with sparse.open("wb") as file:
        file.truncate(64 * MIB)
    with aside.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 64 * MIB)
    for path in (sparse, aside):
        with pytest.raises(PreconditionError, match="never written at byte 0"):
            inspect(path)


def test_a_small_file_is_refused(disk_place: Path) -> None:
    """It tells of a cache."""
    (disk_place / "small").write_bytes(b"x" * 5000)
    with pytest.raises(PreconditionError, match="5000 bytes: too little"):
        inspect(disk_place / "small")


def test_what_lies_in_memory_is_refused() -> None:
    """No drive is there to be measured, though such places take direct I/O by now."""
    place = Path("/dev/shm")
    if not place.is_dir():
        pytest.skip("this machine has no /dev/shm")
    with pytest.raises(PreconditionError, match="lies in memory"):
        inspect(place)


def test_a_target_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With what may be named."""
    with pytest.raises(UserError, match="no such target: no such file") as refused:
        inspect(tmp_path / "gone")
    assert "a block device such as" in refused.value.remedy


def test_a_character_device_is_no_target() -> None:
    """Nor a pipe, nor a socket."""
    with pytest.raises(UserError, match="neither a block device nor a file nor a directory"):
        inspect(Path("/dev/null"))
