"""What was measured of a drive, as it is kept beside its profile: an open format with a version.

Latencies are whole histograms in fio's own bins (`stithy.fio.histogram`).
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from stithy.errors import UserError, give_reason
from stithy.fio.histogram import Kept, merged
from stithy.fio.output import Served
from stithy.fio.profile import Pattern, Stream
from stithy.units import format_duration


class PointResult(Kept):
    """What a point gave; None for what it did not ask."""

    read: Served | None = None
    write: Served | None = None
    flush: Served | None = None

    @property
    def beyond(self) -> int:
        """Requests of all kinds that took longer than fio can tell."""
        kinds = (self.read, self.write, self.flush)
        return sum(each.latency.beyond for each in kinds if each is not None)


def together(answers: Iterable[PointResult]) -> PointResult:
    """The answers of all rounds to one point as one."""
    all_answers = list(answers)
    kinds = {}
    for kind in ("read", "write", "flush"):
        found = [served for each in all_answers if (served := getattr(each, kind)) is not None]
        kinds[kind] = _together(found) if found else None
    return PointResult(**kinds)


def _together(parts: list[Served]) -> Served:
    return Served(
        latency=merged(part.latency for part in parts),
        moved_bytes=sum(part.moved_bytes for part in parts),
        duration_s=sum(part.duration_s for part in parts),
        iops_max=max(part.iops_max for part in parts),
        bytes_per_s_max=max(part.bytes_per_s_max for part in parts),
    )


class MeasuredPoint(Kept):
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


class WrittenSlice(Kept):
    """A few seconds of writing without a pause."""

    moved_bytes: int
    duration_s: float


WriteCache = Literal["write back", "write through"]


class TargetFacts(Kept):
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


class Measurement(Kept):
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


def beside_profile(profile: Path) -> Path:
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
class Point:
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


def matrix(*, writing: bool) -> tuple[Point, ...]:
    """All points; only those that read where `writing` is not allowed."""
    points = _of_access(1.0)
    if writing:
        points += (*_of_access(0.0), *MIXED, *FLUSHED)
    return points


def _of_access(read_share: float) -> tuple[Point, ...]:
    """One kind of access alone: small requests at all depths, larger ones at some."""
    random_ones = tuple(
        Point(read_share, length_bytes, depth)
        for length_bytes in SIZES_BYTES
        for depth in (SMALL_DEPTHS if length_bytes == SIZES_BYTES[0] else DEPTHS)
    )
    return (*random_ones, Point(read_share, 128 * KIB, 8, sequential=True))


MIXED = (Point(0.7, 4 * KIB, 1), Point(0.7, 4 * KIB, 16), Point(0.5, 16 * KIB, 16))
FLUSHED = (
    Point(0.0, 4 * KIB, 1, sequential=True, flushed_every=1),
    Point(0.0, 16 * KIB, 1, sequential=True, flushed_every=1),
    Point(0.0, 128 * KIB, 1, sequential=True, flushed_every=32),
)
"""As a database's log is written, and enough at once for a volatile cache to be seen."""


@dataclass(frozen=True)
class Schedule:
    """How long each point is measured, how often, and how long writing goes on without a pause."""

    point_s: float
    rounds: int
    sustained_s: float
    settle_s: float = SETTLE_S


def schedule(duration_s: float, points: int, *, sustained: bool) -> Schedule:
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
    return Schedule(left_s / (rounds * points) - fixed_s, rounds, sustained_s)


def order(points: tuple[Point, ...], rounds: int, seed: int) -> list[tuple[Point, ...]]:
    """The points of each round, each round in an order of its own."""
    draw = random.Random(seed)
    return [tuple(draw.sample(points, len(points))) for _ in range(rounds)]
