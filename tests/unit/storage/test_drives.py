"""What a study says about emulated drives, what they ask of a machine, how large they become."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from stithy.errors import PreconditionError, StithyError, UserError
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import expand, needed_bytes
from stithy.storage.provider import ROLES, Provider, Role, Site
from stithy.storage.providers.drive.emulated import EmulatedProvider
from stithy.storage.providers.drive.keys import DriveKeys
from support.studies import problems, study, study_text

NEEDED: Mapping[Role, int] = dict.fromkeys(ROLES, 10**9)


def provider(tmp_path: Path, **keys: object) -> EmulatedProvider:
    """The provider of a candidate `disk` whose data lie on a drive with these keys."""
    given = DriveKeys.model_validate({"drive": "generic-nvme", **keys})
    site = Site(LocalRunner(), NEEDED, tmp_path / "drives", dict.fromkeys(ROLES, 1))
    return EmulatedProvider({"data": given}, "disk", site)


def refusal(provider: EmulatedProvider) -> StithyError:
    """Why it cannot work; its problem, where and remedy are all there."""
    with pytest.raises(StithyError) as caught:
        provider.check()
    assert caught.value.remedy
    return caught.value


def test_a_user_who_is_not_root_is_offered_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no rights, and there is a study to begin with."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    error = refusal(provider(tmp_path))
    assert isinstance(error, PreconditionError)
    assert "need root" in error.problem
    assert "`path`: studies/disk-and-memory.yaml" in error.remedy
    assert error.where == "candidate disk"


@pytest.mark.needs_drive
def test_a_drive_that_can_be_had_is_not_refused(tmp_path: Path) -> None:
    """Also one smaller than its profile, at a scale, in a file."""
    provider(tmp_path).check()
    provider(tmp_path, scale="1/8", size="4 GiB", backing=str(tmp_path)).check()


@pytest.mark.needs_drive
@pytest.mark.parametrize(
    ("keys", "kind", "told"),
    [
        ({"drive": "generic-nvmee"}, UserError, "did you mean generic-nvme?"),
        ({"drive": "./no-such.toml"}, UserError, "cannot be read"),
        ({"size": "512 MiB"}, PreconditionError, "may come to 954 MiB"),
        ({"size": "2 TiB"}, PreconditionError, "larger than its profile generic-nvme says"),
        ({"backing": "/no/such/folder"}, PreconditionError, "mkdir -p /no/such/folder"),
        ({"drive": "generic-7200", "scale": "1/8"}, UserError, "scale"),
    ],
)
def test_what_cannot_be_is_refused_with_the_remedy(
    tmp_path: Path, keys: Mapping[str, object], kind: type[StithyError], told: str
) -> None:
    """Before anything is made."""
    error = refusal(provider(tmp_path, **keys))
    assert isinstance(error, kind)
    parts = (error, *error.parts())
    assert any(told in f"{each.problem}: {each.remedy}" for each in parts), error


@pytest.mark.needs_drive
def test_a_missing_maker_of_file_systems_is_told_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drives themselves could be had."""
    from stithy.drives import filesystems

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    error = refusal(provider(tmp_path, filesystem="xfs"))
    assert "mkfs.xfs was not found" in error.problem
    assert error.remedy == "apt-get install xfsprogs or dnf install xfsprogs"


@pytest.mark.needs_drive
def test_all_of_a_drive_counts_as_taken(tmp_path: Path) -> None:
    """In memory or on a file system, also while little is written."""
    [memory] = provider(tmp_path, size="4 GiB").rooms()
    assert (memory.takes_bytes, memory.memory_backed, memory.free_bytes) == (2**32, True, None)
    [file] = provider(tmp_path, size="4 GiB", backing=str(tmp_path)).rooms()
    assert file.takes_bytes == 2**32
    assert file.free_bytes is not None


@pytest.mark.needs_drive
def test_two_candidates_never_share_a_mount_point(tmp_path: Path) -> None:
    """Names are drawn anew each time."""
    assert provider(tmp_path).place() != provider(tmp_path).place()


def test_a_profile_of_a_persons_own_must_not_change_under_a_run(tmp_path: Path) -> None:
    """It is known by its text; shipped ones come with the version of Stithy."""
    path = tmp_path / "mine.toml"
    path.write_text("one")
    first = provider(tmp_path, drive=str(path)).fingerprint()
    assert first == provider(tmp_path, drive=str(path)).fingerprint()
    path.write_text("two")
    assert provider(tmp_path, drive=str(path)).fingerprint() not in (first, None)
    assert provider(tmp_path).fingerprint() is None


def test_nothing_of_a_drive_survives_its_run(tmp_path: Path) -> None:
    """The next session makes it anew."""
    made: Provider = provider(tmp_path)
    assert made.survives("r1") is None


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
    drives = "memory: {drive: a, size: 8 GiB, roles: {log: {drive: b, backing: /var/tmp}}}"
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
        ("{drive: a, path: /var/tmp/stithy}", "a candidate with two providers"),
        ("{roles: {log: {drive: a}}}", "a candidate without a provider"),
        ("{drive: a, roles: {wal: {drive: a}}}", "in `candidates.disk.roles`: wal"),
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
