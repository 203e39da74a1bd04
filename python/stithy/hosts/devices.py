"""Which block devices lie under a directory, and what the kernel counts of each.

Devices are read from mountinfo and /sys, from the file system down to the last drive: partitions
and their disks, loop devices and the devices under their files, device-mapper and md members, all
devices of a btrfs, the layers of an overlay. Nothing is found for memory and network file systems.
Counters are read from the text of /proc/diskstats.
"""

import errno
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo; `number` is `major:minor` of the file system, `root` what it shows."""

    number: str
    root: str
    point: Path
    kind: str
    source: str
    options: str


def list_mounts(proc: Path = Path("/proc")) -> list[Mount]:
    """All mounts that this process sees, in the order in which they were made."""
    text = (proc / "self" / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return [parse_mount(line) for line in text.splitlines()]


def parse_mount(line: str) -> Mount:
    r"""A line such as `36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/vda rw,discard`.

    Blanks in names are written as `\040`. Source: proc_pid_mountinfo(5).
    """
    before, after = line.split(" - ", 1)
    _id, _parent, number, root, point, options = before.split()[:6]
    kind, source, more = (after.split(" ") + ["", ""])[:3]
    both = dict.fromkeys(f"{options},{more}".rstrip(",").split(","))
    return Mount(
        number, _unescape(root), Path(_unescape(point)), kind, _unescape(source), ",".join(both)
    )


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def list_dead_mounts() -> list[Mount]:
    """Mounts of loop devices whose file was served by a program, with FUSE, that has died."""
    dead = []
    for mount in list_mounts():
        if mount.source.startswith("/dev/loop"):
            try:
                file = Path("/sys/class/block", mount.source[5:], "loop/backing_file")
                Path(file.read_text().strip()).stat()
            except OSError as error:
                dead += [mount] if error.errno == errno.ENOTCONN else []
    return dead


def find_mount(path: Path, proc: Path = Path("/proc")) -> Mount:
    """The mount that holds `path`, which must exist; of several at one point, the last one made."""
    real = path.resolve()
    holding = [mount for mount in list_mounts(proc) if real.is_relative_to(mount.point)]
    return max(reversed(holding), key=lambda each: len(each.point.parts))


def list_devices_under(
    path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")
) -> tuple[str, ...]:
    """Names (as in /proc/diskstats) of the devices under `path`, top to bottom, each once.

    `path` may be a block device itself.
    """
    below = None
    with suppress(PermissionError):  # of a place that this user may not even look at
        if path.is_block_device():
            below = _list_under_device(path.resolve().name, proc, sys)
    return tuple(dict.fromkeys(below or _list_under_path(path, proc, sys)))


def find_shared(
    one: Path, other: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")
) -> str | None:
    """What two places lie on both: devices by name, or else one file system; None if nothing.

    Both paths must exist. What lies beneath a network or a hypervisor cannot be seen.
    """
    under = list_devices_under(other, proc, sys)
    if common := [name for name in list_devices_under(one, proc, sys) if name in under]:
        return ", ".join(common)
    mount = find_mount(one, proc)
    same = mount.number == find_mount(other, proc).number
    return f"the {mount.kind} at {mount.point}" if same else None


def _list_under_path(path: Path, proc: Path, sys: Path) -> Iterator[str]:
    mount = find_mount(path, proc)
    if mount.kind == "overlay":
        # Inside a container the name of the layer is of nothing, or leads back into the overlay.
        for layer in map(Path, re.findall(r"upperdir=([^,]*)", mount.options)):
            if os.path.exists(layer) and find_mount(layer, proc) != mount:
                yield from _list_under_path(layer, proc, sys)
        return
    for name in list_devices_of_mount(mount, sys):
        yield from _list_under_device(name, proc, sys)


def list_devices_of_mount(mount: Mount, sys: Path) -> list[str]:
    """The devices on which a file system directly is."""
    if mount.kind != "btrfs":
        # /dev/root is no device one can look at; the number of the file system always is.
        link = sys / "dev" / "block" / mount.number
        return [link.resolve().name] if link.exists() else []
    source = os.path.basename(os.path.realpath(mount.source))
    for members in sorted((sys / "fs" / "btrfs").glob("*/devices")):
        names = sorted(path.name for path in members.iterdir())
        if source in names:
            return names
    return [source] if (sys / "class" / "block" / source).exists() else []


def is_partition(name: str) -> bool:
    """Whether a device is a part of another one, which counts the same once more."""
    return Path("/sys/class/block", name, "partition").exists()


def find_whole_disk(device: Path) -> Path:
    """The disk of a partition; any other device as it is. Paths are those of `/sys/class/block`."""
    real = device.resolve()
    return real.parent if (real / "partition").exists() else real


def _list_under_device(name: str, proc: Path, sys: Path) -> Iterator[str]:
    yield name
    place = (sys / "class" / "block" / name).resolve()
    if (place / "partition").exists():
        yield from _list_under_device(place.parent.name, proc, sys)
    for member in sorted((place / "slaves").glob("*")):
        yield from _list_under_device(member.name, proc, sys)
    # Nothing of a device that has just lost its file, nor where this user may not see that.
    file = read_text(place / "loop" / "backing_file")
    if file and os.path.exists(file):
        yield from _list_under_path(Path(file), proc, sys)


SECTOR_BYTES = 512
MS_PER_S = 1000

JUDGED = ("read", "write", "flush")
"""What a device's times are reported."""


@dataclass(frozen=True)
class DiskCounters:
    """One line of /proc/diskstats; by kind: requests, bytes, milliseconds. Absent: not counted."""

    requests: dict[str, int]
    bytes: dict[str, int]
    ms: dict[str, int]
    busy_ms: int
    weighted_ms: int


def parse_diskstats(text: bytes, names: Sequence[bytes] | None = None) -> dict[str, DiskCounters]:
    """Counters of the named devices; without names of all.

    After major, minor, name: reads, merged, sectors, ms; writes, merged, sectors, ms; in flight,
    busy ms, weighted ms; since 4.18 discards, merged, sectors, ms; since 5.5 flushes, ms.
    Source: Documentation/admin-guide/iostats.rst of Linux.
    """
    found = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 14 and (names is None or fields[2] in names):
            found[fields[2].decode()] = _parse_counters([int(field) for field in fields[3:]])
    return found


def find_counter_growth(before: int, after: int) -> int:
    """Growth of a counter; one that was reset (a device made anew) has grown by nothing known."""
    return max(0, after - before)


def average_times_s(
    before: DiskCounters, after: DiskCounters, writes: int
) -> dict[str, float | None]:
    """Mean time of reads, writes and flushes that ended between two readings, queue included.

    A flush that carries no data is counted twice: as the flush, and as a write of no sectors that
    takes at least as long. `writes` is how many writes the device itself served; what the kernel
    counts beyond, up to the number of flushes, is taken out of the writes with its time. None
    where there were none.
    Source: block/blk-flush.c and blk_account_io_done of Linux.
    """
    counts, ms = {}, {}
    for kind in JUDGED:
        if kind in before.requests and kind in after.requests:
            counts[kind] = find_counter_growth(before.requests[kind], after.requests[kind])
            ms[kind] = float(find_counter_growth(before.ms[kind], after.ms[kind]))
    flushes = counts.get("flush", 0)
    empty = min(max(0, counts.get("write", 0) - writes), flushes)
    if empty:
        counts["write"] -= empty
        ms["write"] = max(0.0, ms["write"] - empty * ms["flush"] / flushes)
    return {kind: ms[kind] / MS_PER_S / n if n else None for kind, n in counts.items()}


def _parse_counters(field: list[int]) -> DiskCounters:
    requests = {"read": field[0], "write": field[4]}
    sectors = {"read": field[2], "write": field[6]}
    ms = {"read": field[3], "write": field[7]}
    if len(field) >= 15:
        requests["discard"], sectors["discard"], ms["discard"] = field[11], field[13], field[14]
    if len(field) >= 17:
        requests["flush"], ms["flush"] = field[15], field[16]
    size_bytes = {kind: count * SECTOR_BYTES for kind, count in sectors.items()}
    return DiskCounters(requests, size_bytes, ms, busy_ms=field[9], weighted_ms=field[10])


def read_text(path: Path) -> str:
    """The content of a file, stripped; empty where there is none, or this user may not see it."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def write_private(path: Path, text: str) -> None:
    """Write a file that only its user may read; it is whole on disk when this returns."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def connect_socket(path: Path, patience_s: float) -> socket.socket:
    """A connection to a socket, whose path may be longer than the 107 bytes of a Unix address.

    Through the folder's own descriptor the address is short.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(patience_s)
        connection.connect(f"/proc/self/fd/{folder}/{path.name}")
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(folder)
    return connection
