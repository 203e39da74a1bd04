"""Arrays of ZFS as it is asked for them. Where the kernel has it, tests/real/test_layers.py."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.program import EndingRunner
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Finished
from stithy.storage.layer import MEMBERS, BuildTask, Level
from stithy.storage.layers import zfs

GIB = 2**30
NAME = "stithy-84de7c88-7ace-4a8e-9368-312b81d29913"

# zpool list -Hpv, OpenZFS 2.3.2, Linux 6.12, loop devices of 600 MiB: two mirrors, and two devices
# alone, both without files; and 50 MiB of random data on raidz1 in records of 8 KiB.
MIRRORS = """\
t\t1207959552\t107520\t1207852032\t-\t-\t1\t0\t1.00\tONLINE\t-
\tmirror-0\t603979776\t39936\t603939840\t-\t-\t1\t0\t-\tONLINE
\tloop0\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
\tloop1\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
\tmirror-1\t603979776\t67584\t603912192\t-\t-\t2\t0\t-\tONLINE
\tloop2\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
\tloop3\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
"""
RAIDZ = """\
t\t1744830464\t106569728\t1638260736\t-\t-\t1\t6\t1.00\tONLINE\t-
\traidz1-0\t1744830464\t106569728\t1638260736\t-\t-\t1\t6\t-\tONLINE
\tloop0\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
\tloop1\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
\tloop2\t629145600\t-\t-\t-\t-\t-\t-\t-\tONLINE
"""
STRIPES = """\
t\t1207959552\t104448\t1207855104\t-\t-\t1\t0\t1.00\tONLINE\t-
\tloop0\t629145600\t38912\t603940864\t-\t-\t1\t0\t-\tONLINE
\tloop1\t629145600\t65536\t603914240\t-\t-\t2\t0\t-\tONLINE
"""
# zfs get -Hp -o property,value of the raidz1.
OF_RAIDZ = """\
used\t70977104
logicalused\t52846592
compressratio\t1.00
"""


def _properties(used: int, logical: int, ratio: str) -> str:
    return f"used\t{used}\nlogicalused\t{logical}\ncompressratio\t{ratio}\n"


def test_every_copy_of_a_mirror_counts() -> None:
    """`zpool list` says one of each; a device that was added is a third copy in the last one."""
    found = zfs.parse_usage(MIRRORS, _properties(1000000, 2000000, "2.00"))
    assert (found.written_bytes, found.stored_bytes) == (2000000, 1000000)
    assert (found.physical_bytes, found.redundancy) == (2 * (39936 + 67584), 2.0)
    more = MIRRORS + MIRRORS.splitlines(keepends=True)[-1]
    assert zfs.parse_usage(more, OF_RAIDZ).physical_bytes == 2 * 39936 + 3 * 67584


def test_parity_counts_by_what_is_allocated() -> None:
    """`used` there supposes large records, whose share of parity is smaller."""
    found = zfs.parse_usage(RAIDZ, OF_RAIDZ)
    assert (found.stored_bytes, found.physical_bytes) == (52846592, 106569728)
    assert found.redundancy == pytest.approx(2, rel=0.02)
    half = zfs.parse_usage(RAIDZ, OF_RAIDZ.replace("1.00", "2.00x"))
    assert half.stored_bytes == 52846592 / 2


def test_what_is_stored_once_for_two_counts_once() -> None:
    """The file system counts it twice, the pool once."""
    twice = STRIPES.replace("1.00", "2.00")
    found = zfs.parse_usage(twice, _properties(2000000, 2000000, "1.00"))
    assert (found.stored_bytes, found.physical_bytes, found.redundancy) == (1000000, 104448, 1)


@pytest.mark.parametrize(
    ("level", "count", "recordsize", "times"),
    [("single", 1, "8 KiB", 1), ("raid0", 3, "8 KiB", 1), ("raid1", 2, "8 KiB", 2),
     ("raid1c3", 3, "8 KiB", 3), ("raid10", 4, "8 KiB", 2), ("raid10", 5, "8 KiB", 2.5),
     ("raid5", 4, "8 KiB", 2), ("raid5", 4, "128 KiB", 1.375), ("raid6", 6, "8 KiB", 3),
     ("raid6", 6, "128 KiB", 1.5), ("raid5", 5, "128 KiB", 1.25)],
)  # fmt: skip
def test_small_records_take_as_much_with_parity_as_with_copies(
    level: Level, count: int, recordsize: str, times: float
) -> None:
    """Each record has parity of its own, in whole sectors of 4 KiB."""
    spec = zfs.ZfsKeys(level=level, recordsize=recordsize)
    assert spec.count_redundancy(count) == times
    capacity = spec.count_capacity_bytes([GIB * 80] * count)
    assert 0.85 * 80 * GIB * count / times < capacity < 80 * GIB * count / times


def test_a_pool_is_asked_for_with_its_level_and_properties() -> None:
    """Nothing else mounts it or remembers it; 8 KiB are a page of PostgreSQL."""
    devices = [f"/dev/loop{index}" for index in range(5)]
    words = {level: zfs.create_words(zfs.ZfsKeys(level=level), devices, NAME) for level in MEMBERS}
    tails = {level: " ".join(each[each.index(NAME) + 1 :]) for level, each in words.items()}
    assert tails["raid0"] == " ".join(devices)
    assert tails["raid10"] == "mirror /dev/loop0 /dev/loop1 mirror /dev/loop2 /dev/loop3 /dev/loop4"
    assert [tails[level].split()[0] for level in ("raid1", "raid1c3", "raid5", "raid6")] == [
        "mirror", "mirror", "raidz1", "raidz2",
    ]  # fmt: skip
    assert {"cachefile=none", "ashift=12", "mountpoint=legacy", "recordsize=8192",
            "compression=off", "checksum=on", "dedup=off"} <= {*words["single"]}  # fmt: skip
    other = zfs.ZfsKeys(compression="zstd:3", deduplication=True, recordsize="16 KiB")
    assert {"recordsize=16384", "compression=zstd-3", "dedup=on"} <= {
        *zfs.create_words(other, devices, NAME)
    }


def test_a_person_hears_of_the_cache_and_of_what_small_records_cost() -> None:
    """The memory limit of a database does not count the cache."""

    def said(**keys: Any) -> str:
        return " ".join(zfs.ZfsKeys.model_validate(keys).list_cautions())

    assert "zfs_arc_max" in said()
    assert "as much space as 2 copies" in said(level="raid5")
    assert "as much space as 3 copies" in said(level="raid6")
    assert all("copies" not in said(level=f"raid{n}", recordsize="128 KiB") for n in (5, 6))
    assert "blocks of 4 KiB" in said(compression="lz4")
    assert "old data" in said(checksum=False)
    assert "old data" not in said(level="single", checksum=False)


class Programs(EndingRunner):
    """`zpool` with one zfs, `blkid` with the labels of devices, and all else, which succeeds."""

    def __init__(
        self, *pools: str, labels: Mapping[str, str], health: str = "ONLINE", destroys: bool = True
    ) -> None:
        super().__init__()
        self._pools, self._labels, self._health = pools, labels, health
        self._destroys = destroys

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """By the program and its first word."""
        super().run(command)
        program, *words = command.argv
        if Path(program).name == "blkid":
            label = self._labels.get(words[-1])
            return Finished(0, f"{label}\n", "") if label else Finished(2, "", "")
        if words[0] == "list":
            return Finished(0, "".join(f"{pool}\t{self._health}\n" for pool in self._pools), "")
        if words[0] == "destroy" and not self._destroys:
            return Finished(1, "", "cannot destroy 'x': pool is busy\n")
        return Finished(0, "", "")

    @property
    def said(self) -> list[str]:
        """What was asked of `zpool`."""
        return [" ".join(each[1:]) for each in self.asked if Path(each[0]).name == "zpool"]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with ZFS."""
    for name in ("zpool", "zfs", "blkid", "blockdev"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_pool_is_recorded_before_it_is_made_and_is_mounted_by_its_name(programs: Path) -> None:
    """A kill in between leaves something to look for."""
    runner = Programs(labels={})
    seen: list[tuple[str, Mapping[str, str], int]] = []
    task = BuildTask(
        NAME.removeprefix("stithy-"), "r1",
        lambda kind, facts: seen.append((kind, facts, len(runner.asked))), runner,
    )  # fmt: skip
    assert zfs.ZfsKeys().build(["/dev/a", "/dev/b"], task) == NAME
    assert seen == [("zfs", {"pool": NAME, "devices": "/dev/a /dev/b"}, 0)]
    assert runner.said == [" ".join(zfs.create_words(zfs.ZfsKeys(), ["/dev/a", "/dev/b"], NAME))]
    failing = BuildTask(
        "1", "r1", lambda *_: None, EndingRunner(1, stderr="cannot create 'x': busy\n")
    )
    with pytest.raises(InfrastructureError, match="`zpool create` failed: cannot create 'x': busy"):
        zfs.ZfsKeys().build(["/dev/a"], failing)


def test_only_a_pool_of_its_name_is_destroyed(programs: Path) -> None:
    """Before it was made, and after it was removed, there is none."""
    there, others = Programs("tank", NAME, labels={}), Programs("tank", labels={})
    zfs.remove(NAME, ["/dev/gone"], there)
    zfs.remove(NAME, ["/dev/gone"], others)
    assert there.said == ["list -H -o name,health", f"destroy -f {NAME}"]
    assert others.said == ["list -H -o name,health"]
    with pytest.raises(InfrastructureError, match="pool is busy"):
        zfs.remove(NAME, ["/dev/gone"], Programs(NAME, labels={}, destroys=False))


def test_a_pool_whose_drives_have_failed_waits_for_a_restart(programs: Path) -> None:
    """ZFS lets nobody destroy it, and asking may never end."""
    suspended = Programs(NAME, labels={}, health="SUSPENDED")
    with pytest.raises(InfrastructureError, match="restart this machine"):
        zfs.remove(NAME, ["/dev/gone"], suspended)
    assert suspended.said == ["list -H -o name,health"]


def test_labels_are_erased_where_they_lie(programs: Path) -> None:
    """On the device, or on the first partition of a disk that `zpool` divided; nobody else's."""
    disk, part, plain, other = (programs / name for name in ("sdx", "sdx1", "loop0", "loop1"))
    for each in (disk, part, plain, other):
        each.write_bytes(b"\x01" * (3 * 2**20))
    (programs / "class/sdx/sdx1").mkdir(parents=True)
    (programs / "class/sdx/sdx1/partition").write_text("1\n")
    runner = Programs(labels={str(part): NAME, str(plain): NAME, str(other): "tank"})
    for each in (disk, plain, other):
        zfs.erase_labels(NAME, each, runner, programs / "class")
    erased = {each.name: not any(each.read_bytes()[: 2**20]) for each in (disk, part, plain, other)}
    assert erased == {"sdx": True, "sdx1": True, "loop0": True, "loop1": False}
    assert [Path(each[0]).name for each in runner.asked].count("blockdev") == 1
