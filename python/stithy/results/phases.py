"""From the latency log of a window to what each phase of it gave.

A second in which nothing ended has no line in the log: it counts all the same.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stithy.results.hlog import JOIN_TOLERANCE_S, LoggedHistogram, LoggedInterval, merge

BACK_SHARE = 0.9
"""Own: throughput is back where it is within a tenth of what it was before what happened,"""

BACK_S = 5
"""for so many seconds in a row."""


@dataclass(frozen=True)
class Phase:
    """A part of a window, Unix time; `to_s` is after `from_s`."""

    name: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class PhaseResult:
    """What users got in the whole seconds of a phase; `count` transactions came to a good end."""

    count: int
    seconds: int
    times: LoggedHistogram | None

    @property
    def per_minute(self) -> float | None:
        """Transactions per minute; None without a whole second."""
        return 60 * self.count / self.seconds if self.seconds else None


def sum_phase(
    intervals: Sequence[LoggedInterval], phase: Phase, started_at_s: float
) -> PhaseResult:
    """Sum up the seconds since the users' start that lie within a phase as a whole."""
    first = math.ceil(phase.from_s - started_at_s - JOIN_TOLERANCE_S)
    last = math.floor(phase.to_s - started_at_s + JOIN_TOLERANCE_S)
    seconds = range(first, max(first, last))
    inside = [each for each in intervals if _find_second(each, started_at_s) in seconds]
    times = merge(each.histogram for each in inside)
    return PhaseResult(times.count if times else 0, len(seconds), times)


def is_whole(intervals: Iterable[LoggedInterval], from_s: float, to_s: float, done: int) -> bool:
    """Say whether a log holds all of a measurement, Unix time, in which so many came to an end.

    What a log that ended early lacks would count as seconds without a transaction. Seconds at the
    ends of a measurement that lie in it with a part only hold others, too.
    """
    inner = outer = 0
    for each in intervals:
        begin_s, end_s, count = each.started_at_s, each.started_at_s + 1, each.histogram.count
        if from_s - JOIN_TOLERANCE_S <= begin_s and end_s <= to_s + JOIN_TOLERANCE_S:
            inner += count
        if from_s + JOIN_TOLERANCE_S < end_s and begin_s < to_s - JOIN_TOLERANCE_S:
            outer += count
    return inner <= done <= outer


def cut_phases(phases: Iterable[Phase], inner: Phase) -> list[Phase]:
    """Give `inner` its time alone: what it covers of others is no longer theirs."""
    parts = [inner]
    for each in phases:
        for from_s, to_s in ((each.from_s, inner.from_s), (inner.to_s, each.to_s)):
            part = Phase(each.name, max(from_s, each.from_s), min(to_s, each.to_s))
            if part.to_s > part.from_s:
                parts.append(part)
    return sorted(parts, key=lambda part: part.from_s)


def sum_phases(
    intervals: Sequence[LoggedInterval], phases: Iterable[Phase], started_at_s: float
) -> dict[str, PhaseResult]:
    """Sum up phases by name; one may have several parts."""
    found: dict[str, list[PhaseResult]] = {}
    for phase in phases:
        found.setdefault(phase.name, []).append(sum_phase(intervals, phase, started_at_s))
    return {name: join_results(parts) for name, parts in found.items()}


def join_results(parts: Sequence[PhaseResult]) -> PhaseResult:
    """Make one of several."""
    times = merge(part.times for part in parts if part.times is not None)
    return PhaseResult(
        sum(part.count for part in parts), sum(part.seconds for part in parts), times
    )


def _find_second(interval: LoggedInterval, started_at_s: float) -> int:
    return math.floor(interval.started_at_s - started_at_s + JOIN_TOLERANCE_S)


def find_recovery_s(
    intervals: Iterable[LoggedInterval], phase: Phase, started_at_s: float, before_per_s: float
) -> float | None:
    """Find how long after the begin of `phase` throughput was back; None where it never was.

    Back: at least `BACK_SHARE` of what it was before in each of `BACK_S` seconds. Seconds.
    """
    counts: dict[int, int] = {}
    for each in intervals:
        number = _find_second(each, started_at_s)
        counts[number] = counts.get(number, 0) + each.histogram.count
    healed_s = phase.from_s - started_at_s
    until_s = math.floor(phase.to_s - started_at_s + JOIN_TOLERANCE_S)
    for first in range(math.floor(healed_s), until_s - BACK_S + 1):
        row = range(first, first + BACK_S)
        if all(counts.get(second, 0) >= BACK_SHARE * before_per_s for second in row):
            return max(0.0, first - healed_s)
    return None
