"""An open loop's log of each request: what was measured after the ramp, and its seconds.

The log has the time of each completion and its latency from the submission, in nanoseconds; the
histograms made of it have fio's bins, so they merge with those of closed loops.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from stithy.errors import InfrastructureError
from stithy.fio.histogram import NS_PER_S, Histogram, bin_ns
from stithy.fio.logs import Second
from stithy.fio.output import Answer, Served, failed
from stithy.fio.profile import DIRECTIONS, Direction

MS_PER_S = 1000.0


@dataclass(frozen=True)
class Request:
    """One request that ended."""

    end_s: float
    direction: Direction
    latency_ns: int
    size_bytes: int


@dataclass
class _Counted:
    counts: Counter[int] = field(default_factory=Counter)
    sum_ns: int = 0
    moved_bytes: int = 0

    def add(self, request: Request) -> None:
        """Count one more."""
        self.counts[bin_ns(request.latency_ns)] += 1
        self.sum_ns += request.latency_ns
        self.moved_bytes += request.size_bytes

    def histogram(self) -> Histogram:
        """Of all that were counted."""
        counts = dict(sorted(self.counts.items()))
        return Histogram(counts_by_ns=counts, sum_s=self.sum_ns / NS_PER_S)


def requests(stream: str, folders: Iterable[Path]) -> Iterator[Request]:
    """All requests of a stream, in no order; `folders` hold the logs of one worker each."""
    return chain.from_iterable(map(_in_log, _list_logs(stream, folders)))


def _list_logs(stream: str, folders: Iterable[Path]) -> list[Path]:
    """One for each submitter."""
    return [path for folder in folders for path in sorted(folder.glob(f"{stream}_lat.*.log"))]


def _in_log(path: Path) -> Iterator[Request]:
    """Those of one submitter, in the order in which they ended."""
    with path.open(errors="replace") as file:
        for number, line in enumerate(file, 1):
            yield _request(line, f"{path}:{number}")


def _request(line: str, where: str) -> Request:
    """`1763926000123, 98343, 0, 8192, 0`: end in ms, latency in ns, direction, size."""
    try:
        at, latency, way, size, *_ = line.split(",")
        return Request(int(at) / MS_PER_S, DIRECTIONS[int(way)], int(latency), int(size))
    except (ValueError, IndexError) as error:
        problem = f"this is no line of a log of fio: {line[:80]!r}"
        remedy = "see whether the disk of the results is full, then measure again"
        raise InfrastructureError(problem, where=where, remedy=remedy) from error


def seconds(stream: str, folders: Iterable[Path], duration_s: float) -> tuple[Second, ...]:
    """The whole seconds of a closed loop, from its first request; the last has what came late."""
    found: dict[tuple[int, Direction], _Counted] = {}
    paths = _list_logs(stream, folders)
    begin_s = first_s(chain.from_iterable(islice(_in_log(path), 1) for path in paths))
    last = max(0, int(duration_s) - 1)
    for each in chain.from_iterable(map(_in_log, paths)):
        second = min(int(each.end_s - begin_s), last)
        found.setdefault((second, each.direction), _Counted()).add(each)
    ways = {way for _, way in found}
    return tuple(
        _make_row(second, way, found.get((second, way)), begin_s)
        for second in range(last + 1)
        for way in DIRECTIONS
        if way in ways
    )


def measured(
    stream: str,
    all_requests: Iterable[Request],
    ramp_s: float,
    duration_s: float,
    where: str,
    cpu_s: float = 0.0,
) -> tuple[Answer, tuple[Second, ...]]:
    """What a stream did in the measurement, in all and second by second.

    The ramp counts from the first request of any submitter. A second in which a direction ended
    nothing has a row with 0, since each request is known. `cpu_s` is that of all requests, which
    come at one rate: those of the measurement have their part. Raises InfrastructureError where
    nothing was measured, or the log ends before the measurement.
    """
    known = list(all_requests)
    begin_s = first_s(known) + ramp_s
    last_s = max((each.end_s for each in known), default=0.0)
    if last_s < begin_s + 0.9 * duration_s or not known:
        seen_s = max(0.0, last_s - begin_s)
        raise failed(f"the stream {stream} was seen for {seen_s:g} s of {duration_s:g} s", where)
    return counted(stream, known, begin_s, duration_s, cpu_s)


def first_s(known: Iterable[Request]) -> float:
    """When the first of them ended."""
    return min((each.end_s for each in known), default=0.0)


def counted(
    stream: str, known: Sequence[Request], begin_s: float, duration_s: float, cpu_s: float = 0.0
) -> tuple[Answer, tuple[Second, ...]]:
    """The same of a part of the requests, from a time on; it may have none."""
    inside = [each for each in known if 0 <= each.end_s - begin_s < duration_s]
    total: dict[Direction, _Counted] = {}
    by_second: dict[tuple[int, Direction], _Counted] = {}
    for each in inside:
        second = int(each.end_s - begin_s)
        total.setdefault(each.direction, _Counted()).add(each)
        by_second.setdefault((second, each.direction), _Counted()).add(each)
    sides = {way: _sum_served(total.get(way), by_second, way, duration_s) for way in DIRECTIONS}
    cpu_s *= len(inside) / max(1, len(known))
    answer = Answer(stream, sides["read"], sides["write"], None, cpu_s, duration_s)
    rows = (
        _make_row(second, way, by_second.get((second, way)), begin_s)
        for second in range(int(duration_s))
        for way in DIRECTIONS
        if way in total
    )
    return answer, tuple(rows)


def _sum_served(
    counted: _Counted | None,
    by_second: dict[tuple[int, Direction], _Counted],
    direction: Direction,
    duration_s: float,
) -> Served | None:
    if counted is None:
        return None
    parts = [each for (_, way), each in by_second.items() if way == direction]
    return Served(
        latency=counted.histogram(),
        moved_bytes=counted.moved_bytes,
        duration_s=duration_s,
        iops_max=float(max(each.counts.total() for each in parts)),
        bytes_per_s_max=float(max(each.moved_bytes for each in parts)),
    )


def _make_row(
    second: int, direction: Direction, counted: _Counted | None, begin_s: float
) -> Second:
    histogram = counted.histogram() if counted else None
    return Second(
        second=second,
        at_s=begin_s + second,
        direction=direction,
        count=histogram.count if histogram else 0,
        moved_bytes=counted.moved_bytes if counted else 0,
        latency_mean_s=histogram.mean_s if histogram else None,
        completion=histogram,
    )
