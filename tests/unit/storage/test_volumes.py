"""Volumes of roles: what lies under them, sources of their own, and the power of their hosts."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from stithy.cluster import layout
from stithy.errors import PreconditionError
from stithy.hosts.resources import IO, list_parents
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import set_aside, sum_image_bytes
from stithy.results.manifest import Fact
from stithy.run.books import Resource
from stithy.run.cleaning import clean_up
from stithy.storage.consent import may_use
from stithy.storage.power import list_drives_of
from stithy.storage.provider import ROLES, EmulatedDrive, Site, Volume
from stithy.storage.several import SeveralSources, create_storage
from stithy.storage.volume import describe, find_existing_part, list_volume_facts, open_places
from stithy.study.candidates import is_emulated, name_drives, read_candidate
from support.kernel import Kernel
from support.studies import problems, study_text


def _told(tmp_path: Path, kind: str, devices: tuple[str, ...]) -> dict[str, Fact]:
    """Of a volume on `sda`, or on ZFS, whose log is on `sdb`."""
    kernel = Kernel(tmp_path)
    for name, number, model, of in (("sda", "8:0", "FAST", kind), ("sdb", "8:16", "SLOW", "xfs")):
        kernel.add_device(name, number, model=model)
        kernel.mount(name, "0:50" if of == "zfs" else number, of, name)
    data, log = (describe(kernel.root / name, kernel.proc, kernel.sys) for name in ("sda", "sdb"))
    whole = replace(data, others={"log": log}, devices=devices)
    return list_volume_facts(whole, kernel.proc, kernel.sys)


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


NEEDED = {"data": 10**9, "log": 10**8, "temp": 10**7, "backup": 10**9}


def _site(place: Path) -> Site:
    return Site(LocalRunner(), dict.fromkeys(ROLES, 10**6), place, dict.fromkeys(ROLES, 1))


def test_each_role_lies_where_its_source_is(tmp_path: Path) -> None:
    """All volumes of a candidate are made, marked, asked for their space, and removed."""
    value = {
        "path": str(tmp_path / "data"),
        "roles": {"log": {"path": str(tmp_path / "log")}, "temp": {"path": str(tmp_path / "temp")}},
    }
    sources = {
        role: (each.provider, each.spec) for role, each in read_candidate(value).sources.items()
    }
    provider = create_storage(sources, "a", _site(tmp_path))
    assert isinstance(provider, SeveralSources)
    provider.check()
    assert [room.takes_bytes for room in provider.list_rooms()] == [None, 10**6, 10**6]
    made: list[Resource] = []
    volume = provider.provision(
        "r1", lambda kind, facts: made.append(Resource(len(made), kind, facts))
    )
    assert {role: part.path for role, part in volume.by_role.items()} == {
        role: tmp_path / role for role in ("data", "log", "temp")
    }
    (volume.get_part("log").path / "segment").write_bytes(b"x" * 5000)
    assert provider.measure_space(volume.get_part("log")).logical_bytes > 5000
    assert volume.get_part("backup") is volume
    (volume.get_part("log").path / "segment").unlink()
    provider.release()
    assert clean_up("r1", made, lambda number: None, everything=False) == []
    assert list(tmp_path.iterdir()) == []


def test_drives_of_roles_are_named_and_counted_by_role() -> None:
    """A constant log on a mirror while the data vary, as test reports have it."""
    mirror = {"array": {"drives": 2, "drive": "generic-15k", "level": "raid1", "size": "1 GiB"}}
    candidate = read_candidate({"path": "/var/tmp/a", "roles": {"log": mirror}})
    assert name_drives(candidate) == ("log-1", "log-2")
    assert is_emulated(candidate)
    assert sum_image_bytes(candidate, NEEDED) == 2 * 2**30
    found = set_aside(candidate, NEEDED)
    assert found["data"].provisioned_bytes is None
    assert (found["log"].provisioned_bytes, found["log"].redundancy) == (2 * 2**30, 2.0)
    together = read_candidate({"drive": "io2", "roles": {"log": {"drive": "gp3", "size": "1 GiB"}}})
    assert name_drives(together) == ("data", "log")


@pytest.mark.parametrize(("roles", "shown"), [
    ("{log: {path: /var/tmp/stithy}}", "two roles on the same storage"),
    ("{log: {bucket: s3}}", "a source without a provider"),
    ("{log: {array: {drives: 1, drive: a}}}", "too few devices for it"),
    ("{log: {drive: a, cost: 7 EUR}}", "unknown key"),
    ("{wal: {drive: a}}", "wal"),
])  # fmt: skip
def test_sources_of_roles_are_read_as_those_of_candidates(roles: str, shown: str) -> None:
    """Each problem at its key; what belongs to the candidate is not the source's."""
    plain = "disk: {path: /var/tmp/stithy"
    [problem] = problems(study_text((f"{plain}}}", f"{plain}, roles: {roles}}}")))
    assert shown in str(problem)


NAMES = ("data-host1", "data-host2", "data-host1-cache", "data-host2-cache")


@pytest.mark.parametrize(
    ("host", "numbers"), [(None, (0, 1, 2, 3)), (1, (0, 2)), (2, (1, 3)), (3, ())]
)
def test_a_host_has_its_drives_and_the_faster_ones_beside_them(
    tmp_path: Path, host: int | None, numbers: tuple[int, ...]
) -> None:
    """Known by the devices that its OSDs use; all carry what is mounted from the image."""
    folder = tmp_path / "cluster"
    layout.make(folder, layout.make_entry("lab", None, 2, 1))
    for number in range(4):
        (folder / f"osd.{number % 2}").mkdir(exist_ok=True)
        link = folder / f"osd.{number % 2}" / ("block", "block.db")[number // 2]
        link.symlink_to(f"/dev/loop{number}")
    given: dict[str, Any] = dict.fromkeys((of.name for of in fields(EmulatedDrive)), "")
    drives = tuple(EmulatedDrive(**{**given, "name": name, "device": f"/dev/loop{number}"})
                   for number, name in enumerate(NAMES))  # fmt: skip
    volume = Volume(tmp_path, "ext4", tmp_path, "noatime", ("loop9",), memory_backed=False)
    found = list_drives_of(replace(volume, emulated=drives, cluster=folder), host)
    assert [drive.name for drive in found] == [NAMES[number] for number in numbers]
    assert {drive.device for drive in found} <= {"/dev/loop9"}
