"""What a window of fio must obey whatever the storage does, and how even its seconds were."""

import math
from collections.abc import Iterator, Mapping
from statistics import fmean, stdev

from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.output import Answer
from stithy.fio.profile import DIRECTIONS, Direction, Pattern, mean_bytes
from stithy.metrics import ALL
from stithy.run.activity import Measured

CHANCE = 3.0
"""Standard deviations by which the mean of random sizes may differ from that of the profile."""


def in_flight(pattern: Pattern, found: FioMeasured, workers: int) -> Iterator[Measured]:
    """Requests outstanding by Little's law, beside those that a closed loop keeps.

    Nothing of patterns that pause or hold back, and of traces, which flush: those have no such
    number.
    Source: Little (1961), L = λW.
    """
    held_back = len(pattern.streams) > 1 and pattern.is_weighted
    if held_back or pattern.trace or any(each.is_paced for each in pattern.streams):
        return
    mean = sum(map(_waiting, found.answers))
    count = sum(each.count for each in found.answers)
    yield Measured("fio.in_flight", mean, ALL, count)
    outstanding = workers * sum(each.outstanding for each in found.streams)
    yield Measured("fio.outstanding", float(outstanding), ALL)


def _waiting(answer: Answer) -> float:
    flushed_s = answer.flush.sum_s if answer.flush else 0.0
    return (answer.latency.sum_s + flushed_s) / answer.duration_s


def size_errors(pattern: Pattern, found: FioMeasured, workers: int) -> Iterator[Measured]:
    """By how much bandwidth differs from IOPS x the profile's mean size, beyond chance.

    Each fio may count the bytes of a request that was under way when the measurement began, and not
    its answer.
    """
    for way in DIRECTIONS:
        errors = list(_errors(pattern, found, way, workers))
        if errors:
            yield Measured("fio.size_error_share", max(errors), way)


def _errors(pattern: Pattern, found: FioMeasured, way: Direction, workers: int) -> Iterator[float]:
    streams = {each.name: each for each in pattern.streams}
    for rendered, answer in zip(found.streams, found.answers, strict=True):
        side, asked = answer.side(way), rendered.mean_bytes.get(way)
        if side is None or asked is None:
            continue
        measured = side.moved_bytes / side.latency.count
        count = side.latency.count
        sizes = streams[rendered.name].sizes_of(way)
        mean = mean_bytes(sizes)
        variance = sum(share * (size - mean) ** 2 for size, share in sizes.items())
        spread = math.sqrt(variance) / mean
        chance = CHANCE * spread / math.sqrt(count) + workers / count
        yield max(0.0, abs(measured / asked - 1) - chance)


def evenness(found: FioMeasured, duration_s: float) -> Iterator[Measured]:
    """How even the seconds were, the worst of them, and those in which nothing was answered."""
    counts = per_second(found, duration_s)
    numbers = list(counts.values())
    if len(numbers) < 2 or not sum(numbers):
        because = "the window has fewer than two whole seconds"
        for name in ("fio.variation", "fio.worst_iops"):
            yield Measured(name, None, ALL, len(numbers), because)
        return
    yield Measured("fio.variation", stdev(numbers) / fmean(numbers), ALL, len(numbers))
    yield Measured("fio.worst_iops", float(min(numbers)), ALL, len(numbers))
    yield Measured("fio.idle_s", float(numbers.count(0)), ALL, len(numbers))


def per_second(found: FioMeasured, duration_s: float) -> Mapping[int, int]:
    """Reads and writes answered in each whole second; one without a row had none."""
    counts: dict[int, int] = {}
    for rows in found.seconds.values():
        for each in rows:
            counts[each.second] = counts.get(each.second, 0) + each.count
    return {second: counts.get(second, 0) for second in range(int(duration_s))} if counts else {}
