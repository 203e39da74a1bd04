"""Second by second: what fio's logs say of a closed loop, summed over its submitters and workers.

Two logs are read of each submitter: mean latencies, of the same kind as in the document, and
histograms of the time from submission to completion, which say how many requests there were.

fio writes a mean with the first request of a direction that ends after a second is over, and that
request is in it. All others of a line ended in the second in which the line before was written, so
which second is whose is exact. The histograms are written alike, but their seconds begin with the
first request that ended. How many requests a mean holds is therefore read between two histograms,
as if they had ended evenly, and corrected so that all latencies add up to those of the document: of
fast storage a few milliseconds of a second are estimated, and of a submitter of few requests a
second one of them may be. All requests of the document are in the seconds, each once.

fio's logs of requests and bytes a second are not used: another thread writes them, late where
processors are busy, cuts fractions off, and leaves out a second that has just ended.

An open loop has a log of each request: the time of its completion, and its latency from the
submission in nanoseconds. Histograms made of it have fio's bins, so they merge with the others.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from pathlib import Path

from stithy.errors import InfrastructureError
from stithy.fio.output import (
    NS_PER_S,
    FioAnswer,
    Histogram,
    ServedRequests,
    Submitted,
    find_bin_middle_ns,
    find_bin_ns,
    make_failure,
    merge_histograms,
    subtract_histogram,
)
from stithy.fio.profile import DIRECTIONS, Direction

MS_PER_S = 1000
FIELDS_MOST = 10
"""Of a line that holds one value: newer versions add fields. A histogram has hundreds."""

_DIRECTIONS: Mapping[str, Direction] = {"0": "read", "1": "write"}


@dataclass(frozen=True)
class LoggedSecond:
    """What a stream did in a second of the measurement, in one direction.

    `at_s` is the Unix time at which it begins. `completion` holds times from submission to
    completion. None: fio wrote no line of that kind.
    """

    second: int
    at_s: float
    direction: Direction
    count: int
    moved_bytes: int
    latency_mean_s: float | None
    completion: Histogram | None


@dataclass(frozen=True)
class Line:
    """A line of a log: the Unix time of its last request, its direction, and its values."""

    at_ms: int
    direction: Direction
    values: Sequence[str]


@dataclass(frozen=True)
class Submitter:
    """One submitter: its lines of both logs, and what the document says of it."""

    latencies: Sequence[Line]
    histograms: Sequence[Line]
    submitted: Mapping[Direction, Submitted]


_Key = tuple[int, Direction]


@dataclass
class _Sum:
    count: int = 0
    moved_bytes: float = 0.0
    latency_s: float = 0.0
    histograms: list[Histogram] = field(default_factory=list)


def read_submitters(
    stream: str, folder: Path, submitted: Sequence[Mapping[Direction, Submitted]]
) -> tuple[Submitter, ...]:
    """Those of one worker, whose logs lie in `folder`; `submitted` is in the document's order.

    Raises InfrastructureError for a log that is none, or is missing.
    """
    latencies, histograms = (_list_logs(folder, f"{stream}_{end}.") for end in ("lat", "clat_hist"))
    if not len(latencies) == len(histograms) == len(submitted):
        raise make_failure(
            f"fio wrote {len(latencies)} and {len(histograms)} logs of {len(submitted)} submitters",
            str(folder),
        )
    return tuple(map(Submitter, latencies, histograms, submitted))


def _list_logs(folder: Path, begin: str) -> list[list[Line]]:
    """By the number of their submitter: the document has the same order."""
    found = {int(each.name.split(".")[-2]): each for each in folder.glob(f"{begin}*.log")}
    return [
        list(parse_lines(path.read_text(errors="replace"), str(path)))
        for _, path in sorted(found.items())
    ]


def parse_lines(text: str, where: str) -> Iterator[Line]:
    """The lines of a log, of reads and writes: `1763926000123, 4096, 0, 4096, 0, 0`."""
    for number, line in enumerate(text.splitlines(), 1):
        fields = [part.strip() for part in line.split(",")]
        try:
            is_histogram = len(fields) > FIELDS_MOST
            at, way = fields[0], fields[1] if is_histogram else fields[2]
            values = fields[3:] if is_histogram else fields[1:2]
            if way in _DIRECTIONS:
                yield Line(int(at), _DIRECTIONS[way], values)
        except (ValueError, IndexError) as error:
            problem = f"this is no line of a log of fio: {line[:80]!r}"
            remedy = "see whether the disk of the results is full, then measure again"
            raise InfrastructureError(problem, where=f"{where}:{number}", remedy=remedy) from error


def list_seconds(found: Sequence[Submitter], duration_s: float) -> tuple[LoggedSecond, ...]:
    """The whole seconds of all submitters together, in order; reads before writes.

    What ended after the duration counts for the last second, as it does in the document; of a
    duration that is not whole, what ended after the last whole second is left out. Raises
    InfrastructureError where logs have more requests than the document.
    """
    begin_ms, whole = _begin_ms(found, duration_s), int(duration_s)
    last = whole - 1 if whole == duration_s else whole
    sums: dict[_Key, _Sum] = {}
    for submitter, way in ((each, way) for each in found for way in each.submitted):
        submitted = submitter.submitted[way]
        for second, count, mean_s in _count_answered(submitter, way, begin_ms):
            own = sums.setdefault((min(second, last), way), _Sum())
            own.count += count
            own.latency_s += count * mean_s
            own.moved_bytes += count * submitted.moved_bytes / submitted.completion.count
        for second, histogram in _count_completions(submitter, way, begin_ms):
            sums.setdefault((min(second, last), way), _Sum()).histograms.append(histogram)
    return tuple(
        _make_second(second, direction, begin_ms, each)
        for (second, direction), each in sorted(sums.items())
        if second < whole and each.count
    )


def _make_second(second: int, direction: Direction, begin_ms: int, found: _Sum) -> LoggedSecond:
    return LoggedSecond(
        second=second,
        at_s=begin_ms / MS_PER_S + second,
        direction=direction,
        count=found.count,
        moved_bytes=round(found.moved_bytes),
        latency_mean_s=found.latency_s / found.count,
        completion=merge_histograms(found.histograms) if found.histograms else None,
    )


def _begin_ms(found: Sequence[Submitter], duration_s: float) -> int:
    """When the measurement began: no line of a mean comes before its second is over.

    But for the last ones, which come when the submitter ends.
    """
    begins, ends = [], []
    for submitter, way in ((each, way) for each in found for way in DIRECTIONS):
        own = [latency.at_ms for latency in submitter.latencies if latency.direction == way]
        begins += [at - MS_PER_S * number for number, at in enumerate(own[:-1], 1)]
        ends += own[-1:]
    return min(begins or [end - round(MS_PER_S * duration_s) for end in ends], default=0)


def _count_answered(
    submitter: Submitter, way: Direction, begin_ms: int
) -> Iterator[tuple[int, int, float]]:
    """Seconds with the number of requests that ended in them, and their mean latency in seconds."""
    own = [latency for latency in submitter.latencies if latency.direction == way]
    second, known = 0, 0
    for line, count in zip(own, _read_counts(submitter, way, begin_ms, own), strict=True):
        if others := count - known - 1:
            yield second, others, _compute_mean_s(line)
        second, known = max(second, (line.at_ms - begin_ms) // MS_PER_S), count
        yield second, 1, _compute_mean_s(line)


def _compute_mean_s(line: Line) -> float:
    return int(line.values[0]) / NS_PER_S


def _read_counts(
    submitter: Submitter, way: Direction, begin_ms: int, means: Sequence[Line]
) -> Iterator[int]:
    """How many requests of a submitter had ended with each line of a mean, that one included."""
    submitted = submitter.submitted[way]
    total = submitted.completion.count
    if not 0 < len(means) <= total:
        raise make_failure(f"fio logged {len(means)} means of {total} {way}s", "its logs")
    known = [(begin_ms, 0)]
    for line in (histogram for histogram in submitter.histograms if histogram.direction == way):
        known.append((line.at_ms, known[-1][1] + sum(map(int, line.values))))
    known.append((max(known[-1][0], means[-1].at_ms), total))
    guesses = [_interpolate(known, mean.at_ms) for mean in means[:-1]]
    count = 0
    for number, better in enumerate(_correct(guesses, means, submitted)):
        # Each line has a request at least, those that follow too.
        count = min(max(count + 1, better), total - len(guesses) + number)
        yield count
    yield total


@dataclass(frozen=True)
class _Guess:
    """A number of requests and its bounds; `doubt` is about how wrong it may be."""

    least: int
    count: int
    most: int
    doubt: int


def _interpolate(known: Sequence[tuple[int, int]], at_ms: int) -> _Guess:
    """How many had ended by then, as if evenly; shapes: times in ms rise, and so do counts.

    The request with which the next histogram was written ended later.
    """
    after = bisect_left(known, at_ms, hi=len(known) - 1, key=lambda each: each[0])
    (end_ms, most), (from_ms, least) = known[after], known[max(0, after - 1)]
    if at_ms >= end_ms:
        return _Guess(most, most, most, 0)
    share = (at_ms - from_ms) / (end_ms - from_ms)
    count = max(least, min(most - 1, least + round(share * (most - least))))
    return _Guess(least, count, most - 1, most - count)


def _correct(
    guesses: Sequence[_Guess], means: Sequence[Line], submitted: Submitted
) -> Iterator[int]:
    """Guesses with which the means add up to the sum of all latencies that the document has.

    One more request before a line changes the sum by what its mean differs from the next. What is
    missing is made up by the smallest changes, in parts of each one's doubt; means are cut to ns.
    Source: least squares with one condition, of known errors.
    """
    times_s = [_compute_mean_s(mean) for mean in means]
    gains = [own - following for own, following in pairwise(times_s)]
    total = submitted.completion.count
    guessed_s = total * times_s[-1] + sum(g.count * s for g, s in zip(guesses, gains, strict=True))
    errors = sum((g.doubt * s) ** 2 for g, s in zip(guesses, gains, strict=True))
    errors += (total / NS_PER_S) ** 2
    for guess, gain_s in zip(guesses, gains, strict=True):
        change = (submitted.latency_s - guessed_s) * gain_s * guess.doubt**2 / errors
        yield max(guess.least, min(guess.most, round(guess.count + change)))


def _count_completions(
    submitter: Submitter, way: Direction, begin_ms: int
) -> Iterator[tuple[int, Histogram]]:
    """Histograms with the second that each begins in; the last is the rest of the document's."""
    own = [each for each in submitter.histograms if each.direction == way]
    known = [_read_histogram(link.values) for link in own]
    rest = subtract_histogram(submitter.submitted[way].completion, merge_histograms(known))
    if rest is None:
        raise make_failure(f"fio logged more {way}s than its result has", "its logs")
    second = 0
    for line, histogram in zip(own, known, strict=True):
        yield second, histogram
        second = max(second + 1, (line.at_ms - begin_ms) // MS_PER_S)
    if rest.count:
        yield second, rest


def _read_histogram(values: Sequence[str]) -> Histogram:
    """The sum is that of the middles of the bins: this log has no exact one."""
    counts = {find_bin_middle_ns(at): int(each) for at, each in enumerate(values) if each != "0"}
    sum_s = sum(time_ns * count for time_ns, count in counts.items()) / NS_PER_S
    return Histogram(counts_by_ns=counts, sum_s=sum_s)


@dataclass(frozen=True)
class EndedRequest:
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

    def add(self, request: EndedRequest) -> None:
        self.counts[find_bin_ns(request.latency_ns)] += 1
        self.sum_ns += request.latency_ns
        self.moved_bytes += request.size_bytes

    def make_histogram(self) -> Histogram:
        counts = dict(sorted(self.counts.items()))
        return Histogram(counts_by_ns=counts, sum_s=self.sum_ns / NS_PER_S)


def read_requests(stream: str, folders: Iterable[Path]) -> Iterator[EndedRequest]:
    """All requests of a stream, in no order; `folders` hold the logs of one worker each."""
    return chain.from_iterable(map(_read_log, _list_request_logs(stream, folders)))


def _list_request_logs(stream: str, folders: Iterable[Path]) -> list[Path]:
    return [path for folder in folders for path in sorted(folder.glob(f"{stream}_lat.*.log"))]


def _read_log(path: Path) -> Iterator[EndedRequest]:
    """Those of one submitter, in the order in which they ended."""
    with path.open(errors="replace") as file:
        for number, line in enumerate(file, 1):
            yield _request(line, f"{path}:{number}")


def _request(line: str, where: str) -> EndedRequest:
    """`1763926000123, 98343, 0, 8192, 0`: end in ms, latency in ns, direction, size."""
    try:
        at, latency, way, size, *_ = line.split(",")
        return EndedRequest(int(at) / 1000, DIRECTIONS[int(way)], int(latency), int(size))
    except (ValueError, IndexError) as error:
        problem = f"this is no line of a log of fio: {line[:80]!r}"
        remedy = "see whether the disk of the results is full, then measure again"
        raise InfrastructureError(problem, where=where, remedy=remedy) from error


def list_closed_loop_seconds(
    stream: str, folders: Iterable[Path], duration_s: float
) -> tuple[LoggedSecond, ...]:
    """The whole seconds of a closed loop, from its first request; the last has what came late."""
    found: dict[tuple[int, Direction], _Counted] = {}
    paths = _list_request_logs(stream, folders)
    begin_s = find_first_end_s(chain.from_iterable(islice(_read_log(path), 1) for path in paths))
    last = max(0, int(duration_s) - 1)
    for each in chain.from_iterable(map(_read_log, paths)):
        second = min(int(each.end_s - begin_s), last)
        found.setdefault((second, each.direction), _Counted()).add(each)
    ways = {way for _, way in found}
    return tuple(
        _make_row(second, way, found.get((second, way)), begin_s)
        for second in range(last + 1)
        for way in DIRECTIONS
        if way in ways
    )


def summarise_measurement(
    stream: str,
    all_requests: Iterable[EndedRequest],
    ramp_s: float,
    duration_s: float,
    where: str,
    cpu_s: float = 0.0,
) -> tuple[FioAnswer, tuple[LoggedSecond, ...]]:
    """What a stream did in the measurement, in all and second by second.

    The ramp counts from the first request of any submitter. A second in which a direction ended
    nothing has a row with 0, since each request is known. `cpu_s` is that of all requests, which
    come at one rate: those of the measurement have their part. Raises InfrastructureError where
    nothing was measured, or the log ends before the measurement.
    """
    known = list(all_requests)
    begin_s = find_first_end_s(known) + ramp_s
    last_s = max((each.end_s for each in known), default=0.0)
    if last_s < begin_s + 0.9 * duration_s or not known:
        seen_s = max(0.0, last_s - begin_s)
        raise make_failure(
            f"the stream {stream} was seen for {seen_s:g} s of {duration_s:g} s", where
        )
    return summarise_requests(stream, known, begin_s, duration_s, cpu_s)


def find_first_end_s(known: Iterable[EndedRequest]) -> float:
    """When the first of them ended."""
    return min((each.end_s for each in known), default=0.0)


def summarise_requests(
    stream: str,
    known: Sequence[EndedRequest],
    begin_s: float,
    duration_s: float,
    cpu_s: float = 0.0,
) -> tuple[FioAnswer, tuple[LoggedSecond, ...]]:
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
    answer = FioAnswer(stream, sides["read"], sides["write"], None, cpu_s, duration_s)
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
) -> ServedRequests | None:
    if counted is None:
        return None
    parts = [each for (_, way), each in by_second.items() if way == direction]
    return ServedRequests(
        latency=counted.make_histogram(),
        moved_bytes=counted.moved_bytes,
        duration_s=duration_s,
        iops_max=float(max(part.counts.total() for part in parts)),
        bytes_per_s_max=float(max(each.moved_bytes for each in parts)),
    )


def _make_row(
    second: int, direction: Direction, counted: _Counted | None, begin_s: float
) -> LoggedSecond:
    histogram = counted.make_histogram() if counted else None
    return LoggedSecond(
        second=second,
        at_s=begin_s + second,
        direction=direction,
        count=histogram.count if histogram else 0,
        moved_bytes=counted.moved_bytes if counted else 0,
        latency_mean_s=histogram.mean_s if histogram else None,
        completion=histogram,
    )
