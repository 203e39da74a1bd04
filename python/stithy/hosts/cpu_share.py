"""A cap on CPU time: processes get so much of it and no more, also where nobody else wants it.

A virtual machine has so many virtual CPUs, and its neighbours cannot lend it more. In version 1 of
control groups it is a group of the controller `cpu`; in version 2 it is `cpu.max` of the memory
group of the processes, because there a process is in one group only.
Source: kernel documentation, scheduler/sched-bwc.rst and cgroup-v2.rst.
"""

from collections.abc import Callable
from pathlib import Path

from stithy.hosts.groups import Controller, Throttle

QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
CPU = Controller("CPU time", "leave out `cpu_share`", old="cpu", new="cpu", file="cpu.max")
PERIOD_US = 10_000
"""Whoever has used up its time waits for the next period: with the kernel's 100 ms, too long."""

QUOTA_US_LEAST = 1_000
"""The kernel gives no less in a period."""


def make_cap(
    name: str,
    cpus: float,
    memory_cgroup: Path | None,
    record: Callable[[Path], None],
    *,
    proc: Path = Path("/proc"),
) -> Throttle:
    """A group whose processes together take the time of so many CPUs at most, such as 0.4.

    `record` gets the path of a group of its own before it is made. Raises PreconditionError where
    none can be had.
    """
    quota_us = max(QUOTA_US_LEAST, round(cpus * PERIOD_US))
    path, is_own = CPU.group(name, memory_cgroup, record, proc)
    if is_own:
        CPU.write(path / PERIOD, str(PERIOD_US))
        CPU.write(path / QUOTA, str(quota_us))
    else:
        CPU.write(path / CPU.file, f"{quota_us} {PERIOD_US}")
    return Throttle(CPU, path)
