"""The numbers of a drive profile, from what was measured: pure functions of a `Measurement`.

Nothing is guessed silently: what the measurement does not tell is in `Fit.assumed`, with the
reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stithy.drives.measure.fit_writing import (
    CacheFit,
    FlushFit,
    SustainedFit,
    cache_fit,
    flush_fit,
    sustained_fit,
)
from stithy.drives.measure.measurement import Measured, Measurement, Served
from stithy.drives.measure.shares import mean_s, times_s

SMALL_BYTES = 4096
FASTEST_BYTES_PER_S = 1e12
"""Bandwidth of a request whose size made no difference that could be seen."""


@dataclass(frozen=True)
class LoadRow:
    """Times of one size with so many under way, seconds: one for each of `SHARES`."""

    length_bytes: int
    depth: int
    times_s: tuple[float, ...]


@dataclass(frozen=True)
class AccessFit:
    """One kind of access. `*_max`: the best half second at any point."""

    rows: tuple[LoadRow, ...]
    bytes_per_s: float
    iops_max: float
    bytes_per_s_max: float


@dataclass(frozen=True)
class Fit:
    """A drive as it was measured. `assumed`: keys of the profile and why nothing tells them."""

    capacity_bytes: int
    channels: int
    read: AccessFit
    write: AccessFit
    flush: FlushFit
    cache: CacheFit | None
    sustained: SustainedFit | None
    assumed: dict[str, str] = field(default_factory=dict)


def fit(measurement: Measurement) -> Fit:
    """All numbers of a profile.

    Raises ValueError where the matrix has no reads, which none of ours lacks.
    """
    assumed: dict[str, str] = {}
    read = access(measurement, "read")
    if read is None:
        raise ValueError("a matrix without reads")
    write = access(measurement, "write")
    if write is None:
        write = read
        assumed["write"] = "writing was not measured; taken as reading"
        assumed["cap.write_iops"] = assumed["cap.write_bytes_per_s"] = assumed["write"]
    flush = flush_fit(measurement)
    if flush is None:
        alone_s = write.rows[0].times_s
        flush = FlushFit(mean_s(alone_s), alone_s)
        assumed["flush"] = "flushes were not measured; taken as a small write"
    cache = cache_fit(measurement, write.bytes_per_s_max, assumed)
    sustained = sustained_fit(measurement.sustained)
    if sustained is not None:
        reason = "how fast it recovers was not measured; taken as the rate it slowed down to"
        assumed["sustained.recovery_bytes_per_s"] = reason
    return Fit(
        capacity_bytes=measurement.target.size_bytes,
        channels=channels(measurement),
        read=read,
        write=write,
        flush=flush,
        cache=cache,
        sustained=sustained,
        assumed=assumed,
    )


def access(measurement: Measurement, kind: str) -> AccessFit | None:
    """Reads or writes alone, at random places; None where none were measured."""
    found = pure(measurement, kind)
    if not found:
        return None
    rows = tuple(
        LoadRow(point.length_bytes, point.depth, times_s(served.latency)) for point, served in found
    )
    everywhere = [
        served for each in measurement.matrix if (served := getattr(each.answer, kind)) is not None
    ]
    return AccessFit(
        rows=rows,
        bytes_per_s=request_bytes_per_s(found),
        iops_max=max(served.iops_max for served in everywhere),
        bytes_per_s_max=max(served.bytes_per_s_max for served in everywhere),
    )


def pure(measurement: Measurement, kind: str) -> list[tuple[Measured, Served]]:
    """Points of one kind alone at random places, by size and then depth."""
    share = {"read": 1.0, "write": 0.0}[kind]
    found = [
        (each, served)
        for each in measurement.matrix
        if each.read_share == share
        and not each.sequential
        and not each.flushed_every
        and (served := getattr(each.answer, kind)) is not None
    ]
    return sorted(found, key=lambda pair: (pair[0].length_bytes, pair[0].depth))


def request_bytes_per_s(found: Sequence[tuple[Measured, Served]]) -> float:
    """Bandwidth of one request beyond its first 4 KiB, from what larger ones take alone.

    Own: the line through the median of the smallest that fits the other medians best.
    """
    alone = [
        (point.length_bytes, served.latency.quantile_s(0.5) or 0.0)
        for point, served in found
        if point.depth == 1
    ]
    first_bytes, first_s = alone[0]
    more = [(length - first_bytes, time_s - first_s) for length, time_s in alone[1:]]
    rise = sum(length * time_s for length, time_s in more)
    squares = sum(length**2 for length, _ in more)
    slope = rise / squares if squares else 0.0
    return min(FASTEST_BYTES_PER_S, 1 / slope) if slope > 0 else FASTEST_BYTES_PER_S


def channels(measurement: Measurement) -> int:
    """How many small reads it serves at once, at least 1.

    Source: Little's law: the best rate at any depth, times the time of one request alone.
    """
    small = [
        (point.depth, served)
        for point, served in pure(measurement, "read")
        if point.length_bytes == SMALL_BYTES
    ]
    alone_s = next(served.latency.mean_s or 0.0 for depth, served in small if depth == 1)
    return max(1, round(max(served.iops for _, served in small) * alone_s))
