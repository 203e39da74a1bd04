"""What a study says about emulated drives, what they ask of a machine, how large they become."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import expand, sum_needed_bytes
from stithy.storage.provider import ROLES, Role, Site
from stithy.storage.providers.drive import DriveKeys, EmulatedStorage
from support.studies import problems, study, study_text

NEEDED: Mapping[Role, int] = dict.fromkeys(ROLES, 10**9)
DISK = "disk: {path: /var/tmp/stithy}"
MIB = 2**20


def _keys(**given: object) -> DriveKeys:
    return DriveKeys.model_validate({"drive": "generic-nvme", **given})


def _provider(tmp_path: Path, **keys: object) -> EmulatedStorage:
    """The provider of a candidate `disk` whose data lie on a drive with these keys."""
    site = Site(LocalRunner(), NEEDED, tmp_path / "drives", dict.fromkeys(ROLES, 1))
    return EmulatedStorage({"data": _keys(**keys)}, "disk", site)


def test_users_are_offered_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They need no rights, and there is a study to begin with."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(PreconditionError, match="^candidate disk: .*need root") as caught:
        _provider(tmp_path).check()
    assert "`path`: studies/disk-and-memory.yaml" in caught.value.remedy


@pytest.mark.needs_drive
def test_what_cannot_be_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """Before anything is made; what can be had is not refused."""
    _provider(tmp_path, scale="1/8", size="4 GiB", backing=str(tmp_path)).check()
    for keys, kind, shown in (
        ({"drive": "generic-nvmee"}, UserError, "did you mean generic-nvme?"),
        ({"drive": "./no-such.toml"}, UserError, "there is no such file"),
        ({"size": "512 MiB"}, PreconditionError, "may need 954 MiB"),
        ({"size": "2 TiB"}, PreconditionError, "larger than its profile generic-nvme says"),
        ({"backing": "/no/such/folder"}, PreconditionError, "mkdir -p /no/such/folder"),
        ({"drive": "generic-7200", "scale": "1/8"}, UserError, "scale"),
    ):
        with pytest.raises(kind) as caught:
            _provider(tmp_path, **keys).check()
        parts = (caught.value, *caught.value.parts())
        assert any(shown in f"{part.problem}: {part.remedy}" for part in parts), caught.value


def test_a_profile_of_a_persons_own_must_not_change_under_a_run(tmp_path: Path) -> None:
    """It is known by its text; shipped ones come with the version of Stithy."""
    path, found = tmp_path / "mine.toml", []
    for text in ("one", "one", "two"):
        path.write_text(text)
        found.append(_provider(tmp_path, drive=str(path)).describe_identity())
    assert found[0] == found[1] != found[2]
    assert None not in found
    assert _provider(tmp_path).describe_identity() is None


def test_a_drive_without_a_size_holds_what_the_plan_needs() -> None:
    """Whole MiB, and room for what the file system itself takes; a given size is cut to them."""
    for filesystem in ("ext4", "xfs", "btrfs"):
        drive = _keys(filesystem=filesystem)
        for needed in (1, 10**6, 10**9, 10**12 + 1):
            size = drive.count_drive_bytes(needed)
            assert size % MIB == 0
            assert drive.count_usable_bytes(size) >= needed
    assert _keys(size="1 GiB").count_drive_bytes(10**12) == 2**30
    assert _keys(size="100 MB").count_drive_bytes(1) == 95 * MIB
    assert _keys(size="64 MiB").count_usable_bytes(64 * MIB) == 0
    assert _keys(size="1 GiB").count_image_bytes(0) == 2**30
    assert _keys(size="1 GiB", backing="/var/tmp").count_image_bytes(0) == 0


def test_the_plan_counts_drives_in_memory_beside_the_server() -> None:
    """For as long as they are up; the database is loaded off memory where that can be."""
    drives = "memory: {drive: a, size: 8 GiB, roles: {log: {drive: b, backing: /var/tmp}}}"
    memory = "memory: {path: /dev/shm/stithy}"
    planned = expand(study((DISK, "disk: {drive: a}"), (memory, drives)))
    assert expand(study()).image_bytes == {}
    assert planned.image_bytes["memory"] == 8 * 2**30
    assert planned.image_bytes["disk"] > planned.database_bytes
    [prepare] = [step for step in planned.steps if step.kind == "prepare"]
    assert prepare.cost.memory_bytes == sum(planned.image_bytes.values()) + 2**30
    other = (memory, "second: {path: /var/tmp/other}")
    for disk, master in (("{drive: a}", "second"), ("{drive: a, backing: /var/tmp}", "disk")):
        assert expand(study((DISK, f"disk: {disk}"), other)).master_candidate == master
    needed = sum_needed_bytes(study())
    assert needed["data"] > needed["log"] > 0
    assert set(needed) == {*ROLES}


def test_what_no_drive_can_have_is_told_with_its_place() -> None:
    """In the study's line, with what would be right."""
    for wrong, shown in (
        ("{drive: 5}", "not a drive profile: 5"),
        ("{drive: a, size: 1 MiB}", "too small: 1 MiB: at least 64 MiB"),
        ("{drive: a, size: 1}", "not a size: 1"),
        ("{drive: a, siz: 1 GiB}", "key in `candidates.disk`: siz: did you mean `size`?"),
        ("{drive: a, filesystem: zfs}", "zfs: one of ext4, xfs, btrfs, none"),
        ("{drive: a, scale: 8}", "not a scale: 8"),
        ("{drive: a, backing: images}", "not a place for a drive's bytes: images"),
        ("{drive: a, count: 4}", "`candidates.disk.count`: several devices without a layer: 4"),
        ("{drive: a, layer: {btrfs: {level: raid1c3}}, count: 2}", "at least 3, not 2"),
        (
            "{drive: a, layer: {btrfs: {level: raid7}}}",
            "`candidates.disk.layer.btrfs.level`: not an",
        ),
        ("{drive: a, layer: {btrfs: {lvel: single}}}", "lvel: did you mean `level`?"),
        ("{drive: a, layer: {brtfs: {}}}", "brtfs: did you mean `btrfs`?"),
        ("{drive: a, layer: {writecache: {}}, count: 2}", "as slow as what it is in front of"),
        ("{ceph: {compression: lz4}}", "`compression` belongs in `candidates.disk.ceph.policy`"),
        (
            "{array: {drives: 2, drive: a, policy: {compression: lzo}}}",
            "`compression` belongs in `candidates.disk.array`",
        ),
        ("{ceph: {policy: {stripe_width: 2}}}", "Ceph stripes every image over all its drives"),
        ("{drive: a, layer: 7}", "`candidates.disk.layer`: not a layer: 7: its name with its keys"),
        ("{drive: a, filesystem: xfs, layer: {btrfs: {level: single}}}", "two file systems: xfs"),
        ("{drive: a, filesystem: none}", "a candidate without a file system: none"),
        ("{device: /tmp/x}", "not a block device: /tmp/x: its path in full"),
        ("{device: [/dev/a, /dev/b]}", "several devices without a layer"),
        ("{device: [/dev/a, /dev/a], layer: {btrfs: {}}}", "name at least one, and each once"),
        ("{drive: a, path: /var/tmp/stithy}", "a candidate with two providers"),
        ("{roles: {log: {drive: a}}}", "a candidate without a provider"),
        ("{drive: a, roles: {wal: {drive: a}}}", "in `candidates.disk.roles`: wal"),
    ):
        [problem] = problems(study_text((DISK, f"disk: {wrong}")))
        assert shown in str(problem)
        assert "study.yaml:3:" in str(problem)
