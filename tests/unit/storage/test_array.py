"""Arrays as a study asks for them: levels, policies of the field, and what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from stithy.storage.providers import array
from stithy.storage.providers.drive import DriveKeys


def _array(**keys: Any) -> array.ArraySpec:
    return array.ArraySpec.model_validate({"array": keys})


@pytest.mark.parametrize(("count", "policy", "level"), [
    (1, {"ftt": 0}, "single"),
    (4, {"ftt": 0, "stripe_width": 4}, "raid0"),
    (2, {}, "raid1"),
    (3, {"ftt": 2}, "raid1c3"),
    (8, {"ftt": 1, "stripe_width": 4}, "raid10"),
    (4, {"erasure_coding": "3+1"}, "raid5"),
    (6, {"erasure_coding": "4+2", "ftt": 2}, "raid6"),
])  # fmt: skip
def test_a_policy_is_the_level_that_honours_it(
    count: int, policy: dict[str, Any], level: str
) -> None:
    """Failures to tolerate by copies or by erasure coding, and the width of stripes."""
    found = _array(drives=count, drive="generic-sata", policy=policy).array
    assert found.layer.facts["level"] == level
    assert isinstance(found.members, DriveKeys)
    assert found.members.count == count


@pytest.mark.parametrize(("keys", "key"), [
    ({"drives": 3, "policy": {"erasure_coding": "3+1"}}, "policy"),
    ({"drives": 4, "policy": {"erasure_coding": "3+1", "ftt": 2}}, "policy"),
    ({"drives": 4, "policy": {"erasure_coding": "3x1"}}, "policy"),
    ({"drives": 4, "policy": {"ftt": 3}}, "policy"),
    ({"drives": 6, "policy": {"ftt": 2, "stripe_width": 2}}, "policy"),
    ({"drives": 4, "policy": {"ftt": 1, "stripe_width": 4}}, "policy"),
    ({"drives": 4, "policy": {}, "level": "raid10"}, "level"),
    ({"drives": 2, "level": "raid10"}, "level"),
    ({"drives": 2, "level": "raidz"}, "level"),
    ({"drives": 1}, "drives"),
    ({"drives": 2, "chunk": "64 KiB"}, "chunk"),
    ({"drives": 3, "engine": "md", "compression": "lzo"}, "compression"),
    ({"drives": 2, "deduplication": True}, "deduplication"),
    ({"drives": 2, "engine": "vdo", "recordsize": "8 KiB"}, "recordsize"),
    ({"drives": 2, "engine": "vdo", "compression": "zstd"}, "compression"),
    ({"drives": 3, "engine": "zfs", "policy": {"ftt": 0}}, "policy"),
    ({"drives": 4, "engine": "zfs", "policy": {"ftt": 3}}, "policy"),
    ({"drives": 3, "engine": "md", "level": "raid1"}, "level"),
    ({"drives": 5, "engine": "lvm", "level": "raid10"}, "level"),
    ({"drives": 7, "engine": "vdo", "level": "raid10"}, "level"),
    ({"drives": 2, "engine": "paper"}, "engine"),
    ({"drives": 2, "engine": "writecache"}, "engine"),
    ({"drives": 2, "wipe": True}, "wipe"),
    ({"drives": 2, "size": "7"}, "size"),
    ({"drives": 2, "filesystem": "xfs"}, "filesystem"),
])  # fmt: skip
def test_what_no_engine_honours_is_refused_at_its_key(keys: dict[str, Any], key: str) -> None:
    """Each with the key to change."""
    with pytest.raises(ValidationError) as refused:
        _array(drive="generic-sata", **keys)
    assert [error["loc"][:2] for error in refused.value.errors()] == [("array", key)]


@pytest.mark.parametrize(("engine", "keys", "words"), [
    ("zfs", {"policy": {"erasure_coding": "4+2"}, "drives": 6, "recordsize": "16 KiB"},
     "zfs raid6, recordsize 16 KiB"),
    ("zfs", {"level": "raid1", "drives": 2, "compression": "zstd:3", "deduplication": True},
     "zfs raid1, compression zstd:3, deduplication True"),
    ("vdo", {"policy": {"ftt": 1, "stripe_width": 2}, "drives": 4, "compression": "none"},
     "vdo raid10, compression none"),
])  # fmt: skip
def test_engines_that_reduce_take_policies_as_others_do(
    engine: str, keys: dict[str, Any], words: str
) -> None:
    """With what they alone have beside."""
    assert str(_array(drive="generic-sata", engine=engine, **keys).array.layer) == words


def test_devices_are_members_as_drives_are() -> None:
    """They are somebody's, so that two arrays must not share one; drives are made anew."""
    names = ["/dev/disk/by-id/a", "/dev/disk/by-id/b"]
    devices, drives = _array(devices=names), _array(drives=2, drive="generic-sata")
    [kind] = array.PLUGINS
    assert kind.is_overlapping(devices, _array(devices=[names[1], "/dev/disk/by-id/c"]))
    assert not kind.is_overlapping(drives, drives)
    assert [kind.has_emulated_drives(each) for each in (devices, drives)] == [False, True]
    assert (kind.name_drives(devices), kind.name_drives(drives)) == ((), ("data-1", "data-2"))
    with pytest.raises(ValidationError):
        _array(devices=names, drives=2)
