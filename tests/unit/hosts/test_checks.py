"""Checks and needs judge made-up machines, and this machine answers what they ask.

What `stithy doctor` says of whole machines is in tests/golden/doctor.
"""

from dataclasses import replace
from pathlib import Path

from fakes.machine import FACTS, PROGRAMS, QUIET, TEXTS, FakeMachine
from stithy.hosts.activity import BusyProgram
from stithy.hosts.checks import MachineCheck, parse_transports
from stithy.hosts.facts import read_machine_facts, read_storage_facts
from stithy.needs import DeviceNeed, KernelFileSystem, Need, OwnProgram, Package, ProgramNeed, Root
from stithy.registry import plugins
from stithy.storage.providers.ceph.laboratory import HOSTS, QEMU_RBD

IDLE = "/sys/devices/system/cpu/cpu0/cpuidle"
V1 = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t5\t1\nmemory\t4\t9\t0"
DEPENDENCIES = "/lib/modules/6.12.1/modules.dep"


def _idle(disabled: str) -> FakeMachine:
    state = {"latency": "133", "name": "C6", "disable": disabled}
    texts = TEXTS | {f"{IDLE}/state1/{key}": value for key, value in state.items()}
    return FakeMachine(texts=texts, listed={IDLE: ("driver", "state1")})


CLUTTERED = tuple(BusyProgram(name, 7, 0.1, None) for name in "abcd")
BUSY = FakeMachine(doing=replace(QUIET, cpu_share=0.5, steal_share=0.1, programs=CLUTTERED))
HIDDEN = FakeMachine(doing=replace(QUIET, cpu_share=0.5, hidden_share=0.4))
SWAP = TEXTS["/proc/meminfo"].replace("SwapTotal: 0", "SwapTotal: 2048")
BARE = FakeMachine(told={}, texts={}, listed={}, programs={}, synchronised=None, open_places=())


def test_what_disturbs_a_measurement_is_told() -> None:
    """With what was found, or what changes it; a machine that tells nothing disturbs nothing."""
    old = FakeMachine(told=FACTS | {"cgroup_version": "1"}, texts={"/proc/cgroups": V1})
    nbd = FakeMachine(texts=TEXTS | {DEPENDENCIES: "kernel/drivers/block/nbd.ko.zst:\n"})
    governed = FakeMachine(told=FACTS | {"cpu_governor": "performance, ondemand"})
    for check, what, machine, state, shown in (
        ("cpu", "CPU governor", governed, "disturbing", ""),
        ("cpu", "deep idle", _idle("0"), "disturbing", "133"),
        ("cpu", "deep idle", _idle("1"), "there", ""),
        (
            "load",
            "other load",
            BUSY,
            "disturbing",
            "CPUs 50% busy: a (7) 10% CPU, b (7) 10% CPU, c (7) 10% CPU",
        ),
        ("load", "other load", HIDDEN, "disturbing", "hidden from this user or container 40% CPU"),
        ("load", "stolen time", BUSY, "disturbing", ""),
        ("load", "swap", FakeMachine(texts=TEXTS | {"/proc/meminfo": SWAP}), "", "2 MiB in use"),
        ("kernel", "control groups", old, "there", "version 1: cpu"),
        ("kernel", "nbd", nbd, "absent", "modprobe nbd"),
    ):
        judge = plugins(MachineCheck)[check].judge
        found = {each.what: each for each in judge(machine)}[what]
        assert found.state == state or not state
        assert shown in f"{found.found} {found.remedy}"
        assert "disturbing" not in {each.state for each in judge(BARE)}


FUSE = DeviceNeed(path="/dev/fuse", module="fuse", why="drives")
FIO = ProgramNeed(
    name="fio", package=Package("fio", "fio"), asked=("--version",), oldest=(3, 20), why="measuring"
)
XFS = ProgramNeed(name="mkfs.xfs", package=Package("xfsprogs", "xfs"), asked=("-V",), why="xfs")
GONE, CLOSED = {"/dev/fuse": "not found"}, {"/dev/fuse": "it cannot be opened (no right)"}
RIGHTS = "/proc/self/status"
KERNEL = {"/proc/sys/kernel/osrelease": "6.12.1",
          DEPENDENCIES: "kernel/fs/xfs/xfs.ko:\nkernel/fs/fuse/fuse.ko.xz:\n"}  # fmt: skip
DRIVE, ROOT = OwnProgram(name="stithy-drive", why="it"), Root(why="it")


def test_a_missing_need_has_its_remedy() -> None:
    """As the distribution calls it, and as the reason is why it does not work."""
    needs: tuple[tuple[Need, FakeMachine, str | None], ...] = (
        (XFS, FakeMachine(programs={}, is_root=False), "sudo apt-get install xfsprogs"),
        (XFS, FakeMachine(programs={}, installer=None), "xfsprogs or dnf install xfs"),
        (FIO, FakeMachine(programs=PROGRAMS | {"fio": "fio-3.19"}), "fio"),
        (FIO, FakeMachine(programs=PROGRAMS | {"fio": "fio-3.28"}), None),
        (FIO, FakeMachine(programs=PROGRAMS | {"fio": ""}), "fio"),
        (DRIVE, FakeMachine(programs={"stithy-drive": ""}), "drive does not start here"),
        (FUSE, FakeMachine(closed_devices=CLOSED), "allow it to this container"),
        (FUSE, FakeMachine(closed_devices=CLOSED, is_root=False), None),
        (FUSE, FakeMachine(closed_devices=GONE, listed={}, texts=TEXTS | KERNEL), "modprobe fuse"),
        (KernelFileSystem(name="xfs", why="it"), FakeMachine(texts=KERNEL), None),
        (HOSTS, FakeMachine(), None),
        (HOSTS, FakeMachine(no_network={"ip": "no such thing"}), "no such thing"),
        (HOSTS, FakeMachine(no_network={"ip": "no such thing"}, is_root=False), None),
        (HOSTS, FakeMachine(listed={}), "CONFIG_NET_NS"),
        (QEMU_RBD, FakeMachine(), None),
        (QEMU_RBD, FakeMachine(programs={QEMU_RBD.program: "Unknown driver 'rbd'"}), "extra"),
        (ROOT, FakeMachine(texts={RIGHTS: "CapEff:\t00000000a80425fb"}), "CAP_SYS_ADMIN"),
        (ROOT, FakeMachine(texts={RIGHTS: "CapEff:\t000001ffffffffff"}), None),
    )
    for need, machine, shown in needs:
        judged = need.judge(machine)
        assert judged.state == ("missing" if shown else "there")
        assert (shown or "") in f"{judged.found} {judged.remedy}"


def test_the_ways_to_a_drive_are_those_that_its_program_tells() -> None:
    """One is used, others are not."""
    text = "fuse        used      FUSE is there\nublk        not used  no /dev/ublk-control\n"
    found = [
        (parse_transport.what, parse_transport.state, parse_transport.found)
        for parse_transport in parse_transports(text)
    ]
    assert found[0] == ("drives by fuse", "there", "FUSE is there")
    assert found[1] == ("drives by ublk", "absent", "no /dev/ublk-control")


def test_every_fact_has_a_value_or_a_reason(tmp_path: Path) -> None:
    """Also where the kernel tells nothing; arguments that say nothing of speed are left out."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text("1 0 0:5 / / rw - tmpfs tmpfs rw\n")
    (tmp_path / "cmdline").write_text("root=/dev/x token=hush mitigations=off nvme.poll_queues=2\n")
    here = {**read_machine_facts(), **read_storage_facts(Path("/"))}
    bare = {
        **read_machine_facts(tmp_path, tmp_path),
        **read_storage_facts(Path("/"), tmp_path, tmp_path),
    }
    for facts in (here, bare):
        for name, fact in facts.items():
            assert (fact.value is None) == (fact.missing_because is not None), name
    assert isinstance(here["memory_bytes"].value, int)
    assert bare["memory_bytes"].missing_because
    assert bare["kernel_arguments"].value == "mitigations=off nvme.poll_queues=2"
    assert bare["devices"].missing_because == "tmpfs is not on a block device"
