"""Devices under a directory, by a made-up /proc and /sys, and the mean times of their requests."""

from pathlib import Path

import pytest

from stithy.hosts.devices import (
    DiskCounters,
    devices_under,
    mean_times_s,
    mount_of,
    parse_diskstats,
    parse_mount,
    shared_by,
)
from support.captured import captured


class Machine:
    """A /proc and /sys that a test fills; `root` is the directory that stands for `/`."""

    def __init__(self, root: Path) -> None:
        self.root, self.proc, self.sys = root / "fs", root / "proc", root / "sys"
        for folder in (self.root, self.proc / "self", self.sys / "dev" / "block"):
            folder.mkdir(parents=True)
        (self.sys / "class" / "block").mkdir(parents=True)
        self.lines = ""

    def mount(self, point: str, number: str, kind: str, source: str, options: str = "rw") -> Path:
        """Mount something below `root`."""
        path = self.root / point
        path.mkdir(parents=True, exist_ok=True)
        self.lines += f"1 0 {number} / {path} {options} - {kind} {source} rw\n"
        (self.proc / "self" / "mountinfo").write_text(self.lines)
        return path

    def device(self, name: str, number: str, parent: str = "") -> Path:
        """A block device, or a partition of `parent`."""
        place = self.sys / "devices" / parent / name
        place.mkdir(parents=True)
        if parent:
            (place / "partition").write_text("1\n")
        (self.sys / "class" / "block" / name).symlink_to(place)
        (self.sys / "dev" / "block" / number).symlink_to(place)
        return place

    def under(self, path: Path) -> tuple[str, ...]:
        """The devices under a path."""
        return devices_under(path, self.proc, self.sys)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with nothing on it."""
    return Machine(tmp_path)


def test_a_partition_is_told_with_its_disk(machine: Machine) -> None:
    """Also where mountinfo calls it /dev/root: the number of the file system is what counts."""
    machine.device("sda", "8:0")
    machine.device("sda1", "8:1", parent="sda")
    assert machine.under(machine.mount("data", "8:1", "ext4", "/dev/root")) == ("sda1", "sda")


def test_memory_has_no_device(machine: Machine) -> None:
    """tmpfs has a number without a device."""
    assert machine.under(machine.mount("shm", "0:23", "tmpfs", "tmpfs")) == ()


def test_a_loop_device_is_told_with_what_lies_under_its_file(machine: Machine) -> None:
    """The file is on another file system."""
    machine.device("vda", "254:0")
    disk = machine.mount("disk", "254:0", "ext4", "/dev/vda")
    (disk / "image").write_text("")
    loop = machine.device("loop0", "7:0") / "loop"
    loop.mkdir()
    (loop / "backing_file").write_text(f"{disk / 'image'}\n")
    assert machine.under(machine.mount("on-loop", "7:0", "ext4", "/dev/loop0")) == ("loop0", "vda")


def test_members_of_an_array_are_told_each_once(machine: Machine) -> None:
    """Two members on one disk name the disk once."""
    machine.device("sda", "8:0")
    members = [machine.device(f"sda{n}", f"8:{n}", parent="sda") for n in (1, 2)]
    slaves = machine.device("md0", "9:0") / "slaves"
    slaves.mkdir()
    for member in members:
        (slaves / member.name).symlink_to(member)
    found = machine.under(machine.mount("array", "9:0", "xfs", "/dev/md0"))
    assert found == ("md0", "sda1", "sda", "sda2")


def test_all_devices_of_a_btrfs_are_told(machine: Machine) -> None:
    """Its own number is of no device; /sys lists the members."""
    for name, number in (("sdb", "8:16"), ("sdc", "8:32")):
        machine.device(name, number)
        members = machine.sys / "fs" / "btrfs" / "some-uuid" / "devices"
        members.mkdir(parents=True, exist_ok=True)
        (members / name).touch()
    assert machine.under(machine.mount("pool", "0:50", "btrfs", "/dev/sdc")) == ("sdb", "sdc")


def test_an_overlay_is_told_by_its_upper_layer(machine: Machine) -> None:
    """That is where writes go."""
    machine.device("vda", "254:0")
    disk = machine.mount("disk", "254:0", "ext4", "/dev/vda")
    (disk / "upper").mkdir()
    options = f"rw,lowerdir=/l,upperdir={disk / 'upper'},workdir=/w"
    assert machine.under(machine.mount("merged", "0:60", "overlay", "overlay", options)) == ("vda",)


@pytest.mark.parametrize("layer", ["gone", "merged/upper"])
def test_the_layers_of_a_container_lie_on_nothing_that_it_can_see(
    machine: Machine, layer: str
) -> None:
    """Their names are the host's: here they are of nothing, or of something in the overlay."""
    (machine.root / "merged/upper").mkdir(parents=True)
    options = f"rw,lowerdir=/l,upperdir={machine.root / layer},workdir=/w"
    machine.mount("", "0:60", "overlay", "overlay", options)
    assert machine.under(machine.root) == ()


def test_of_two_mounts_at_one_point_the_last_one_counts(machine: Machine) -> None:
    """It hides the first."""
    machine.mount("twice", "8:0", "ext4", "/dev/sda")
    path = machine.mount("twice", "0:9", "tmpfs", "tmpfs")
    assert mount_of(path, machine.proc).kind == "tmpfs"


def test_captured_mounts_are_read() -> None:
    """Blanks in names are escaped; options of mount and file system come together."""
    found = [parse_mount(line) for line in captured("proc/mountinfo").splitlines()]
    assert ("/", "ext4", "/dev/vda") in [(str(m.point), m.kind, m.source) for m in found]
    spaced = parse_mount(r"36 35 98:0 / /a\040b rw,noatime shared:1 - ext4 /dev/x rw,discard")
    assert str(spaced.point) == "/a b"
    assert spaced.options == "rw,noatime,discard"


def test_two_file_systems_on_one_disk_share_it(machine: Machine) -> None:
    """Partitions have a disk in common; another disk has nothing."""
    machine.device("sda", "8:0")
    machine.device("sda1", "8:1", parent="sda")
    machine.device("sda2", "8:2", parent="sda")
    machine.device("sdb", "8:16")
    one = machine.mount("one", "8:1", "ext4", "/dev/sda1")
    two = machine.mount("two", "8:2", "xfs", "/dev/sda2")
    other = machine.mount("other", "8:16", "xfs", "/dev/sdb")
    assert shared_by(one, two, machine.proc, machine.sys) == "sda"
    assert shared_by(one, other, machine.proc, machine.sys) is None


def test_one_file_system_without_a_device_is_shared_as_itself(machine: Machine) -> None:
    """Memory has no device; two directories in it lie on the same all the same."""
    shm = machine.mount("shm", "0:23", "tmpfs", "tmpfs")
    other = machine.mount("tmp", "0:24", "tmpfs", "tmpfs")
    (shm / "a").mkdir()
    assert shared_by(shm / "a", shm, machine.proc, machine.sys) == f"the tmpfs at {shm}"
    assert shared_by(shm, other, machine.proc, machine.sys) is None


def counted(
    read: tuple[int, int] = (0, 0), write: tuple[int, int] = (0, 0), flush: tuple[int, int] = (0, 0)
) -> DiskCounters:
    """A line with these requests and milliseconds."""
    fields = [read[0], 0, 0, read[1], write[0], 0, 0, write[1], 0, 10, 20, 0, 0, 0, 0, *flush]
    line = f"7 3 loop3 {' '.join(map(str, fields))}\n"
    return parse_diskstats(line.encode(), [b"loop3"])["loop3"]


def test_each_operation_has_the_mean_of_what_ended_between() -> None:
    """In seconds; what was not asked for took no time, not 0."""
    before = counted(read=(100, 50), write=(10, 5))
    found = mean_times_s(before, counted(read=(200, 90), write=(20, 9)), writes=10)
    assert found == {"read": 400e-6, "write": 400e-6, "flush": None}


def test_flushes_without_data_are_no_writes() -> None:
    """The kernel counts each of them as a write of no sectors, too, that takes as long.

    100 writes of 500 µs and 100 flushes of 50 µs: the kernel says that 200 writes took 275 µs.
    """
    after = counted(write=(200, 55), flush=(100, 5))
    found = mean_times_s(counted(), after, writes=100)
    assert found["write"] == pytest.approx(500e-6)
    assert found["flush"] == pytest.approx(50e-6)


def test_writes_that_flush_by_themselves_stay() -> None:
    """A write that carries data and flushes is one write; nothing is taken out for it."""
    found = mean_times_s(counted(), counted(write=(100, 50), flush=(100, 5)), writes=100)
    assert found["write"] == pytest.approx(500e-6)


def test_requests_that_the_drive_splits_are_not_taken_for_flushes() -> None:
    """Nor can more be taken out than there were flushes."""
    after = counted(write=(100, 50), flush=(10, 1))
    assert mean_times_s(counted(), after, writes=150)["write"] == pytest.approx(500e-6)
    assert mean_times_s(counted(), after, writes=0)["write"] == pytest.approx(49e-3 / 90)
