"""What `stithy doctor` shows of made-up machines: one screen, what is missing first."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.machine import FACTS, PROGRAMS, QUIET, TEXTS, FakeMachine, place
from stithy.cli.doctor import make_text
from stithy.fio import FIO
from stithy.hosts.activity import BusyProgram
from stithy.needs import Judgement
from stithy.run.doctor import examine, judge_engine
from support import golden

HERE = Path(__file__).parent / "doctor"
NO_DEVICES = dict.fromkeys(
    ("/dev/fuse", "/dev/loop-control", "/dev/ublk-control", "/dev/mapper/control"), "not found"
)
NO_GROUP = "no control group can be created in /sys/fs/cgroup"
SERVER = Judgement("postgresql", "there", "15.1 in /usr/lib/postgresql/15/bin")
EMBEDDED = Judgement("sqlite", "there", "3.50.4 in /opt/stithy/bin")
ABSENT = Judgement(
    "mysql", "missing", "no MySQL server programs were found", "apt-get install mysql-server-core"
)
OTHER = Judgement("mariadb", "there", "10.11.19 in /usr/sbin")
BY_URL = judge_engine(FakeMachine(), "sqlserver")
NO_SERVER = Judgement(
    "postgresql", "missing",
    "14 directories, PATH among them: no PostgreSQL server programs were found",
    "install them (apt-get install postgresql or dnf install postgresql-server)",
)  # fmt: skip
DISTURBED = replace(
    QUIET,
    cpu_share=0.6,
    programs=(BusyProgram("backup", 42, 0.55, 40 * 2**20),),
    devices={"vda": 0.5},
)
MACHINES = {
    "good": (FakeMachine(), SERVER),
    "ordinary-user": (
        FakeMachine(
            is_root=False,
            no_memory_limit=NO_GROUP,
            closed_devices=NO_DEVICES
            | dict.fromkeys(("/dev/fuse", "/dev/loop-control"), "it cannot be opened"),
        ),
        SERVER,
    ),
    "container": (
        FakeMachine(
            installer="dnf",
            closed_devices=NO_DEVICES,
            listed={},
            programs={name: told for name, told in PROGRAMS.items() if name.startswith("stithy")},
            texts={name: text for name, text in TEXTS.items() if "pressure" not in name},
            no_memory_limit=NO_GROUP,
            no_io_uring="the kernel refuses it (operation not permitted)",
            open_places=(),
        ),
        NO_SERVER,
    ),
    "without-clusters": (
        FakeMachine(
            programs=PROGRAMS | {"qemu-storage-daemon": "Unknown driver 'rbd'"},
            no_network={
                "ip": "`ip link add stithy type bridge`: Unknown device type",
                "tc": "`tc qdisc add`: Specified qdisc kind is unknown",
            },
        ),
        SERVER,
    ),
    "laptop": (
        FakeMachine(
            told=FACTS | {"cpu_governor": "powersave", "clock_source": "hpet", "cpus": 1},
            synchronised=False,
            doing=DISTURBED,
            open_places=(place("/var/tmp/stithy", 1), place("/data/stithy", 900, device="sda")),
        ),
        SERVER,
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_is_shown_as_accepted(name: str, tmp_path: Path, accept_golden: bool) -> None:
    """Changes of what people read are made on purpose."""
    machine, server = MACHINES[name]
    commands = {"drive profile": (FIO,)}
    found = examine(
        machine,
        commands,
        ask_engine={
            "postgresql": server,
            "mariadb": OTHER,
            "mysql": ABSENT,
            "sqlite": EMBEDDED,
            "sqlserver": BY_URL,
        }.__getitem__,
        here=tmp_path,
    )
    text = make_text(found)
    assert max(map(len, text.splitlines())) <= 100
    golden.same(HERE / f"{name}.txt", f"{text}\n", accept_golden)
