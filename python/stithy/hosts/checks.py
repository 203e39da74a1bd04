"""Checks of `stithy doctor` that belong to no part: clock and CPUs, drives, kernel, other load.

They are pure: what they know they ask of the `stithy.needs.Machine` that they are given. What the
kernel lacks is not missing by itself: what a part asks for is reported with that part.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.hosts.activity import NAMED_MAX, BusyProgram, MachineActivity
from stithy.needs import DeviceNeed, Judgement, Machine, State, has_module
from stithy.registry import Family, Plugin
from stithy.units import format_duration, format_size

SLOW_SOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Each reading takes a microsecond or more, and a system call."""


def judge_cpu(machine: Machine) -> Iterator[Judgement]:
    """Judge the clock, then the CPUs."""
    source = machine.facts["clock_source"]
    if source.value is None:
        yield Judgement("clock source", "unknown", source.missing_because or "")
    elif source.value in SLOW_SOURCES:
        remedy = "look in the kernel log (dmesg) for the reason why it does not use tsc"
        yield Judgement("clock source", "disturbing", f"{source.value}, which is slow", remedy)
    else:
        yield Judgement("clock source", "there", str(source.value))
    yield _judge_clock(machine)
    cpus, model = machine.facts["cpus"].value, machine.facts["cpu_model"].value
    found = f"{cpus}{f' of {model}' if model else ''}"
    if cpus == 1:
        remedy = "add a second CPU: driver, database and emulated drives share this one"
        yield Judgement("CPUs", "disturbing", found, remedy)
    else:
        yield Judgement("CPUs", "there", found)
    yield _judge_governor(machine)
    yield _judge_idle(machine)


def _judge_clock(machine: Machine) -> Judgement:
    """It matters to the times that a report tells, and where logs of two hosts are compared."""
    match machine.is_clock_synchronised():
        case True:
            return Judgement("clock", "there", "synchronised")
        case False:
            found = "the kernel reports it as not synchronised"
            sudo = "" if machine.is_root else "sudo "
            return Judgement("clock", "unknown", found, f"{sudo}timedatectl set-ntp true")
        case _:
            return Judgement(
                "clock", "unknown", ("the kernel does not report whether it is synchronised")
            )


STEADY_GOVERNORS = frozenset({"performance"})
DEEP_S = 50e-6
"""From here on waking up is a good part of what an NVMe drive takes to answer."""

CPU0 = "/sys/devices/system/cpu/cpu0"


def _judge_governor(machine: Machine) -> Judgement:
    fact = machine.facts["cpu_governor"]
    if fact.value is None:
        return Judgement("CPU governor", "unknown", fact.missing_because or "")
    if set(str(fact.value).split(", ")) <= STEADY_GOVERNORS:
        return Judgement("CPU governor", "there", str(fact.value))
    remedy = f"{_suggest_sudo(machine)}cpupower frequency-set --governor performance"
    return Judgement("CPU governor", "disturbing", str(fact.value), remedy)


def _judge_idle(machine: Machine) -> Judgement:
    """The deepest state that is not disabled, by how long a CPU takes to leave it."""
    states = [name for name in machine.names(f"{CPU0}/cpuidle") if name.startswith("state")]
    if not states:
        return Judgement("deep idle", "unknown", "the kernel shows no idle states")
    enabled = [each for each in states if _name_state(machine, each, "disable") != "1"]
    by_latency = [
        (float(_name_state(machine, each, "latency") or 0) * 1e-6, each) for each in enabled
    ]
    latency_s, state = max(by_latency, default=(0.0, ""))
    found = f"{_name_state(machine, state, 'name') or 'none'}, left in {format_duration(latency_s)}"
    if latency_s < DEEP_S:
        return Judgement("deep idle", "there", found)
    # Emulated drives keep CPUs awake while they are up; directories have nobody who would.
    remedy = f"{_suggest_sudo(machine)}cpupower idle-set --disable-by-latency {DEEP_S * 1e6:.0f}"
    return Judgement("deep idle", "disturbing", found, remedy)


def _name_state(machine: Machine, state: str, what: str) -> str | None:
    return machine.text(f"{CPU0}/cpuidle/{state}/{what}")


def _suggest_sudo(machine: Machine) -> str:
    return "" if machine.is_root else "sudo "


PROGRAM = "stithy-drive"

FLOOR_S = 50e-6
"""What a request takes at least while a database keeps the CPUs busy, however short the time
in its drive's profile. Measured on 2 CPUs: 47 µs for flushes of 15 µs (docs/evidence.md)."""


def judge_drives(machine: Machine) -> Iterator[Judgement]:
    """Judge each way; yield nothing where there is no program, which is reported elsewhere."""
    if path := machine.program(PROGRAM):
        yield from parse_transports(machine.says(path, "--transports"))
        floor = format_duration(FLOOR_S)
        found = f"about {floor} under load; shorter times of a profile cannot be emulated"
        yield Judgement("shortest drive time", "there", found)


def parse_transports(text: str) -> Iterator[Judgement]:
    """The program's lines, such as `ublk        not used  /dev/ublk-control is not there`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        used, state = not rest.lstrip().startswith("not used"), rest.lstrip()
        shown = state.removeprefix("not ").removeprefix("used").strip()
        if shown:
            yield Judgement(f"drives by {name}", "there" if used else "absent", shown)


DEVICES = {
    "FUSE": DeviceNeed(path="/dev/fuse", module="fuse", why=""),
    "loop devices": DeviceNeed(path="/dev/loop-control", module="loop", why=""),
    "ublk": DeviceNeed(path="/dev/ublk-control", module="ublk_drv", why=""),
    "device-mapper": DeviceNeed(path="/dev/mapper/control", module="dm_mod", why=""),
}

# Drivers without a device of their own to open: a place that is there with them, and the module.
DRIVERS = {
    "md": ("/proc/mdstat", "md_mod"),
    "nbd": ("/sys/block/nbd0/size", "nbd"),
    "rbd": ("/sys/bus/rbd/supported_features", "rbd"),
}


def judge_kernel(machine: Machine) -> Iterator[Judgement]:
    """Judge its version, and each feature."""
    kernel, system = machine.facts["kernel"].value, machine.facts["distribution"].value
    yield Judgement("Linux", "there", f"{kernel}, {system or 'an unknown distribution'}")
    for what, device in DEVICES.items():
        judged = device.judge(machine)
        state: State = "there" if judged.state == "there" else "absent"
        yield Judgement(what, state, f"{device.path}: {judged.found}", judged.remedy)
    for what, (place, module) in DRIVERS.items():
        if machine.text(place) is not None:
            yield Judgement(what, "there", f"{place} is there")
        elif has_module(machine, module):
            yield Judgement(what, "absent", "its module is not loaded", f"modprobe {module}")
        else:
            remedy = f"use a kernel with {module}"
            yield Judgement(what, "absent", "this kernel does not include it", remedy)
    yield _judge_feature("io_uring", machine.find_io_uring_problem(), _URING, "a ring can be made")
    yield _judge_control_groups(machine)
    pressure = None if machine.text("/proc/pressure/io") else "the kernel does not report it"
    yield _judge_feature("pressure", pressure, "boot with psi=1", "/proc/pressure is readable")
    types = None if "vmlinux" in machine.names("/sys/kernel/btf") else "without types (BTF)"
    yield _judge_feature(
        "BPF", types, "use a kernel with CONFIG_DEBUG_INFO_BTF", "with types (BTF)"
    )


_URING = "sysctl kernel.io_uring_disabled=0; in a container, allow its system calls"


def _judge_feature(what: str, problem: str | None, remedy: str | None, found: str) -> Judgement:
    if problem is None:
        return Judgement(what, "there", found)
    return Judgement(what, "absent", problem, remedy)


def _judge_control_groups(machine: Machine) -> Judgement:
    """Their version, the controllers that there are, and whether a limit of memory can be set."""
    fact = machine.facts["cgroup_version"]
    if fact.value is None:
        return Judgement("control groups", "absent", fact.missing_because or "", "mount cgroup2")
    listed = machine.text("/sys/fs/cgroup/cgroup.controllers")
    if listed is None:
        rows = (machine.text("/proc/cgroups") or "").splitlines()
        listed = " ".join(row.split()[0] for row in rows if row.endswith("\t1"))
    version = f"version {fact.value}: {', '.join(listed.split()) or 'no controllers'}"
    return Judgement("control groups", "there", version)


QUIET_CPU_SHARE = 0.1
"""What a machine without work shows; above it windows of the same kind differ."""

QUIET_DEVICE_SHARE = 0.1
QUIET_STEAL_SHARE = 0.02


def judge_load(machine: Machine) -> Iterator[Judgement]:
    """Judge what else runs, then memory and space."""
    yield from _judge_activity(machine)
    yield from _judge_room(machine)


def _judge_activity(machine: Machine) -> Iterator[Judgement]:
    activity = machine.activity()
    if busy := describe_busy_cpus(activity):
        yield Judgement("other load", "disturbing", busy, "end it, or wait for its end")
    else:
        yield Judgement("other load", "there", f"CPUs {activity.cpu_share:.0%} busy")
    if activity.steal_share > QUIET_STEAL_SHARE:
        found = f"the hypervisor gives {activity.steal_share:.0%} of the CPUs to others"
        remedy = "use a machine with CPUs of its own"
        yield Judgement("stolen time", "disturbing", found, remedy)
    if busy := describe_busy_devices(activity):
        remedy = "end what reads or writes, or find it as root: iotop, or pidstat -d"
        yield Judgement("busy devices", "disturbing", busy, remedy)
    else:
        yield Judgement("busy devices", "there", "none")


def describe_busy_cpus(activity: MachineActivity) -> str | None:
    """Say which programs of others use the CPUs; None below the limit."""
    if activity.cpu_share <= QUIET_CPU_SHARE:
        return None
    busiest = [program for program in activity.programs if program.cpu_share >= 0.01]
    names = list(map(_describe_program, busiest[:NAMED_MAX]))
    if activity.hidden_share > QUIET_CPU_SHARE / 2:
        names.append(f"programs hidden from this user or container {activity.hidden_share:.0%} CPU")
    return f"CPUs {activity.cpu_share:.0%} busy: {', '.join(names) or 'many small programs'}"


def describe_busy_devices(activity: MachineActivity) -> str | None:
    """Say which disks are busy and who moves most; None below the limit, and for the run's own."""
    busy = {name: share for name, share in activity.devices.items() if share > QUIET_DEVICE_SHARE}
    if not busy or activity.run_bytes > activity.moved_bytes:
        return None
    disks = ", ".join(f"{name} {share:.0%} of the time" for name, share in busy.items())
    movers = sorted(activity.programs, key=lambda program: -(program.bytes_per_s or 0))
    names = [_describe_program(program) for program in movers[:NAMED_MAX] if program.bytes_per_s]
    closed = [program.name for program in activity.programs if program.bytes_per_s is None]
    if closed:
        names.append(f"the I/O of {', '.join(closed[:NAMED_MAX])} is hidden from this user")
    return f"{disks}: {', '.join(names) or 'no program that /proc shows'}"


def _describe_program(program: BusyProgram) -> str:
    """`cargo (7) 15% CPU, 3 MiB/s`."""
    moved = f", {format_size(round(program.bytes_per_s))}/s" if program.bytes_per_s else ""
    return f"{program.name} ({program.pid}) {program.cpu_share:.0%} CPU{moved}"


FREE_BYTES_MIN = 4 * 2**30
"""A database of some hundred megabytes, its log and its master copy."""


def _judge_room(machine: Machine) -> Iterator[Judgement]:
    """Memory, swap in use, and each place where a candidate could stand."""
    total, free = read_memory(machine, "MemTotal"), read_memory(machine, "MemAvailable")
    if total is None or free is None:
        yield Judgement("memory", "unknown", "the kernel does not report it")
    else:
        found = f"{format_size(free)} of {format_size(total)} available"
        yield Judgement("memory", "there", found)
    total, free = read_memory(machine, "SwapTotal"), read_memory(machine, "SwapFree")
    if total and free is not None and (used := total - free):
        remedy = "free memory: otherwise swapped pages are read back during a window"
        yield Judgement("swap", "disturbing", f"{format_size(used)} in use", remedy)
    places = machine.places()
    for place in places:
        what = "memory" if place.memory_backed else place.filesystem
        found = f"{place.path.parent} has {format_size(place.free_bytes)} free ({what})"
        if place.free_bytes >= FREE_BYTES_MIN:
            yield Judgement("space", "there", found)
        else:
            remedy = f"free space on {place.mount_point}, or put candidates elsewhere"
            yield Judgement("space", "disturbing", found, remedy)
    if not places:
        problem = "no file system here has a directory that this user may use"
        yield Judgement("space", "unknown", problem, "create a directory that this user may use")


def read_memory(machine: Machine, key: str) -> int | None:
    """Bytes of a line such as `MemTotal:  24105 kB`; None where there is none."""
    for line in (machine.text("/proc/meminfo") or "").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


@dataclass(frozen=True)
class MachineCheck(Plugin):
    """A check of the machine that belongs to no part; `judge` asks that machine alone."""

    family: ClassVar = Family(module="hosts.checks")

    name: str
    judge: Callable[[Machine], Iterator[Judgement]]


PLUGINS = (
    MachineCheck("cpu", judge_cpu),
    MachineCheck("drives", judge_drives),
    MachineCheck("kernel", judge_kernel),
    MachineCheck("load", judge_load),
)
