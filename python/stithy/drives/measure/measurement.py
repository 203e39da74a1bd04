"""What was measured of a drive, as it is kept beside its profile: an open format with a version.

Latencies are whole histograms in fio's own bins (`stithy.fio.output`). Of what a person names as
TARGET, a device is read as it is. A file is read, and must have been written from end to end. In a
directory a scratch file without a name is measured: whatever happens, nothing is left of it.
"""

import os
import random
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, ValidationError

from stithy.errors import PreconditionError, UserError, give_reason
from stithy.fio.output import ServedRequests, merge_histograms
from stithy.fio.profile import Pattern, Stream
from stithy.hosts import devices
from stithy.units import FrozenModel, format_duration, format_size


class PointResult(FrozenModel):
    """What a point gave; None for what it did not ask."""

    read: ServedRequests | None = None
    write: ServedRequests | None = None
    flush: ServedRequests | None = None

    @property
    def beyond(self) -> int:
        """Requests of all kinds that took longer than fio can tell."""
        kinds = (self.read, self.write, self.flush)
        return sum(kind.latency.beyond for kind in kinds if kind is not None)


def merge_rounds(answers: Iterable[PointResult]) -> PointResult:
    """The answers of all rounds to one point as one."""
    all_answers = list(answers)
    kinds: dict[str, ServedRequests] = {}
    for kind in ("read", "write", "flush"):
        parts = [served for answer in all_answers if (served := vars(answer)[kind]) is not None]
        if parts:
            kinds[kind] = ServedRequests(
                latency=merge_histograms(part.latency for part in parts),
                moved_bytes=sum(part.moved_bytes for part in parts),
                duration_s=sum(part.duration_s for part in parts),
                iops_max=max(part.iops_max for part in parts),
                bytes_per_s_max=max(part.bytes_per_s_max for part in parts),
            )
    return PointResult(**kinds)


class MeasuredPoint(FrozenModel):
    """One point of the matrix with its answer, all rounds together.

    `iops_by_round` is of reads and writes together: how steady the drive was.
    """

    read_share: float
    length_bytes: int
    depth: int
    sequential: bool
    flushed_every: int
    answer: PointResult
    iops_by_round: tuple[float, ...]


class WrittenSlice(FrozenModel):
    """A few seconds of writing without a pause."""

    moved_bytes: int
    duration_s: float


WriteCache = Literal["write back", "write through"]


class TargetFacts(FrozenModel):
    """What was measured. Serial numbers are left out: a profile is meant to be handed on.

    `write_cache` is what the kernel says of the device: `write back` is a volatile one.
    """

    kind: Literal["device", "file", "directory", "emulated"]
    name: str
    model: str | None
    size_bytes: int
    span_bytes: int
    file_system: str | None
    rotates: bool | None
    write_cache: WriteCache | None
    in_virtual_machine: bool


class Measurement(FrozenModel):
    """Everything that was measured of one target, and with what.

    `version` is that of the file. 1: first form.
    """

    version: Literal[1] = 1
    target: TargetFacts
    at: str
    tool: str
    engine: str
    kernel: str
    seed: int
    point_s: float
    rounds: int
    matrix: tuple[MeasuredPoint, ...]
    sustained: tuple[WrittenSlice, ...] = ()
    notes: tuple[str, ...] = Field(default=())


SUFFIX = ".measured.json"


def get_measurement_path(profile: Path) -> Path:
    """The file of the measurement of a profile's file."""
    return profile.with_suffix(SUFFIX)


def read_measurement(path: Path) -> Measurement:
    """A measurement that was kept. Raises UserError for a file that is none."""
    try:
        return Measurement.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"the measurement cannot be read: {give_reason(error)}",
            where=str(path),
            remedy="keep it beside its profile, as `stithy drive profile` wrote it",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"])
        raise UserError(
            f"this is not a measurement of this version ({place}: {first['msg']})",
            where=str(path),
            remedy="measure again with `stithy drive profile`",
        ) from error


KIB = 1024
SIZES_BYTES = (4 * KIB, 16 * KIB, 128 * KIB, 1024 * KIB)
DEPTHS = (1, 4, 16, 64)
SMALL_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
"""Depths of the smallest size, where the shape of the curve tells the most."""

POINT_S_MOST = 5.0
"""More time becomes more rounds: what changes over minutes then reaches all points alike."""

POINT_S_LEAST = 0.5
ROUNDS = 3
SETTLE_S = 0.3
"""Time before each measurement that is not counted."""

OVERHEAD_S = 0.5
"""Of starting and ending fio, at each point."""

SUSTAINED_SHARE = 0.2
"""Share of the whole time for writing without a pause."""


@dataclass(frozen=True)
class MeasurementPoint:
    """One way of asking: always `depth` requests of one size under way.

    `read_share` from 0 to 1. `flushed_every`: after so many writes a flush is waited for; 0 is
    never.
    """

    read_share: float
    length_bytes: int
    depth: int
    sequential: bool = False
    flushed_every: int = 0

    @property
    def name(self) -> str:
        """A text for people that is also its key, such as `read 4 KiB, depth 16`."""
        kind = {0.0: "write", 1.0: "read"}.get(self.read_share, f"{self.read_share:.0%} read")
        way = " in sequence" if self.sequential else ""
        flushed = {0: "", 1: ", each flushed"}.get(
            self.flushed_every, f", flushed every {self.flushed_every}"
        )
        return f"{kind} {self.length_bytes // KIB} KiB{way}, depth {self.depth}{flushed}"

    @property
    def writes(self) -> bool:
        """Whether it changes what it is asked of."""
        return self.read_share < 1.0

    @property
    def pattern(self) -> Pattern:
        """The same as fio is asked for it; a single request is waited for, as by a database."""
        sizes = {self.length_bytes: 1.0}
        stream = Stream(
            name="requests",
            read_share=self.read_share,
            read_sizes=sizes if self.read_share > 0 else {},
            write_sizes=sizes if self.writes else {},
            random_share=0.0 if self.sequential else 1.0,
            jobs=1,
            iodepth=self.depth,
            submission="sync" if self.depth == 1 else "async",
            sync="fdatasync" if self.flushed_every else "none",
            flushed_every=self.flushed_every or 1,
        )
        return Pattern(name="point", streams=(stream,))


def list_points(*, writing: bool) -> tuple[MeasurementPoint, ...]:
    """All points; only those that read where `writing` is not allowed."""
    points = _list_access_points(1.0)
    if writing:
        points += (*_list_access_points(0.0), *MIXED, *FLUSHED)
    return points


def _list_access_points(read_share: float) -> tuple[MeasurementPoint, ...]:
    """One kind of access alone: small requests at all depths, larger ones at some."""
    random_ones = tuple(
        MeasurementPoint(read_share, length_bytes, depth)
        for length_bytes in SIZES_BYTES
        for depth in (SMALL_DEPTHS if length_bytes == SIZES_BYTES[0] else DEPTHS)
    )
    return (*random_ones, MeasurementPoint(read_share, 128 * KIB, 8, sequential=True))


MIXED = (
    MeasurementPoint(0.7, 4 * KIB, 1),
    MeasurementPoint(0.7, 4 * KIB, 16),
    MeasurementPoint(0.5, 16 * KIB, 16),
)
FLUSHED = (
    MeasurementPoint(0.0, 4 * KIB, 1, sequential=True, flushed_every=1),
    MeasurementPoint(0.0, 16 * KIB, 1, sequential=True, flushed_every=1),
    MeasurementPoint(0.0, 128 * KIB, 1, sequential=True, flushed_every=32),
)
"""As a database's log is written, and enough at once for a volatile cache to be seen."""


@dataclass(frozen=True)
class MeasurementSchedule:
    """How long each point is measured, how often, and how long writing goes on without a pause."""

    point_s: float
    rounds: int
    sustained_s: float
    settle_s: float = SETTLE_S


def schedule(duration_s: float, points: int, *, sustained: bool) -> MeasurementSchedule:
    """The schedule of a duration. Raises UserError where it is too short for the points."""
    sustained_s = SUSTAINED_SHARE * duration_s if sustained else 0.0
    left_s = duration_s - sustained_s
    fixed_s = SETTLE_S + OVERHEAD_S
    for rounds in range(ROUNDS, 0, -1):
        if left_s / (rounds * points) - fixed_s >= POINT_S_LEAST:
            break
    else:
        least_s = points * (POINT_S_LEAST + fixed_s) / (1 - SUSTAINED_SHARE * sustained)
        raise UserError(
            f"{format_duration(duration_s)} are too short for {points} points",
            where="--duration",
            remedy=f"give at least {format_duration(least_s + 1)}",
        )
    while left_s / (rounds * points) - fixed_s > POINT_S_MOST:
        rounds += 1
    return MeasurementSchedule(left_s / (rounds * points) - fixed_s, rounds, sustained_s)


def order(
    points: tuple[MeasurementPoint, ...], rounds: int, seed: int
) -> list[tuple[MeasurementPoint, ...]]:
    """The points of each round, each round in an order of its own."""
    draw = random.Random(seed)
    return [tuple(draw.sample(points, len(points))) for _ in range(rounds)]


SPARE_SHARE = 0.05
"""Share of a file system that is never taken: a full one is slow, and a trouble to others."""


@contextmanager
def open_scratch_file(directory: Path, size_bytes: int) -> Iterator[str]:
    """A path by which this process's children open a nameless file of `size_bytes`.

    Raises PreconditionError where there is no room or no right to write.
    """
    need_room(directory, size_bytes)
    try:
        # It goes with this process, also when that is killed.
        made = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 closed below
    except OSError as error:
        raise PreconditionError(
            f"no file can be made there: {give_reason(error)}",
            where=str(directory),
            remedy="name a directory that this user may write to",
        ) from error
    with made as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        except OSError as error:
            raise PreconditionError(
                f"a scratch file of {format_size(size_bytes)} cannot be made: {give_reason(error)}",
                where=str(directory),
                remedy="give a smaller --size, or make room",
            ) from error
        yield f"/proc/{os.getpid()}/fd/{file.fileno()}"


def need_room(directory: Path, size_bytes: int) -> None:
    """Raise PreconditionError where `size_bytes` would not leave a share of the room free."""
    space = os.statvfs(directory)
    free_bytes = space.f_bavail * space.f_frsize
    spare_bytes = SPARE_SHARE * space.f_blocks * space.f_frsize
    if size_bytes > free_bytes - spare_bytes:
        raise PreconditionError(
            f"a scratch file of {format_size(size_bytes)} does not fit: "
            f"{format_size(free_bytes)} are free, of which {format_size(spare_bytes)} stay free",
            where=str(directory),
            remedy="give a smaller --size, or make room",
        )


IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
SPAN_BYTES_LEAST = 64 * 2**20
SECTOR_BYTES = 512
"""The unit of `size` in /sys, whatever the device's own sectors are.
Source: block/genhd.c of the kernel."""


@dataclass(frozen=True)
class DriveTarget:
    """A target as it was found; `device` is the lowest one under it, None where there is none.

    `size_bytes` is of the device or file; of a directory's file system.
    """

    path: Path
    kind: Literal["device", "file", "directory"]
    size_bytes: int
    device: str | None
    file_system: str | None
    mounted_at: Path | None


def inspect(path: Path) -> DriveTarget:
    """What `path` is. Raises UserError or PreconditionError for what cannot be measured."""
    remedy = "name a block device such as /dev/nvme0n1, a file, or a directory"
    try:
        found = path.stat()
    except OSError as error:
        problem = f"there is no such target: {give_reason(error)}"
        raise UserError(problem, where=str(path), remedy=remedy) from error
    if stat.S_ISBLK(found.st_mode):
        return _find_device(path.resolve())
    if stat.S_ISREG(found.st_mode):
        _need_written(path, found.st_size)
        return _describe_on_file_system(path, "file", found.st_size)
    if stat.S_ISDIR(found.st_mode):
        space = os.statvfs(path)
        return _describe_on_file_system(path, "directory", space.f_blocks * space.f_frsize)
    problem = "it is neither a block device nor a file nor a directory"
    raise UserError(problem, where=str(path), remedy=remedy)


def _refuse(path: Path, problem: str, remedy: str) -> PreconditionError:
    return PreconditionError(problem, where=str(path), remedy=remedy)


def _find_device(path: Path) -> DriveTarget:
    place = Path("/sys/class/block", path.name)
    size_bytes = int(devices.read_text(place / "size") or 0) * SECTOR_BYTES
    if size_bytes < SPAN_BYTES_LEAST:
        problem = f"it holds {size_bytes} bytes: too little to measure"
        raise _refuse(path, problem, "name a device with a medium in it")
    if not os.access(path, os.R_OK):
        raise _refuse(path, "this user may not read it", "run as root, with sudo")
    number = devices.read_text(place / "dev")
    mounted = (mount.point for mount in devices.list_mounts() if mount.number == number)
    return DriveTarget(path, "device", size_bytes, path.name, None, next(mounted, None))


def _describe_on_file_system(
    path: Path, kind: Literal["file", "directory"], size_bytes: int
) -> DriveTarget:
    mount = devices.find_mount(path)
    if mount.kind in IN_MEMORY:
        remedy = "name a place on a drive, such as a directory in /var/tmp"
        raise _refuse(path, f"it is in memory ({mount.kind}), not on a drive", remedy)
    under = devices.list_devices_under(path)
    lowest = under[-1] if under else None
    return DriveTarget(path, kind, size_bytes, lowest, mount.kind, mount.point)


def _need_written(path: Path, size_bytes: int) -> None:
    """Raise where parts of a file were never written: they are read from nowhere, and at once."""
    if size_bytes < SPAN_BYTES_LEAST:
        remedy = f"name a file of at least {SPAN_BYTES_LEAST // 2**20} MiB, or a directory"
        raise _refuse(path, f"it holds {size_bytes} bytes: too little to measure", remedy)
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        problem = f"it cannot be read: {give_reason(error)}"
        raise _refuse(path, problem, "name a file that this user may read, or use sudo") from error
    try:
        hole = os.lseek(handle, 0, os.SEEK_HOLE)
    finally:
        os.close(handle)
    if hole < size_bytes:
        problem = f"it was never written at byte {hole}, so reading it would not reach the device"
        raise _refuse(path, problem, "name a file that was written from end to end, or a directory")


def read_facts(target: DriveTarget, span_bytes: int) -> TargetFacts:
    """What is kept of a target; what the machine does not tell is None."""
    queue = devices.find_whole_disk(Path("/sys/class/block", target.device or "-")) / "queue"
    shown = devices.read_text(queue / "write_cache")
    rotates = devices.read_text(queue / "rotational")
    return TargetFacts(
        kind=target.kind,
        name=target.device or target.path.name,
        model=devices.read_text(queue.parent / "device" / "model") or None,
        size_bytes=target.size_bytes,
        span_bytes=span_bytes,
        file_system=target.file_system,
        rotates=rotates == "1" if rotates else None,
        write_cache=next((kind for kind in get_args(WriteCache) if kind == shown), None),
        in_virtual_machine=" hypervisor" in devices.read_text(Path("/proc/cpuinfo")),
    )
