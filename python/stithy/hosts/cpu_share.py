"""A cap on CPU time: processes get so much of it and no more, also where nobody else wants it.

A virtual machine has so many virtual CPUs, and its neighbours cannot lend it more. In version 1 of
control groups it is a group of the controller `cpu`; in version 2 it is `cpu.max` of the memory
group of the processes, because there a process is in one group only.
Source: kernel documentation, scheduler/sched-bwc.rst and cgroup-v2.rst.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.devices import mounts
from stithy.hosts.resources import inside, own_groups, parents
from stithy.hosts.throttle import Throttle

QUOTA, PERIOD, MAX = "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max"
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
    if (parent := _parent(proc)) is not None:
        path = parent / name
        record(path)
        _make(path)
        _write(path / PERIOD, str(PERIOD_US))
        _write(path / QUOTA, str(quota_us))
        return Throttle(path)
    if memory_cgroup is None or not (memory_cgroup / MAX).exists():
        raise _refused(problem(proc) or "the server has no control group", "control groups")
    _write(memory_cgroup / MAX, f"{quota_us} {PERIOD_US}")
    return Throttle(memory_cgroup)


def problem(proc: Path = Path("/proc")) -> str | None:
    """Why no cap can be set; None where one can. No group is made to find out."""
    parent = _parent(proc)
    folders = [parent] if parent else [each for each, _ in parents(proc) if _hands_on(each)]
    if not folders:
        return "no control group here delegates the controller `cpu`"
    if any(os.access(each, os.W_OK | os.X_OK) for each in folders):
        return None
    return f"no control group can be created in {folders[0]}"


def _parent(proc: Path) -> Path | None:
    """Where a group of version 1 may be made; None where the controller is not mounted so."""
    for controllers, own in own_groups(proc):
        for mount in mounts(proc):
            of_cpu = "cpu" in controllers and "cpu" in mount.options.split(",")
            if mount.kind == "cgroup" and of_cpu:
                return inside(mount, own)
    return None


def _hands_on(folder: Path) -> bool:
    with suppress(OSError):
        return "cpu" in (folder / "cgroup.subtree_control").read_text().split()
    return False


def _make(path: Path) -> None:
    try:
        path.mkdir()
    except OSError as error:
        raise _refused(f"it cannot be created ({error.strerror})", str(path)) from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise _refused(f"the kernel refuses {text!r} ({error.strerror})", str(path)) from error


def _refused(problem: str, where: str) -> PreconditionError:
    return PreconditionError(
        f"CPU time cannot be limited: {problem}", where=where, remedy="leave out `cpu_share`"
    )
