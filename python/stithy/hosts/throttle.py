"""A guard for whoever shares storage: the most bytes per second that processes read, and write.

In version 1 of control groups it is a group of the controller `blkio`, in version 2 `io.max` of the
memory group of the processes, because there a process is in one group only. The kernel counts what
these processes send to a block device: reads, direct writes, and what they flush. What they leave
in the page cache is written by the kernel: version 2 counts it where the file system says whose it
is (ext4 and btrfs do), version 1 does not.
Source: kernel documentation, cgroup-v1/blkio-controller.rst and cgroup-v2.rst.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import PreconditionError
from stithy.hosts.devices import mount_of, mounts, of_mount, whole_disk
from stithy.hosts.processes import descendants
from stithy.hosts.resources import inside, own_groups, parents

READ, WRITE = "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"
MAX = "io.max"


@dataclass(frozen=True)
class Throttle:
    """A group whose processes are slowed down."""

    path: Path

    def hold(self, pid: int) -> None:
        """Bring a process into it with all that it has started; children to come follow it.

        Raises PreconditionError where the kernel refuses.
        """
        for each in (pid, *descendants(pid)):
            with suppress(ProcessLookupError):  # it has ended meanwhile
                _write(self.path / "cgroup.procs", str(each))


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
        raise _refused(f"{place} lies on no disk that the kernel can limit", str(place))
    if (parent := _parent(proc)) is not None:
        path = parent / name
        record(path)
        _make(path)
        for number in numbers:
            for file in (READ, WRITE):
                _write(path / file, f"{number} {bytes_per_s}")
        return Throttle(path)
    if memory_cgroup is None or not (memory_cgroup / MAX).exists():
        raise _refused(problem(proc) or "the server has no control group", "control groups")
    for number in numbers:
        _write(memory_cgroup / MAX, f"{number} rbps={bytes_per_s} wbps={bytes_per_s}")
    return Throttle(memory_cgroup)


def problem(proc: Path = Path("/proc")) -> str | None:
    """Why no guard can be set up; None where one can. No group is made to find out."""
    if (parent := _parent(proc)) is not None:
        writable = os.access(parent, os.W_OK | os.X_OK)
        return None if writable else f"no control group can be created in {parent}"
    handing = [folder for folder, _ in parents(proc) if _hands_io_on(folder)]
    if not handing:
        return "no control group here delegates the controller `io` or `blkio`"
    if any(os.access(folder, os.W_OK | os.X_OK) for folder in handing):
        return None
    return f"no control group can be created in {handing[0]}"


def _parent(proc: Path) -> Path | None:
    """Where a group of `blkio` may be made; None where the kernel has none that limits."""
    for controllers, own in own_groups(proc):
        for mount in mounts(proc):
            if mount.kind == "cgroup" and "blkio" in controllers:
                path = inside(mount, own)
                if "blkio" in mount.options.split(",") and (path / READ).exists():
                    return path
    return None


def _hands_io_on(folder: Path) -> bool:
    with suppress(OSError):
        return "io" in (folder / "cgroup.subtree_control").read_text().split()
    return False


def _disks(place: Path, proc: Path, sys: Path) -> list[str]:
    """`major:minor` of the disks on which the file system of a place directly is."""
    found = []
    for name in of_mount(mount_of(place, proc), sys):
        disk = whole_disk(sys / "class/block" / name)
        with suppress(OSError):
            found.append((disk / "dev").read_text().strip())
    return list(dict.fromkeys(found))


def _make(path: Path) -> None:
    try:
        path.mkdir()
    except OSError as error:
        raise _refused(f"it cannot be created ({error.strerror})", str(path)) from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except ProcessLookupError:
        raise
    except OSError as error:
        raise _refused(f"the kernel refuses {text!r} ({error.strerror})", str(path)) from error


def _refused(problem: str, where: str) -> PreconditionError:
    return PreconditionError(
        f"reads and writes cannot be limited: {problem}",
        where=where,
        remedy="leave out `limit`, or give the drive itself less (`scale`, a profile with caps)",
    )
