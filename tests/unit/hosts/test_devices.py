"""Devices under a directory, by a made-up /proc and /sys, and the mean times of their requests."""

from pathlib import Path

import pytest

from stithy.hosts import devices
from support.kernel import Kernel


@pytest.fixture
def machine(tmp_path: Path) -> Kernel:
    """A disk `sda` with two partitions, and a disk `vda` with a file system."""
    made = Kernel(tmp_path)
    made.add_device("sda", "8:0")
    for number in (1, 2):
        made.add_device(f"sda{number}", f"8:{number}", parent="sda")
    made.add_device("vda", "254:0")
    made.mount("disk", "254:0", "ext4", "/dev/vda")
    return made


def test_what_lies_under_a_directory_is_told_from_top_to_bottom(machine: Kernel) -> None:
    """The number of a file system counts, not its name; memory has no device."""
    assert machine.under(machine.mount("data", "8:1", "ext4", "/dev/root")) == ("sda1", "sda")
    assert machine.under(machine.mount("shm", "0:23", "tmpfs", "tmpfs")) == ()
    loop = machine.add_device("loop0", "7:0") / "loop"
    loop.mkdir()
    (loop / "backing_file").write_text(f"{machine.root / 'disk/image'}\n")
    (machine.root / "disk/image").touch()
    on_loop = machine.mount("on-loop", "7:0", "ext4", "/dev/loop0")
    assert machine.under(on_loop) == ("loop0", "vda")
    (loop / "backing_file").write_text(f"/{'x' * 300}\n")  # no system call takes such a name
    assert machine.under(on_loop) == ("loop0",), "a file that cannot be looked at is not known"
    slaves = machine.add_device("md0", "9:0") / "slaves"
    slaves.mkdir()
    for number in (1, 2):
        (slaves / f"sda{number}").symlink_to(machine.sys / f"devices/sda/sda{number}")
    found = machine.under(machine.mount("array", "9:0", "xfs", "/dev/md0"))
    assert found == ("md0", "sda1", "sda", "sda2")
    (machine.sys / "fs/btrfs/some-uuid/devices").mkdir(parents=True)
    for name in ("sda", "vda"):
        (machine.sys / "fs/btrfs/some-uuid/devices" / name).touch()
    assert machine.under(machine.mount("pool", "0:50", "btrfs", "/dev/vda")) == (
        "sda",
        "vda",
    )


def test_an_overlay_is_told_by_its_upper_layer_and_mounts_as_of_now(machine: Kernel) -> None:
    """A container's names are the host's, so it lies on nothing it sees; the last mount counts."""
    for layer, expected in (("disk/upper", ("vda",)), ("gone", ()), ("all/upper", ())):
        if layer != "gone":
            (machine.root / layer).mkdir(parents=True)
        options = f"rw,lowerdir=/l,upperdir={machine.root / layer},workdir=/w"
        assert machine.under(machine.mount("all", "0:60", "overlay", "x", options)) == expected
    found = devices.parse_mount(
        r"36 35 98:0 / /a\040b rw,noatime shared:1 - ext4 /dev/x rw,discard"
    )
    assert (str(found.point), found.kind, found.source) == ("/a b", "ext4", "/dev/x")
    assert found.options == "rw,noatime,discard"


def test_what_two_directories_share_is_told(machine: Kernel) -> None:
    """A disk of two partitions, or a file system without a device as itself."""
    one = machine.mount("one", "8:1", "ext4", "/dev/sda1")
    two = machine.mount("two", "8:2", "xfs", "/dev/sda2")
    shm, tmp = (machine.mount(name, n, "tmpfs", "x") for name, n in (("s", "0:23"), ("t", "0:24")))
    (shm / "a").mkdir()
    for a, b, shared in (
        (one, two, "sda"), (one, machine.root / "disk", None),
        (shm / "a", shm, f"the tmpfs at {shm}"), (shm, tmp, None),
    ):  # fmt: skip
        assert devices.find_shared(a, b, machine.proc, machine.sys) == shared


Did = tuple[int, int]


def _counted(read: Did = (0, 0), write: Did = (0, 0), flush: Did = (0, 0)) -> devices.DiskCounters:
    fields = [read[0], 0, 0, read[1], write[0], 0, 0, write[1], 0, 10, 20, 0, 0, 0, 0, *flush]
    line = f"7 3 loop3 {' '.join(map(str, fields))}\n"
    return devices.parse_diskstats(line.encode(), [b"loop3"])["loop3"]


def test_each_operation_has_the_mean_of_what_ended_between() -> None:
    """What was not asked for took no time, not 0. The kernel counts flushes as writes, too."""
    before = _counted(read=(100, 50), write=(10, 5))
    found = devices.average_times_s(before, _counted(read=(200, 90), write=(20, 9)), writes=10)
    assert found == {"read": 400e-6, "write": 400e-6, "flush": None}
    for write, flush, writes, expected_s in (
        ((200, 55), (100, 5), 100, 500e-6),
        ((100, 50), (100, 5), 100, 500e-6),  # writes that flush
        ((100, 50), (10, 1), 150, 500e-6),  # split requests
        ((100, 50), (10, 1), 0, 49e-3 / 90),  # no more than there were
    ):
        found = devices.average_times_s(
            _counted(), _counted(write=write, flush=flush), writes=writes
        )
        assert found["write"] == pytest.approx(expected_s)


def test_a_mount_that_a_user_may_not_look_at_is_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mount of a machine is asked, and some are in directories of others."""

    def refused(_: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_block_device", refused)
    assert devices.list_devices_under(Path("/dev/null")) == devices.list_devices_under(Path("/dev"))
