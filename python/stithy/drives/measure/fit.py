"""The numbers of a drive profile, from what was measured: pure functions of a `Measurement`.

Nothing is guessed silently: what the measurement does not tell is in `Fit.assumed`, with the
reason. A distribution is a table: a time for each of a few shares of the requests, between which
the time grows geometrically, as in the model of the drive.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from statistics import pvariance

from stithy.drives.measure.measurement import MeasuredPoint, Measurement, WrittenSlice
from stithy.fio.output import Histogram, ServedRequests

SHARES = (
    0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98,
    0.985, 0.99, 0.9925, 0.995, 0.9965, 0.998, 0.999, 0.9995, 0.9999, 1.0,
)  # fmt: skip
"""Shares of the requests of which a time is kept; close where reports look and tails begin."""

ANCHOR = SHARES.index(0.99)
"""Up to here the table keeps to what was measured; beyond, the mean has the last word."""

STRETCH_MOST = 3.0


def fit_times_s(latency: Histogram) -> tuple[float, ...]:
    """A time for each of `SHARES`, such that, growing geometrically between, the mean is right.

    The tail beyond the 99th percentile is stretched or pressed, on a scale of logarithms, to
    make up for what lies between the shares. A wide tail may need more than is allowed; the mean is
    then off by what is left.
    """
    least_s = next(iter(latency.counts_by_ns)) / 1e9
    times = tuple(latency.find_quantile_s(share) or least_s for share in SHARES)
    wanted_s = latency.mean_s or least_s
    low, high = 0.0, STRETCH_MOST
    for _ in range(40):
        middle = (low + high) / 2
        is_short = average_times_s(_stretch_tail(times, middle)) < wanted_s
        low, high = (middle, high) if is_short else (low, middle)
    return _stretch_tail(times, high)


def _stretch_tail(times: Sequence[float], power: float) -> tuple[float, ...]:
    """The times with the tail's distance from the 99th percentile to this power; 1 keeps it."""
    anchor = times[ANCHOR]
    return (*times[: ANCHOR + 1], *(anchor * (t / anchor) ** power for t in times[ANCHOR + 1 :]))


def average_times_s(times: Sequence[float]) -> float:
    """Mean of a table of times for `SHARES`, which grow geometrically between them."""
    mean_s = 0.0
    for (share, low_s), (next_share, high_s) in pairwise(zip(SHARES, times, strict=True)):
        growth = log(high_s / low_s)
        # Of what grows geometrically the mean is the logarithmic one.
        average_s = low_s if growth < 1e-9 else (high_s - low_s) / growth
        mean_s += (next_share - share) * average_s
    return mean_s


SLOWED_SHARE = 0.8
"""Writing slowed down if it ended below this share of where it began."""

CACHE_BYTES = 64 * 2**20
"""Size of a write cache of which nothing is known."""

NOTABLE_FLUSH_SHARE = 0.5
"""A flush waits for what was written if 4 MiB make it longer by more than this share of itself."""


@dataclass(frozen=True)
class FlushFit:
    """The time of a flush: its mean, and a time for each of `SHARES`; seconds."""

    mean_s: float
    times_s: tuple[float, ...]


@dataclass(frozen=True)
class CacheFit:
    """A volatile write cache."""

    size_bytes: int
    drain_bytes_per_s: float


@dataclass(frozen=True)
class SustainedFit:
    """Writing that slowed down."""

    after_bytes: int
    write_bytes_per_s: float


def _select_flushes(measurement: Measurement) -> list[tuple[int, Histogram]]:
    """What was written before each flush, bytes, rising, and the flush's time."""
    found = [
        (
            measured_point.length_bytes * measured_point.flushed_every,
            measured_point.answer.flush.latency,
        )
        for measured_point in measurement.matrix
        if measured_point.answer.flush is not None
    ]
    return sorted(found, key=lambda pair: pair[0])


def fit_cache(
    measurement: Measurement, write_bytes_per_s_max: float, assumed: dict[str, str]
) -> CacheFit | None:
    """The volatile cache that the device says it has; None where it says that it has none.

    What drains while a flush is waited for tells how fast it is, where that can be seen.
    """
    shown = measurement.target.write_cache
    if shown != "write back":
        return None
    assumed["cache.size_bytes"] = "a cache's size cannot be measured from outside"
    assumed["cache.protected"] = "the device says `write back`, and not whether power loss is safe"
    drain_bytes_per_s = write_bytes_per_s_max
    after = _select_flushes(measurement)
    if len(after) > 1:
        (few_bytes, short), (many_bytes, long) = after[0], after[-1]
        short_s, long_s = short.mean_s or 0.0, long.mean_s or 0.0
        if long_s > (1 + NOTABLE_FLUSH_SHARE) * short_s:
            drain_bytes_per_s = (many_bytes - few_bytes) / (long_s - short_s)
            return CacheFit(CACHE_BYTES, drain_bytes_per_s)
    assumed["cache.drain_bytes_per_s"] = (
        "flushes hardly waited for what was written before them"
        if after
        else "flushes were not measured"
    )
    return CacheFit(CACHE_BYTES, drain_bytes_per_s)


def fit_sustained(slices: Sequence[WrittenSlice]) -> SustainedFit | None:
    """Where writing slowed down and to what; None where it did not.

    The step between two means that leaves the least squares, if it goes down far enough.
    """
    rates = [written.moved_bytes / written.duration_s for written in slices]
    if (count := len(rates)) < 4:
        return None
    cut = min(
        range(2, count - 1),
        key=lambda at: at * pvariance(rates[:at]) + (count - at) * pvariance(rates[at:]),
    )
    before, after = rates[:cut], rates[cut:]
    slowed = sum(after) / len(after)
    if slowed >= SLOWED_SHARE * sum(before) / len(before):
        return None
    return SustainedFit(sum(each.moved_bytes for each in slices[:cut]), slowed)


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
    read = fit_access(measurement, "read")
    if read is None:
        raise ValueError("a matrix without reads")
    write = fit_access(measurement, "write")
    if write is None:
        write = read
        assumed["write"] = "writing was not measured; taken as reading"
        assumed["cap.write_iops"] = assumed["cap.write_bytes_per_s"] = assumed["write"]
    if flushes := _select_flushes(measurement):
        latency = flushes[0][1]  # after the smallest writes
        flush = FlushFit(latency.mean_s or 0.0, fit_times_s(latency))
    else:
        alone_s = write.rows[0].times_s
        flush = FlushFit(average_times_s(alone_s), alone_s)
        assumed["flush"] = "flushes were not measured; taken as a small write"
    cache = fit_cache(measurement, write.bytes_per_s_max, assumed)
    sustained = fit_sustained(measurement.sustained)
    if sustained is not None:
        reason = "how fast it recovers was not measured; taken as the rate it slowed down to"
        assumed["sustained.recovery_bytes_per_s"] = reason
    return Fit(
        capacity_bytes=measurement.target.size_bytes,
        channels=count_channels(measurement),
        read=read,
        write=write,
        flush=flush,
        cache=cache,
        sustained=sustained,
        assumed=assumed,
    )


def fit_access(measurement: Measurement, kind: str) -> AccessFit | None:
    """Reads or writes alone, at random places; None where none were measured."""
    found = list_pure_points(measurement, kind)
    if not found:
        return None
    rows = tuple(
        LoadRow(point.length_bytes, point.depth, fit_times_s(served.latency))
        for point, served in found
    )
    everywhere = [
        served
        for measured_point in measurement.matrix
        if (served := vars(measured_point.answer)[kind]) is not None
    ]
    return AccessFit(
        rows=rows,
        bytes_per_s=request_bytes_per_s(found),
        iops_max=max(served.iops_max for served in everywhere),
        bytes_per_s_max=max(served.bytes_per_s_max for served in everywhere),
    )


def list_pure_points(
    measurement: Measurement, kind: str
) -> list[tuple[MeasuredPoint, ServedRequests]]:
    """Points of one kind alone at random places, by size and then depth."""
    share = {"read": 1.0, "write": 0.0}[kind]
    found = [
        (measured_point, served)
        for measured_point in measurement.matrix
        if measured_point.read_share == share
        and not measured_point.sequential
        and not measured_point.flushed_every
        and (served := vars(measured_point.answer)[kind]) is not None
    ]
    return sorted(found, key=lambda pair: (pair[0].length_bytes, pair[0].depth))


def request_bytes_per_s(found: Sequence[tuple[MeasuredPoint, ServedRequests]]) -> float:
    """Bandwidth of one request beyond its first 4 KiB, from what larger ones take alone.

    The line through the median of the smallest that fits the other medians best.
    """
    alone = [
        (point.length_bytes, served.latency.find_quantile_s(0.5) or 0.0)
        for point, served in found
        if point.depth == 1
    ]
    first_bytes, first_s = alone[0]
    more = [(length - first_bytes, time_s - first_s) for length, time_s in alone[1:]]
    rise = sum(length * time_s for length, time_s in more)
    squares = sum(length**2 for length, _ in more)
    slope = rise / squares if squares else 0.0
    return min(FASTEST_BYTES_PER_S, 1 / slope) if slope > 0 else FASTEST_BYTES_PER_S


def count_channels(measurement: Measurement) -> int:
    """How many small reads it serves at once, at least 1.

    Source: Little's law: the best rate at any depth, times the time of one request alone.
    """
    small = [
        (point.depth, served)
        for point, served in list_pure_points(measurement, "read")
        if point.length_bytes == SMALL_BYTES
    ]
    alone_s = next(served.latency.mean_s or 0.0 for depth, served in small if depth == 1)
    return max(1, round(max(served.iops for _, served in small) * alone_s))
