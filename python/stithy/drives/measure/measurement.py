"""What was measured of a drive, as it is kept beside its profile: an open format with a version.

Latencies are whole histograms in fio's own bins, whose error is at most 0.8 %; they are merged by
adding counts, never by averaging percentiles.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stithy.errors import UserError

NS_PER_S = 1e9
NS_BEYOND_FIO = 17_000_000_000
"""fio's last bin holds everything from here on. Source: stat.h of fio 3.33, 29 groups of 64."""


class _Kept(BaseModel):
    """Frozen, and a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Histogram(_Kept):
    """How often which latency was met; `counts_by_ns` rises by its keys, `sum_s` is of all."""

    counts_by_ns: dict[int, int]
    sum_s: float

    @property
    def count(self) -> int:
        """How many are in it."""
        return sum(self.counts_by_ns.values())

    @property
    def mean_s(self) -> float | None:
        """Mean of the exact values, not of the bins; None where it is empty."""
        return self.sum_s / self.count if self.counts_by_ns else None

    @property
    def beyond(self) -> int:
        """How many took longer than fio can tell; they count as 17 s, but not in the mean."""
        return sum(count for time_ns, count in self.counts_by_ns.items() if time_ns > NS_BEYOND_FIO)

    def quantile_s(self, share: float) -> float | None:
        """The least latency that at least this share do not exceed; None where it is empty.

        The nearest rank, over the middles of the bins.
        """
        wanted, seen = share * self.count, 0
        for time_ns, count in self.counts_by_ns.items():
            seen += count
            if seen >= wanted:
                return time_ns / NS_PER_S
        return None


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """All of them as one."""
    counts: dict[int, int] = {}
    sum_s = 0.0
    for histogram in histograms:
        sum_s += histogram.sum_s
        for time_ns, count in histogram.counts_by_ns.items():
            counts[time_ns] = counts.get(time_ns, 0) + count
    return Histogram(counts_by_ns=dict(sorted(counts.items())), sum_s=sum_s)


class Served(_Kept):
    """Requests of one kind at one point. `*_max`: the best half second that was seen."""

    latency: Histogram
    moved_bytes: int
    duration_s: float
    iops_max: float
    bytes_per_s_max: float

    @property
    def iops(self) -> float:
        """Requests a second."""
        return self.latency.count / self.duration_s

    @property
    def bytes_per_s(self) -> float:
        """Bytes a second."""
        return self.moved_bytes / self.duration_s


class PointResult(_Kept):
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


class MeasuredPoint(_Kept):
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


class WrittenSlice(_Kept):
    """A few seconds of writing without a pause."""

    moved_bytes: int
    duration_s: float


class TargetFacts(_Kept):
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
    write_cache: Literal["write back", "write through"] | None
    in_virtual_machine: bool


class Measurement(_Kept):
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
            f"the measurement cannot be read: {(error.strerror or str(error)).lower()}",
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
