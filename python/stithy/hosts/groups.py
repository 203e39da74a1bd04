"""Control groups that hold processes back: a cap on CPU time, a guard of bytes per second."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError, give_reason
from stithy.hosts.devices import mount_of, mounts, of_mount, text_of, whole_disk
from stithy.hosts.processes import descendants
from stithy.hosts.resources import inside, own_groups, parents


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
        if (parent := self._parent(proc)) is not None:
            path = parent / name
            record(path)
            self._make(path)
            return path, True
        if memory_cgroup is None or not (memory_cgroup / self.file).exists():
            why = self.problem(proc) or "the server has no control group"
            raise self.refused(why, "control groups")
        return memory_cgroup, False

    def problem(self, proc: Path = Path("/proc")) -> str | None:
        """Why there can be no limit; None where there can. No group is made to find out."""
        own = self._parent(proc)
        folders = [own] if own else [each for each, _ in parents(proc) if self._is_handed_on(each)]
        if not folders:
            names = " or ".join(f"`{each}`" for each in dict.fromkeys((self.new, self.old)))
            return f"no control group here delegates the controller {names}"
        if any(os.access(folder, os.W_OK | os.X_OK) for folder in folders):
            return None
        return f"no control group can be created in {folders[0]}"

    def _parent(self, proc: Path) -> Path | None:
        """Where a group of version 1 may be made; None where the kernel has none that limits."""
        for controllers, own in own_groups(proc):
            for mount in mounts(proc):
                if mount.kind == "cgroup" and self.old in controllers:
                    path = inside(mount, own)
                    if self.old in mount.options.split(",") and os.path.exists(path / self.sign):
                        return path
        return None

    def _is_handed_on(self, folder: Path) -> bool:
        return self.new in text_of(folder / "cgroup.subtree_control").split()

    def _make(self, path: Path) -> None:
        try:
            path.mkdir()
        except OSError as error:
            raise self.refused(f"it cannot be created ({give_reason(error)})", str(path)) from error

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
            raise self.refused(why, str(path)) from error

    def refused(self, problem: str, where: str) -> PreconditionError:
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
        for descendant in (pid, *descendants(pid)):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                self.controller.write(self.path / "cgroup.procs", str(descendant))


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
    numbers = _disks(place, proc, sys)
    if not numbers:
        raise IO.refused(f"{place} lies on no disk that the kernel can limit", str(place))
    path, is_own = IO.group(name, memory_cgroup, record, proc)
    for number in numbers:
        if is_own:
            for file in (READ, WRITE):
                IO.write(path / file, f"{number} {bytes_per_s}")
        else:
            IO.write(path / IO.file, f"{number} rbps={bytes_per_s} wbps={bytes_per_s}")
    return Throttle(IO, path)


def _disks(place: Path, proc: Path, sys: Path) -> list[str]:
    """`major:minor` of the disks on which the file system of a place directly is."""
    names = of_mount(mount_of(place, proc), sys)
    numbers = (text_of(whole_disk(sys / "class/block" / name) / "dev") for name in names)
    return [*dict.fromkeys(filter(None, numbers))]
