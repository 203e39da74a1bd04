"""A guard for whoever shares storage: the most bytes per second that processes read, and write.

In version 1 of control groups it is a group of the controller `blkio`, in version 2 `io.max` of the
memory group of the processes, because there a process is in one group only. The kernel counts what
these processes send to a block device: reads, direct writes, and what they flush. What they leave
in the page cache is written by the kernel: version 2 counts it where the file system says whose it
is (ext4 and btrfs do), version 1 does not.
Source: kernel documentation, cgroup-v1/blkio-controller.rst and cgroup-v2.rst.
"""

from collections.abc import Callable
from pathlib import Path

from stithy.hosts.devices import mount_of, of_mount, whole_disk
from stithy.hosts.files import text_of
from stithy.hosts.groups import Controller, Throttle

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
    numbers = (text_of(whole_disk(sys / "class/block" / each) / "dev") for each in names)
    return [*dict.fromkeys(filter(None, numbers))]
