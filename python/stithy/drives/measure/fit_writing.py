"""What follows from flushes and from writing for long: flush cost, write cache, slowing down.

Pure functions; what they cannot know they say.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stithy.drives.measure.measurement import Measurement, WrittenSlice
from stithy.drives.measure.shares import times_s

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


def flush_fit(measurement: Measurement) -> FlushFit | None:
    """Flushes after the smallest writes; None where none were measured."""
    found = [
        (each.length_bytes * each.flushed_every, each.answer.flush.latency)
        for each in measurement.matrix
        if each.answer.flush is not None
    ]
    if not found:
        return None
    latency = min(found, key=lambda pair: pair[0])[1]
    return FlushFit(latency.mean_s or 0.0, times_s(latency))


def _flushes(measurement: Measurement) -> list[tuple[int, float]]:
    """What was written before each flush, bytes, and the flush's mean time; rising."""
    found = [
        (each.length_bytes * each.flushed_every, each.answer.flush.latency.mean_s or 0.0)
        for each in measurement.matrix
        if each.answer.flush is not None
    ]
    return sorted(found)


def cache_fit(
    measurement: Measurement, write_bytes_per_s_max: float, assumed: dict[str, str]
) -> CacheFit | None:
    """The volatile cache that the device says it has; None where it says that it has none.

    What drains while a flush is waited for tells how fast it is, where that can be seen.
    """
    told = measurement.target.write_cache
    if told != "write back":
        return None
    assumed["cache.size_bytes"] = "a cache's size cannot be measured from outside"
    assumed["cache.protected"] = "the device says `write back`, and not whether power loss is safe"
    drain_bytes_per_s = write_bytes_per_s_max
    after = _flushes(measurement)
    if len(after) > 1:
        (few_bytes, short_s), (many_bytes, long_s) = after[0], after[-1]
        if long_s > (1 + NOTABLE_FLUSH_SHARE) * short_s:
            drain_bytes_per_s = (many_bytes - few_bytes) / (long_s - short_s)
            return CacheFit(CACHE_BYTES, drain_bytes_per_s)
    assumed["cache.drain_bytes_per_s"] = (
        "flushes hardly waited for what was written before them"
        if after
        else "flushes were not measured"
    )
    return CacheFit(CACHE_BYTES, drain_bytes_per_s)


def sustained_fit(slices: Sequence[WrittenSlice]) -> SustainedFit | None:
    """Where writing slowed down and to what; None where it did not.

    Own: the step between two means that leaves the least squares, if it goes down far enough.
    """
    rates = [each.moved_bytes / each.duration_s for each in slices]
    if len(rates) < 4:
        return None
    cut = min(range(2, len(rates) - 1), key=lambda at: _squares(rates[:at]) + _squares(rates[at:]))
    before, after = rates[:cut], rates[cut:]
    slowed = sum(after) / len(after)
    if slowed >= SLOWED_SHARE * sum(before) / len(before):
        return None
    return SustainedFit(sum(each.moved_bytes for each in slices[:cut]), slowed)


def _squares(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)
