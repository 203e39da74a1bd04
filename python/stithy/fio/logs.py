"""Second by second: what fio's logs say of a stream, summed over its submitters and workers.

Four logs are read of each submitter: requests and KiB a second, the mean latency (of the same kind
as in the document), and histograms of the time from submission to completion, of which the
percentiles come. fio writes a line a second and direction where there was something to write;
seconds are counted from the first line of any submitter, since all of them began together. Its
rates are whole numbers, cut off: each submitter may lose one request a second.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stithy.errors import InfrastructureError
from stithy.fio.histogram import BINS, NS_PER_S, Histogram, merged, middle_ns
from stithy.fio.profile import Direction

MS_PER_S = 1000.0
KIB = 1024
KINDS = {"iops": "iops", "bw": "bw", "lat": "lat", "clat_hist": "hist"}
"""The end of a log's name, `<stream>_<end>.<number>.log`, and what it holds."""

FIELDS_MOST = 10
"""Of a line that holds one value: newer versions add fields. A histogram has hundreds."""

_DIRECTIONS: Mapping[str, Direction] = {"0": "read", "1": "write"}


@dataclass(frozen=True)
class Second:
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


_Key = tuple[int, Direction]


@dataclass
class _Sum:
    """`latency_s` is of so many requests as `timed` says."""

    count: int = 0
    moved_bytes: int = 0
    latency_s: float = 0.0
    timed: int = 0
    histograms: list[Histogram] = field(default_factory=list)

    def add(self, other: "_Sum") -> None:
        """Add those of another submitter."""
        self.count += other.count
        self.moved_bytes += other.moved_bytes
        self.latency_s += other.latency_s
        self.timed += other.timed
        self.histograms += other.histograms


@dataclass(frozen=True)
class Line:
    """A line of a log: the end of its second, its direction, and its values."""

    at_s: float
    direction: Direction
    values: Sequence[str]


Submitter = Mapping[str, Sequence["Line"]]
"""The lines of each kind of log of one submitter."""


def of_stream(stream: str, folders: Iterable[Path], duration_s: float) -> tuple[Second, ...]:
    """The whole seconds of a stream; `folders` hold the logs of one worker each.

    Raises InfrastructureError for a log that is none.
    """
    submitters: dict[tuple[Path, str], dict[str, list[Line]]] = {}
    for folder in folders:
        for path in sorted(folder.glob(f"{stream}_*.log")):
            end, number, _ = path.name.removeprefix(f"{stream}_").split(".")
            if end in KINDS:
                logs = submitters.setdefault((folder, number), {})
                logs[KINDS[end]] = list(lines(path.read_text(errors="replace"), str(path)))
    found = seconds(list(submitters.values()))
    return tuple(each for each in found if each.second < int(duration_s))


def lines(text: str, where: str) -> Iterator[Line]:
    """The lines of a log, of reads and writes: `1763926000123, 4096, 0, 4096, 0, 0`."""
    for number, line in enumerate(text.splitlines(), 1):
        fields = [each.strip() for each in line.split(",")]
        try:
            is_histogram = len(fields) > FIELDS_MOST
            at, way = fields[0], fields[1] if is_histogram else fields[2]
            values = fields[3:] if is_histogram else fields[1:2]
            if way in _DIRECTIONS:
                yield Line(int(at) / MS_PER_S, _DIRECTIONS[way], values)
        except (ValueError, IndexError) as error:
            raise InfrastructureError(
                f"this is no line of a log of fio: {line[:80]!r}",
                where=f"{where}:{number}",
                remedy="see whether the disk of the results is full, then measure again",
            ) from error


def seconds(submitters: Sequence[Submitter]) -> tuple[Second, ...]:
    """The seconds of all submitters' logs, in order; reads before writes."""
    firsts = [line.at_s for each in submitters for line in each.get("iops", ())]
    if not firsts:
        return ()
    first_s = min(firsts)
    sums: dict[_Key, _Sum] = {}
    for each in submitters:
        for key, found in _of_submitter(each, first_s).items():
            sums.setdefault(key, _Sum()).add(found)
    return tuple(
        Second(
            second=second,
            at_s=first_s - 1 + second,
            direction=direction,
            count=each.count,
            moved_bytes=each.moved_bytes,
            latency_mean_s=each.latency_s / each.timed if each.timed else None,
            completion=merged(each.histograms) if each.histograms else None,
        )
        for (second, direction), each in sorted(sums.items())
    )


def _of_submitter(logs: Submitter, first_s: float) -> dict[_Key, _Sum]:
    """One submitter's seconds; a mean counts as often as its second had requests."""
    sums: dict[_Key, _Sum] = {}
    for kind in KINDS.values():
        for line in logs.get(kind, ()):
            at = sums.setdefault((max(0, round(line.at_s - first_s)), line.direction), _Sum())
            if kind == "iops":
                at.count += int(line.values[0])
            elif kind == "bw":
                at.moved_bytes += int(line.values[0]) * KIB
            elif kind == "lat":
                at.timed = at.count
                at.latency_s = int(line.values[0]) / NS_PER_S * at.count
            else:
                at.histograms.append(_histogram(line.values))
    return sums


def _histogram(values: Sequence[str]) -> Histogram:
    """The sum is that of the middles of the bins: this log has no exact one."""
    stride = BINS // len(values)
    counts = {
        (middle_ns(stride * at) + middle_ns(stride * (at + 1) - 1)) // 2: int(each)
        for at, each in enumerate(values)
        if each != "0"
    }
    sum_s = sum(time_ns * count for time_ns, count in counts.items()) / NS_PER_S
    return Histogram(counts_by_ns=counts, sum_s=sum_s)
