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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError, give_reason
from stithy.hosts.devices import (
    Mount,
    find_mount,
    find_whole_disk,
    list_devices_of_mount,
    list_mounts,
    read_text,
)
from stithy.hosts.processes import find_descendants
from stithy.hosts.runner import Command, Runner
from stithy.units import format_size

PATIENCE_S = 10.0
"""How long a group may stay busy after its last process ended."""


@dataclass(frozen=True)
class GroupFiles:
    """The names of a memory group's files; `swap` is None where nothing must be written to it.

    Source: kernel documentation, cgroup-v1/memory.rst and cgroup-v2.rst.
    """

    version: int
    limit: str
    swap: str
    peak: str


V1 = GroupFiles(
    1, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max_usage_in_bytes"
)
V2 = GroupFiles(2, "memory.max", "memory.swap.max", "memory.peak")


@dataclass(frozen=True)
class MemoryGroup:
    """One memory group with its limit in bytes."""

    path: Path
    files: GroupFiles
    limit_bytes: int

    def read_peak_bytes(self) -> int | None:
        """Highest use so far; None where the kernel does not tell (v2 before 5.19)."""
        try:
            return int((self.path / self.files.peak).read_text())
        except (OSError, ValueError):
            return None

    def lift(self) -> None:
        """Take the limit away where the kernel lets; what comes now is not measured."""
        swap = self.path / self.files.swap
        with suppress(OSError):
            if self.files.version == 1 and swap.exists():
                swap.write_text("-1")  # may never be lower than the other
            (self.path / self.files.limit).write_text("-1" if self.files.version == 1 else "max")

    def explain_lost(self, pid: int) -> str | None:
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

    def count_killed(self) -> int | None:
        """Processes that were killed for want of memory; None where the kernel does not tell."""
        name = "memory.oom_control" if self.files.version == 1 else "memory.events"
        lines = read_text(self.path / name).splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


@dataclass(frozen=True)
class GroupMemoryLimit:
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
) -> GroupMemoryLimit:
    """A group with this limit that a process can join; `record` gets its path beforehand.

    Never raises for want of rights: the reason is in the result.
    """
    problems: list[str] = []
    for parent, files in list_parents(proc):
        group = MemoryGroup(parent / name, files, limit_bytes)
        record(group.path)
        problem = _try(group, runner)
        if problem is None:
            return GroupMemoryLimit(group, None)
        remove_group(group.path)
        problems.append(problem)
    reason = "; ".join(dict.fromkeys(problems)) or "this kernel has no memory cgroup mounted"
    return GroupMemoryLimit(
        None, f"the memory limit of {format_size(limit_bytes)} was not enforced: {reason}"
    )


def _try(group: MemoryGroup, runner: Runner) -> str | None:
    try:
        group.path.mkdir()
        (group.path / group.files.limit).write_text(str(group.limit_bytes))
        # Pages that are swapped out would escape the limit; without swap the file is not there.
        swap = group.path / group.files.swap
        if swap.exists():
            swap.write_text(str(group.limit_bytes) if group.files.version == 1 else "0")
        held = int((group.path / group.files.limit).read_text())
    except (OSError, ValueError) as error:
        return f"no memory group can be created in {group.path.parent} ({give_reason(error)})"
    if held > group.limit_bytes:
        return f"the kernel made the limit {held} bytes"
    joined = runner.run(Command(["true"], memory_cgroup=group.path))
    return None if joined.code == 0 else f"no process may join {group.path}"


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


def list_parents(proc: Path) -> Iterator[tuple[Path, GroupFiles]]:
    """Groups below which one of our own may be made, best first, with their kind of files."""
    for controllers, own in own_groups(proc):
        for mount in list_mounts(proc):
            of_memory = "memory" in controllers and "memory" in mount.options.split(",")
            if mount.kind == "cgroup" and of_memory:
                yield locate_group(mount, own), V1
            elif controllers == [""] and mount.kind == "cgroup2":
                for group in _list_delegating(locate_group(mount, own), mount.point):
                    yield group, V2


def explain_no_group(parents: Sequence[Path], what: str) -> str | None:
    """Why no group can be made below one of these; None where one can."""
    if not parents:
        return f"no control group here delegates {what}"
    if any(os.access(parent, os.W_OK | os.X_OK) for parent in parents):
        return None
    return f"no control group can be created in {parents[0]}"


def locate_group(mount: Mount, group: str) -> Path:
    """Where a group of /proc/self/cgroup is; in a container it may lie outside of the mount."""
    path = mount.point / group.removeprefix(mount.root).lstrip("/")
    return path if group.startswith(mount.root) and os.path.isdir(path) else mount.point


def own_groups(proc: Path) -> Iterator[tuple[list[str], str]]:
    """The controllers of each hierarchy, and the caller's group there."""
    for line in read_text(proc / "self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        yield controllers.split(","), group


def _list_delegating(own: Path, top: Path) -> Iterator[Path]:
    """Groups from `own` up to `top` whose children have the memory controller."""
    for group in (own, *own.parents):
        if "memory" in read_text(group / "cgroup.subtree_control").split():
            yield group
        if group == top:
            return


def choose_server_cpus(
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


def list_other_cpus(
    servers: tuple[int, ...] | None, usable: frozenset[int]
) -> tuple[int, ...] | None:
    """Numbers of the CPUs that are not the server's, rising; None where there is no such CPU."""
    if servers is None:
        return None
    return tuple(sorted(usable.difference(servers))) or None


@dataclass(frozen=True)
class Controller:
    """What limits `what` of processes.

    `old` and `new` are its names in version 1 and 2. `file` is that of the limit in version 2,
    `sign` one that groups of version 1 have only where it limits.
    """

    what: str
    remedy: str
    old: str
    new: str
    file: str
    sign: str = ""

    def group(
        self, name: str, memory_cgroup: Path | None, record: Callable[[Path], None], proc: Path
    ) -> tuple[Path, bool]:
        """The group that is to have the limit, and whether it is a new one of version 1.

        `record` gets the path of a new one before it is made. Raises PreconditionError where none
        can be had.
        """
        if (parent := self.find_parent(proc)) is not None:
            path = parent / name
            record(path)
            try:
                path.mkdir()
            except OSError as error:
                problem = f"it cannot be created ({give_reason(error)})"
                raise self.make_refusal(problem, str(path)) from error
            return path, True
        if memory_cgroup is None or not (memory_cgroup / self.file).exists():
            why = self.find_problem(proc) or "the server has no control group"
            raise self.make_refusal(why, "control groups")
        return memory_cgroup, False

    def find_problem(self, proc: Path = Path("/proc")) -> str | None:
        """Why there can be no limit; None where there can. No group is made to find out."""
        folders = [
            group
            for group, _ in list_parents(proc)
            if self.new in read_text(group / "cgroup.subtree_control").split()
        ]
        if own := self.find_parent(proc):
            folders = [own]
        names = " or ".join(f"`{each}`" for each in dict.fromkeys((self.new, self.old)))
        return explain_no_group(folders, f"the controller {names}")

    def find_parent(self, proc: Path) -> Path | None:
        """Where a group of version 1 may be made; None where the kernel has none that limits."""
        for controllers, own in own_groups(proc):
            for mount in list_mounts(proc):
                if mount.kind == "cgroup" and self.old in controllers:
                    path = locate_group(mount, own)
                    if self.old in mount.options.split(",") and os.path.exists(path / self.sign):
                        return path
        return None

    def write(self, path: Path, text: str) -> None:
        """Write to a file of a group. Raises PreconditionError where the kernel refuses.

        ProcessLookupError stays: a process may end before it is in the group.
        """
        try:
            path.write_text(text)
        except ProcessLookupError:
            raise
        except OSError as error:
            why = f"the kernel refuses {text!r} ({give_reason(error)})"
            raise self.make_refusal(why, str(path)) from error

    def make_refusal(self, problem: str, where: str) -> PreconditionError:
        """Why it cannot be limited, as an error."""
        return PreconditionError(
            f"{self.what} cannot be limited: {problem}", where=where, remedy=self.remedy
        )


@dataclass(frozen=True)
class Throttle:
    """A group whose processes are slowed down."""

    controller: Controller
    path: Path

    def hold(self, pid: int) -> None:
        """Bring a process into it with all that it has started; children to come follow it.

        Raises PreconditionError where the kernel refuses.
        """
        for descendant in (pid, *find_descendants(pid)):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                self.controller.write(self.path / "cgroup.procs", str(descendant))


QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
CPU = Controller("CPU time", "leave out `cpu_share`", old="cpu", new="cpu", file="cpu.max")
PERIOD_US = 10_000
"""Whoever has used up its time waits for the next period: with the kernel's 100 ms, too long."""

QUOTA_US_LEAST = 1_000
"""The kernel gives no less in a period."""


def make_cap(
    name: str, cpus: float, memory_cgroup: Path | None, record: Callable[[Path], None]
) -> Throttle:
    """A group whose processes together take the time of so many CPUs at most, such as 0.4.

    `record` gets the path of a group of its own before it is made. Raises PreconditionError where
    none can be had.
    """
    quota_us = max(QUOTA_US_LEAST, round(cpus * PERIOD_US))
    path, is_own = CPU.group(name, memory_cgroup, record, Path("/proc"))
    if is_own:
        CPU.write(path / PERIOD, str(PERIOD_US))
        CPU.write(path / QUOTA, str(quota_us))
    else:
        CPU.write(path / CPU.file, f"{quota_us} {PERIOD_US}")
    return Throttle(CPU, path)


READ, WRITE = "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"
IO = Controller(
    "reads and writes",
    "leave out `limit`, or give the drive itself less (`scale`, a profile with caps)",
    old="blkio",
    new="io",
    file="io.max",
    sign=READ,
)


def make_throttle(
    name: str,
    place: Path,
    bytes_per_s: int,
    memory_cgroup: Path | None,
    record: Callable[[Path], None],
    *,
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
) -> Throttle:
    """A group whose processes read at most so much from each disk under `place`, and write so much.

    `record` gets the path of a group of its own before it is made. Raises PreconditionError where
    there is no disk, or no group can be had.
    """
    disks = list_devices_of_mount(find_mount(place, proc), sys)
    found = (read_text(find_whole_disk(sys / "class/block" / name) / "dev") for name in disks)
    numbers = [*dict.fromkeys(filter(None, found))]  # `major:minor`
    if not numbers:
        raise IO.make_refusal(f"{place} lies on no disk that the kernel can limit", str(place))
    path, is_own = IO.group(name, memory_cgroup, record, proc)
    for number in numbers:
        if is_own:
            for file in (READ, WRITE):
                IO.write(path / file, f"{number} {bytes_per_s}")
        else:
            IO.write(path / IO.file, f"{number} rbps={bytes_per_s} wbps={bytes_per_s}")
    return Throttle(IO, path)


def join_io_group(
    name: str, record: Callable[[Path], object], *, proc: Path = Path("/proc")
) -> None:
    """Bring this process out of the root group for I/O, with all that it starts from now on.

    A loop device does the requests of the root group one after the other with those that belong to
    none, as flushes: there reads wait for flushes, whatever the drive below can. `record` gets the
    path beforehand. Nothing is done where no group of version 1 can be made; of version 2 systemd
    makes groups for I/O below the root. Source: drivers/block/loop.c of Linux, `loop_queue_work`.
    """
    is_root = any(IO.old in names and own == "/" for names, own in own_groups(proc))
    parent = IO.find_parent(proc) if is_root else None
    if parent is None or not os.access(parent, os.W_OK | os.X_OK):
        return
    path = parent / name
    record(path)
    with suppress(OSError):  # reads then wait
        path.mkdir()
        (path / "cgroup.procs").write_text(str(os.getpid()))


def leave_io_group(path: Path) -> None:
    """Bring all processes of such a group back to the one above, and remove it. Idempotent.

    Raises OSError where it stays busy.
    """
    for pid in read_text(path / "cgroup.procs").split():
        with suppress(OSError):  # it has ended meanwhile
            (path.parent / "cgroup.procs").write_text(pid)
    remove_group(path)
