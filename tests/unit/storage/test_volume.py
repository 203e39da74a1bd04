"""What the machine tells of volumes and the devices under them, by a made-up /proc and /sys."""

from dataclasses import replace
from pathlib import Path

import pytest

from stithy.errors import PreconditionError
from stithy.hosts.resources import IO, list_parents
from stithy.results.manifest import Fact
from stithy.storage.consent import may_use
from stithy.storage.provider import Volume
from stithy.storage.volume import describe, find_existing_part, list_volume_facts, open_places


def _disk(sys: Path, name: str, number: str, model: str) -> None:
    place = sys / "devices" / name
    (place / "device").mkdir(parents=True)
    (place / "device/model").write_text(f"{model}\n")
    for folder, link in (("class/block", name), ("dev/block", number)):
        (sys / folder).mkdir(parents=True, exist_ok=True)
        (sys / folder / link).symlink_to(place)


def _told(tmp_path: Path, kind: str, devices: tuple[str, ...]) -> dict[str, Fact]:
    """Of a volume on `sda`, or on ZFS, whose log is on `sdb`."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    (proc / "self").mkdir(parents=True)
    lines = []
    for name, number, model, of in (("sda", "8:0", "FAST", kind), ("sdb", "8:16", "SLOW", "xfs")):
        _disk(sys, name, number, model)
        (tmp_path / name).mkdir()
        shown = number if of != "zfs" else "0:50"
        lines.append(f"1 0 {shown} / {tmp_path / name} rw - {of} {name} rw\n")
    (proc / "self/mountinfo").write_text("".join(lines))

    def volume(name: str) -> Volume:
        return describe(tmp_path / name, proc, sys)

    data = replace(volume("sda"), others={"log": volume("sdb")}, devices=devices)
    return list_volume_facts(data, proc, sys)


def test_devices_of_other_roles_are_facts_beside_those_of_the_data(tmp_path: Path) -> None:
    """A log on a slower drive is what a comparison must know."""
    found = _told(tmp_path, "ext4", ("sda",))
    assert found["devices"].value == ("sda",)
    assert found["device.sda.model"].value == "FAST"
    assert found["role.log.devices"].value == ("sdb",)
    assert found["role.log.device.sdb.model"].value == "SLOW"


def test_where_a_file_system_names_no_devices_those_of_its_volume_are_facts(tmp_path: Path) -> None:
    """As of an array of ZFS, whose members whoever made it knows."""
    found = _told(tmp_path, "zfs", ("sda",))
    assert (found["filesystem"].value, found["devices"].value) == ("zfs", ("sda",))
    assert found["device.sda.model"].value == "FAST"
    unknown = _told(tmp_path / "other", "zfs", ())["devices"]
    assert unknown.missing_because == "the kernel does not name the devices under zfs"


def test_a_mount_that_this_user_cannot_reach_is_passed_over(tmp_path: Path) -> None:
    """As of somebody else under a closed directory; a name too long fails for root, too."""
    proc, beyond = tmp_path / "proc", Path("/", "x" * 300)
    (proc / "self").mkdir(parents=True)
    (proc / "self/mountinfo").write_text(
        f"1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / {beyond} rw - nfs server rw\n"
        f"3 1 0:3 / {beyond} rw - cgroup cgroup rw,memory,blkio\n"
    )
    (proc / "self/cgroup").write_text("1:memory:/group\n2:blkio:/group\n")
    assert beyond not in [place.mount_point for place in open_places(proc, home=beyond)]
    assert [folder for folder, _ in list_parents(proc)] == [beyond]
    assert IO.find_problem(proc) is not None
    assert find_existing_part(beyond / "data") == Path("/")
    with pytest.raises(PreconditionError, match="cannot be read"):
        may_use(beyond / "data", "a")
