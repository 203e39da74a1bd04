"""What was measured of a drive, as it is kept beside its profile: an open format with a version.

Latencies are whole histograms in fio's own bins (`stithy.fio.histogram`).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from stithy.errors import UserError, reason_of
from stithy.fio.histogram import Kept, merged
from stithy.fio.output import Served


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
            f"the measurement cannot be read: {reason_of(error)}",
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
