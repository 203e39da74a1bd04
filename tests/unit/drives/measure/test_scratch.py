"""Scratch files leave nothing behind."""

import os
from pathlib import Path

import pytest

from stithy.drives.measure.scratch import need_room, scratch_file
from stithy.errors import PreconditionError

MIB = 2**20


def test_a_scratch_file_has_a_size_and_no_name(disk_place: Path) -> None:
    """So a killed measurement leaves nothing either."""
    with scratch_file(disk_place, MIB) as path:
        assert os.stat(path).st_size == MIB
        assert list(disk_place.iterdir()) == []
        with open(path, "r+b") as file:
            file.write(b"it can be opened again")
    assert not os.path.exists(path)


def test_too_little_space_is_told_before_anything_is_written(disk_place: Path) -> None:
    """A share of the file system always stays free."""
    space = os.statvfs(disk_place)
    free_bytes = space.f_bavail * space.f_frsize
    with pytest.raises(PreconditionError, match="does not fit") as refused:
        need_room(disk_place, free_bytes)
    assert "--size" in refused.value.remedy


def test_a_directory_that_may_not_be_written_is_told() -> None:
    """/proc takes no files from anyone."""
    with (
        pytest.raises(PreconditionError, match="no file can be made there"),
        scratch_file(Path("/proc"), 0),
    ):
        pass
