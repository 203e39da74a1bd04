"""What the kernel offers: ways to make block devices, to limit memory, to see where time goes.

Nothing here is missing by itself: what a part asks for is reported with that part.
"""

from collections.abc import Iterator

from stithy.needs import Device, Judgement, Machine, State, module_is_available

DEVICES = {
    "FUSE": Device(path="/dev/fuse", module="fuse", why=""),
    "loop devices": Device(path="/dev/loop-control", module="loop", why=""),
    "ublk": Device(path="/dev/ublk-control", module="ublk_drv", why=""),
    "device-mapper": Device(path="/dev/mapper/control", module="dm_mod", why=""),
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
        yield _judge_driver(machine, what, place, module)
    yield _judge_feature("io_uring", machine.io_uring_problem(), _URING, "a ring can be made")
    yield _judge_control_groups(machine)
    pressure = None if machine.text("/proc/pressure/io") else "the kernel does not report it"
    yield _judge_feature("pressure", pressure, "boot with psi=1", "/proc/pressure is readable")
    types = None if "vmlinux" in machine.names("/sys/kernel/btf") else "without types (BTF)"
    yield _judge_feature("BPF", types, "use a kernel with CONFIG_DEBUG_INFO_BTF", "with types (BTF)")


_URING = "sysctl kernel.io_uring_disabled=0; in a container, allow its system calls"


def _judge_feature(what: str, problem: str | None, remedy: str | None, found: str) -> Judgement:
    if problem is None:
        return Judgement(what, "there", found)
    return Judgement(what, "absent", problem, remedy)


def _judge_driver(machine: Machine, what: str, place: str, module: str) -> Judgement:
    if machine.text(place) is not None:
        return Judgement(what, "there", f"{place} is there")
    if module_is_available(machine, module):
        return Judgement(what, "absent", "its module is not loaded", f"modprobe {module}")
    return Judgement(
        what, "absent", "this kernel does not include it", f"use a kernel with {module}"
    )


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
