"""Needs are judged by what a machine answers, and tell what mends a lack of them."""

import pytest

from fakes.machine import PROGRAMS, TEXTS, FakeMachine
from stithy.needs import (
    Device,
    KernelFileSystem,
    MemoryLimit,
    Need,
    OwnProgram,
    Package,
    Program,
    Readable,
    Root,
)

FUSE = Device(path="/dev/fuse", module="fuse", why="drives")
FIO = Program(
    name="fio", package=Package("fio", "fio"), asked=("--version",), oldest=(3, 20), why="measuring"
)
XFS = Program(name="mkfs.xfs", package=Package("xfsprogs", "xfs"), asked=("-V",), why="xfs")
CLOSED = {"/dev/fuse": "it cannot be opened (operation not permitted)"}
MODULES = TEXTS | {"/lib/modules/6.12.1/modules.dep": "kernel/fs/fuse/fuse.ko.xz:\n"}


@pytest.mark.parametrize(
    "need",
    [
        Root(why="it"),
        FUSE,
        FIO,
        OwnProgram(name="stithy-drive", why="it"),
        KernelFileSystem(name="xfs", why="it"),
        Readable(path="/proc/stat", why="it", remedy="mount it"),
        MemoryLimit(why="it"),
    ],
    ids=lambda need: type(need).__name__,
)
def test_a_good_machine_has_it_and_an_empty_one_lacks_it_with_a_remedy(need: Need) -> None:
    """Whoever lacks something is told what mends it."""
    assert need.judge(FakeMachine()).state == "there"
    bare = FakeMachine(
        is_root=False,
        texts={},
        listed={},
        programs={},
        closed_devices={"/dev/fuse": "it is not there"},
        no_memory_limit="none can be made",
    )
    judged = need.judge(bare)
    assert judged.state == "missing"
    assert judged.remedy


@pytest.mark.parametrize(
    ("machine", "command"),
    [
        (FakeMachine(programs={}), "apt-get install xfsprogs"),
        (FakeMachine(programs={}, is_root=False), "sudo apt-get install xfsprogs"),
        (FakeMachine(programs={}, installer="dnf"), "dnf install xfs"),
        (FakeMachine(programs={}, installer=None), "apt-get install xfsprogs or dnf install xfs"),
    ],
)
def test_a_program_is_got_as_the_distribution_calls_it(machine: FakeMachine, command: str) -> None:
    """The command can be copied as it stands."""
    assert XFS.judge(machine).remedy == command


@pytest.mark.parametrize(
    ("told", "state"),
    [("fio-3.19", "missing"), ("fio-3.20", "there"), ("fio-4.0-rc1", "there"), ("", "missing")],
)
def test_an_old_program_counts_as_missing(told: str, state: str) -> None:
    """And so does one that does not tell its version."""
    assert FIO.judge(FakeMachine(programs=PROGRAMS | {"fio": told})).state == state


def test_an_own_program_that_does_not_start_is_missing() -> None:
    """It may be built for another machine."""
    machine = FakeMachine(programs={"stithy-drive": ""})
    judged = OwnProgram(name="stithy-drive", why="it").judge(machine)
    assert (judged.state, judged.found) == ("missing", "/usr/bin/stithy-drive does not start here")


@pytest.mark.parametrize(
    ("machine", "remedy"),
    [
        (FakeMachine(closed_devices=CLOSED), "allow it to this container"),
        (
            FakeMachine(closed_devices={"/dev/fuse": "it is not there"}, listed={}, texts=MODULES),
            "modprobe fuse",
        ),
        (
            FakeMachine(closed_devices={"/dev/fuse": "it is not there"}, listed={}),
            "use a kernel with the module fuse",
        ),
    ],
    ids=["forbidden", "module not loaded", "no module"],
)
def test_what_mends_a_device_depends_on_why_it_does_not_open(
    machine: FakeMachine, remedy: str
) -> None:
    """A container's rules, a module that is not loaded, or a kernel without it."""
    judged = FUSE.judge(machine)
    assert judged.state == "missing"
    assert (judged.remedy or "").startswith(remedy)


def test_a_device_that_only_root_may_open_is_there() -> None:
    """What is lacking is the rights, and they are a need of their own."""
    assert FUSE.judge(FakeMachine(closed_devices=CLOSED, is_root=False)).state == "there"


def test_a_file_system_whose_module_is_on_disk_is_there() -> None:
    """The kernel loads it when the first one is mounted."""
    texts = {
        "/proc/sys/kernel/osrelease": "6.12.1",
        "/lib/modules/6.12.1/modules.dep": "kernel/fs/xfs/xfs.ko: kernel/lib/libcrc32c.ko",
    }
    assert KernelFileSystem(name="xfs", why="it").judge(FakeMachine(texts=texts)).state == "there"


def test_root_without_the_right_to_mount_is_no_root() -> None:
    """As in a container that was started without --privileged."""
    status = {"/proc/self/status": "Name:\tsh\nCapEff:\t00000000a80425fb"}
    judged = Root(why="drives").judge(FakeMachine(texts=status))
    assert judged.state == "missing"
    assert "CAP_SYS_ADMIN" in judged.found
    whole = {"/proc/self/status": "CapEff:\t000001ffffffffff"}
    assert Root(why="drives").judge(FakeMachine(texts=whole)).state == "there"
