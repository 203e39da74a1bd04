"""Each check judges made-up machines, without looking at this one."""

from dataclasses import replace

import pytest

from fakes.machine import FACTS, QUIET, TEXTS, FakeMachine, place
from stithy.hosts.activity import BusyProcess
from stithy.hosts.checks import cpu, drives, kernel, load
from stithy.needs import Judgement, Machine
from stithy.registry import plugins

IDLE = "/sys/devices/system/cpu/cpu0/cpuidle"


def by_name(name: str, machine: Machine) -> dict[str, Judgement]:
    """What a check says, by what it speaks of."""
    return {each.what: each for each in plugins("check")[name].judge(machine)}


def states(name: str, machine: Machine) -> dict[str, str]:
    """The states of what a check says."""
    return {what: judged.state for what, judged in by_name(name, machine).items()}


@pytest.mark.parametrize("name", plugins("check"))
def test_a_machine_that_tells_nothing_is_judged_all_the_same(name: str) -> None:
    """Nothing of it is disturbing for not being known."""
    bare = FakeMachine(
        facts={}, texts={}, listed={}, programs={}, synchronised=None, open_places=()
    )
    assert "disturbing" not in states(name, bare).values()


@pytest.mark.parametrize("name", sorted(set(plugins("check")) - {"kernel"}))
def test_a_good_machine_has_nothing_to_mend(name: str) -> None:
    """And no remedy is told for what is well."""
    assert all(each.remedy is None for each in by_name(name, FakeMachine()).values())


def test_features_of_the_kernel_are_there_or_absent() -> None:
    """What is absent comes with what would bring it."""
    found = by_name(kernel.NAME, FakeMachine())
    assert found["FUSE"].state == found["BPF"].state == found["pressure"].state == "there"
    assert found["ublk"].state == "absent"
    assert "ublk_drv" in (found["ublk"].remedy or "")
    assert found["control groups"].found == "version 2: cpu, io, memory"


def test_controllers_of_version_1_are_read_from_their_list() -> None:
    """The last column says whether one is enabled."""
    table = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t5\t1\nmemory\t4\t9\t0"
    machine = FakeMachine(facts=FACTS | {"cgroup_version": "1"}, texts={"/proc/cgroups": table})
    assert by_name(kernel.NAME, machine)["control groups"].found == "version 1: cpu"


def test_a_module_that_is_not_loaded_is_loaded_by_modprobe() -> None:
    """nbd is a module on most machines."""
    texts = TEXTS | {"/lib/modules/6.12.1/modules.dep": "kernel/drivers/block/nbd.ko.zst:\n"}
    assert by_name(kernel.NAME, FakeMachine(texts=texts))["nbd"].remedy == "modprobe nbd"


@pytest.mark.parametrize(
    ("governor", "state"),
    [
        ("performance", "there"),
        ("powersave", "disturbing"),
        ("performance, ondemand", "disturbing"),
    ],
)
def test_a_governor_that_changes_the_frequency_is_told(governor: str, state: str) -> None:
    """All CPUs must be at the one that does not."""
    machine = FakeMachine(facts=FACTS | {"cpu_governor": governor})
    assert states(cpu.NAME, machine)["CPU governor"] == state


@pytest.mark.parametrize(("disabled", "state"), [("0", "disturbing"), ("1", "there")])
def test_deep_idle_counts_unless_it_is_disabled(disabled: str, state: str) -> None:
    """133 µs to wake up are more than an NVMe drive takes to answer."""
    texts = TEXTS | {
        f"{IDLE}/state0/latency": "2",
        f"{IDLE}/state0/name": "C1",
        f"{IDLE}/state1/latency": "133",
        f"{IDLE}/state1/name": "C6",
        f"{IDLE}/state1/disable": disabled,
    }
    machine = FakeMachine(texts=texts, listed={IDLE: ("driver", "state0", "state1")})
    assert states(cpu.NAME, machine)["deep idle"] == state


def test_a_single_cpu_is_told() -> None:
    """Driver and database share it."""
    assert states(cpu.NAME, FakeMachine(facts=FACTS | {"cpus": 1}))["CPUs"] == "disturbing"


def test_other_load_names_who_causes_it() -> None:
    """The busiest first, three at most."""
    busy = replace(
        QUIET,
        cpu_share=0.5,
        steal_share=0.1,
        devices={"vda": 0.9},
        processes=tuple(BusyProcess(name, 7, 1.0) for name in "abcd"),
    )
    found = by_name(load.NAME, FakeMachine(doing=busy))
    assert found["other load"].found == "CPUs 50% busy: a (7), b (7), c (7)"
    assert found["busy devices"].found == "vda 90% of the time"
    disturbing = {what for what, each in found.items() if each.state == "disturbing"}
    assert disturbing == {"other load", "stolen time", "busy devices"}


@pytest.mark.parametrize(
    ("source", "state"), [("tsc", "there"), ("kvm-clock", "there"), ("hpet", "disturbing")]
)
def test_a_clock_that_is_slow_to_read_is_told(source: str, state: str) -> None:
    """It is read twice for every request."""
    machine = FakeMachine(facts=FACTS | {"clock_source": source})
    assert states(cpu.NAME, machine)["clock source"] == state


@pytest.mark.parametrize(
    ("synchronised", "state"), [(True, "there"), (False, "unknown"), (None, "unknown")]
)
def test_a_clock_that_nobody_sets_may_be_wrong(synchronised: bool | None, state: str) -> None:
    """It need not be: the host of a virtual machine may see to it."""
    assert states(cpu.NAME, FakeMachine(synchronised=synchronised))["clock"] == state


def test_memory_swap_and_space_are_told() -> None:
    """A place that is nearly full is no place for a candidate."""
    texts = {
        "/proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\nSwapTotal: 2048 kB\n"
        "SwapFree: 1024 kB"
    }
    machine = FakeMachine(texts=texts, open_places=(place("/var/tmp/stithy", 1),))
    found = by_name(load.NAME, machine)
    assert found["memory"].found == "4 GiB of 8 GiB to use"
    assert found["swap"].found == "1 MiB in use"
    assert (found["space"].state, found["space"].found) == (
        "disturbing",
        "/var/tmp has 1 GiB free (ext4)",
    )


def test_the_ways_to_a_drive_are_those_that_its_program_tells() -> None:
    """One is used, others are not."""
    text = "fuse        used      FUSE is there\nublk        not used  no /dev/ublk-control\n"
    assert list(drives.parse(text)) == [
        Judgement("drives by fuse", "there", "FUSE is there"),
        Judgement("drives by ublk", "absent", "no /dev/ublk-control"),
    ]
