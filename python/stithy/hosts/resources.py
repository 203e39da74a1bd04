"""What a database server may use: its memory with the page cache, and its CPUs.

The memory limit is a cgroup of its own, of version 2 or 1, below the group of the caller (v1) or
below the nearest group that hands the memory controller on (v2), so that limits put on Stithy
itself still hold. Where none can be made the answer is a reason, not an error: the run goes on
without the limit and says so.

A server that takes every CPU leaves none for what emulates its drives, and then feels the
emulation's wants as the drives'. Real drives bring their own processors, and real users come from
other machines: so neither drives nor driver may take a cycle of the CPUs of the server, either. The
scheduler alone wakes a drive on the CPU of the server that waits for it, or on another, for seconds
at a time, and the throughput jumps by half (benches/NOTES.md, "Two speeds").
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError, give_reason
from stithy.hosts.devices import Mount, mounts, text_of
from stithy.hosts.runner import Command, Runner
from stithy.units import format_size

PATIENCE_S = 10.0
"""How long a group may stay busy after its last process ended."""


@dataclass(frozen=True)
class Files:
    """The names of a memory group's files; `swap` is None where nothing must be written to it.

    Source: kernel documentation, cgroup-v1/memory.rst and cgroup-v2.rst.
    """

    version: int
    limit: str
    swap: str
    peak: str


V1 = Files(1, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max_usage_in_bytes")
V2 = Files(2, "memory.max", "memory.swap.max", "memory.peak")


@dataclass(frozen=True)
class MemoryGroup:
    """One memory group with its limit in bytes."""

    path: Path
    files: Files
    limit_bytes: int

    def peak_bytes(self) -> int | None:
        """Highest use so far; None where the kernel does not tell (v2 before 5.19)."""
        try:
            return int((self.path / self.files.peak).read_text())
        except (OSError, ValueError):
            return None

    def lost(self, pid: int) -> str | None:
        """Why the limit does not hold for this process any more; None where it does."""
        try:
            held = (self.path / self.files.limit).read_text().strip()
            members = (self.path / "cgroup.procs").read_text().split()
        except OSError as error:
            return f"its memory group cannot be read any more ({give_reason(error)})"
        if not held.isdigit() or int(held) > self.limit_bytes:
            return f"the limit of its memory group was changed to {held}"
        if str(pid) not in members and Path("/proc", str(pid)).exists():
            return "the server left its memory group"
        return None

    def killed(self) -> int | None:
        """Processes that were killed for want of memory; None where the kernel does not tell."""
        name = "memory.oom_control" if self.files.version == 1 else "memory.events"
        lines = text_of(self.path / name).splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


@dataclass(frozen=True)
class MemoryLimit:
    """What became of a wanted limit: a group, or None and the reason.

    `note` tells why the limit is not enforced, or how it was widened; None where it is as wanted.
    """

    group: MemoryGroup | None
    note: str | None


def make_group(
    name: str,
    limit_bytes: int,
    *,
    runner: Runner,
    record: Callable[[Path], None],
    proc: Path = Path("/proc"),
) -> MemoryLimit:
    """A group with this limit that a process can join; `record` gets its path beforehand.

    Never raises for want of rights: the reason is in the result.
    """
    problems: list[str] = []
    for parent, files in parents(proc):
        group = MemoryGroup(parent / name, files, limit_bytes)
        record(group.path)
        problem = _try(group, runner)
        if problem is None:
            return MemoryLimit(group, None)
        remove_group(group.path)
        problems.append(problem)
    reason = "; ".join(dict.fromkeys(problems)) or "this kernel has no memory cgroup mounted"
    return MemoryLimit(
        None, f"the memory limit of {format_size(limit_bytes)} was not enforced: {reason}"
    )


def _try(group: MemoryGroup, runner: Runner) -> str | None:
    """Make the group, set its limit and let a process join; returns what went wrong."""
    try:
        group.path.mkdir()
        (group.path / group.files.limit).write_text(str(group.limit_bytes))
        _forbid_swap(group)
        held = int((group.path / group.files.limit).read_text())
    except (OSError, ValueError) as error:
        return f"no memory group can be created in {group.path.parent} ({give_reason(error)})"
    if held > group.limit_bytes:
        return f"the kernel made the limit {held} bytes"
    joined = runner.run(Command(["true"], memory_cgroup=group.path))
    return None if joined.code == 0 else f"no process may join {group.path}"


def _forbid_swap(group: MemoryGroup) -> None:
    """Pages that are swapped out would escape the limit; without swap the file is not there."""
    swap = group.path / group.files.swap
    if swap.exists():
        swap.write_text(str(group.limit_bytes) if group.files.version == 1 else "0")


def remove_group(path: Path) -> None:
    """Remove a group if it is there; waits until its last process is gone. Idempotent.

    Raises OSError where it stays busy.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            path.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def parents(proc: Path) -> Iterator[tuple[Path, Files]]:
    """Groups below which one of our own may be made, best first, with their kind of files."""
    for controllers, own in own_groups(proc):
        for mount in mounts(proc):
            of_memory = "memory" in controllers and "memory" in mount.options.split(",")
            if mount.kind == "cgroup" and of_memory:
                yield inside(mount, own), V1
            elif controllers == [""] and mount.kind == "cgroup2":
                yield from ((each, V2) for each in _handing_on(inside(mount, own), mount.point))


def inside(mount: Mount, group: str) -> Path:
    """Where a group of /proc/self/cgroup is; in a container it may lie outside of the mount."""
    path = mount.point / group.removeprefix(mount.root).lstrip("/")
    return path if group.startswith(mount.root) and os.path.isdir(path) else mount.point


def own_groups(proc: Path) -> Iterator[tuple[list[str], str]]:
    """The controllers of each hierarchy, and the caller's group there."""
    for line in text_of(proc / "self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        yield controllers.split(","), group


def _handing_on(own: Path, top: Path) -> Iterator[Path]:
    """Groups from `own` up to `top` whose children have the memory controller."""
    for group in (own, *own.parents):
        if "memory" in text_of(group / "cgroup.subtree_control").split():
            yield group
        if group == top:
            return


def server_cpus(
    asked: int | None, usable: frozenset[int], *, emulated: bool, where: str = "database.cpus"
) -> tuple[int, ...] | None:
    """Numbers of the CPUs to which the server is bound, rising; None where it may use any.

    `asked` as the study says, and `where` it does. Of fewer all are among those of more. By
    default a quarter, and one at least, is left over where drives are `emulated` and there are two
    at least. `usable` are the CPUs of the host. Raises PreconditionError where there are not as
    many.
    """
    there = sorted(usable)
    if asked is None:
        # The first ones serve most interrupts, so it is they that are left over.
        return tuple(there[max(1, len(there) // 4) :]) if emulated and len(there) > 1 else None
    if asked > len(there):
        raise PreconditionError(
            f"the study gives the server {asked} CPUs, and this process may use {len(there)}",
            where=where,
            remedy="use fewer, or leave it out",
        )
    return tuple(there[-asked:])


def other_cpus(servers: tuple[int, ...] | None, usable: frozenset[int]) -> tuple[int, ...] | None:
    """Numbers of the CPUs that are not the server's, rising; None where there is no such CPU."""
    if servers is None:
        return None
    return tuple(sorted(usable.difference(servers))) or None
