"""What a study says about a drive, and how large the drive becomes."""

from pathlib import Path

import pytest

from stithy.plan.expand import expand, needed_bytes
from stithy.storage.drive_keys import DriveKeys
from support.studies import problems, study, study_text

DISK = "disk: {path: /var/tmp/stithy}"
MIB = 2**20


def keys(**given: object) -> DriveKeys:
    """The keys of a drive, as written in a study."""
    return DriveKeys.model_validate({"drive": "generic-nvme", **given})


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_a_drive_without_a_size_holds_what_the_plan_needs(filesystem: str) -> None:
    """Whole MiB, and room for what the file system itself takes."""
    drive = keys(filesystem=filesystem)
    for needed in (1, 10**6, 10**9, 10**12 + 1):
        size = drive.drive_bytes(needed)
        assert size % MIB == 0
        assert drive.usable_bytes(size) >= needed


def test_a_given_size_is_the_drives() -> None:
    """Cut to whole sectors."""
    assert keys(size="1 GiB").drive_bytes(10**12) == 2**30
    assert keys(size="100 MB").drive_bytes(1) == 100_000_000 // 4096 * 4096
    assert keys(size="64 MiB").usable_bytes(64 * MIB) == 0


def test_only_bytes_in_memory_take_memory() -> None:
    """Those in a file take room of its file system."""
    assert keys(size="1 GiB").image_bytes(0) == 2**30
    assert keys(size="1 GiB", backing="memory").image_bytes(0) == 2**30
    assert keys(size="1 GiB", backing="/var/tmp").image_bytes(0) == 0


def test_the_plan_counts_drives_in_memory_beside_the_server() -> None:
    """For as long as they are up, which is during every step."""
    plain = expand(study())
    drives = "memory: {drives: {data: {drive: a, size: 8 GiB}, log: {drive: b, backing: /var/tmp}}}"
    planned = expand(study((DISK, "disk: {drive: a}"), ("memory: {path: /dev/shm/stithy}", drives)))
    assert plain.image_bytes == {}
    assert planned.image_bytes["memory"] == 8 * 2**30
    assert planned.image_bytes["disk"] > planned.database_bytes
    [prepare] = [step for step in planned.steps if step.kind == "prepare"]
    assert prepare.cost.memory_bytes == sum(planned.image_bytes.values()) + 2**30


def test_the_database_is_loaded_off_memory_where_that_can_be() -> None:
    """A directory or a drive in a file comes before a drive in memory."""
    memory = ("memory: {path: /dev/shm/stithy}", "second: {path: /var/tmp/other}")
    assert expand(study((DISK, "disk: {drive: a}"), memory)).master_candidate == "second"
    filed = (DISK, "disk: {drive: a, backing: /var/tmp}")
    assert expand(study(filed, memory)).master_candidate == "disk"


def test_each_role_needs_what_it_may_come_to_hold() -> None:
    """The data's drive holds the log, too, while the database is loaded."""
    needed = needed_bytes(study())
    assert set(needed) == {"data", "log", "temp", "backup"}
    assert needed["data"] > needed["log"] > 0


def test_two_like_drives_are_two_drives() -> None:
    """A study may compare a drive with itself."""
    same = ("memory: {path: /dev/shm/stithy}", "other: {drive: generic-nvme}")
    assert study((DISK, "disk: {drive: generic-nvme}"), same).candidates["other"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("{drive: 5}", "not a drive profile: 5"),
        ("{drive: a, size: 1 MiB}", "too small: 1 MiB: at least 64 MiB"),
        ("{drive: a, size: 1}", "not a size: 1"),
        ("{drive: a, siz: 1 GiB}", "unknown key in `candidates.disk`: siz: did you mean `size`?"),
        ("{drive: a, filesystem: zfs}", "zfs: one of ext4, xfs, btrfs"),
        ("{drive: a, scale: 8}", "not a scale: 8"),
        ("{drive: a, backing: images}", "not a place for a drive's bytes: images"),
        ("{drive: a, drives: {data: {drive: a}}}", "a candidate with two providers"),
        ("{drives: {log: {drive: a}}}", "a key is missing in `candidates.disk.drives`: data"),
        ("{drives: {data: {drive: a}, wal: {drive: a}}}", "in `candidates.disk.drives`: wal"),
    ],
)  # fmt: skip
def test_what_no_drive_can_have_is_told_with_its_place(wrong: str, told: str) -> None:
    """In the study's line, with what would be right."""
    [problem] = problems(study_text((DISK, f"disk: {wrong}")))
    assert told in str(problem)
    assert "study.yaml:3:" in str(problem)


def test_the_plan_shows_a_drive_as_it_was_written(tmp_path: Path) -> None:
    """Not with what was left out."""
    written = keys(size="8 GiB", scale="1/8")
    shown = written.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert shown == {"drive": "generic-nvme", "size": "8 GiB", "scale": "1/8"}
