"""What fio measured in a window, as values, as rows, and in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stithy.fio.histogram import Histogram, merged
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.output import Answer
from stithy.fio.profile import DIRECTIONS, Pattern
from stithy.metrics import ALL, OPERATIONS, PERCENTILES
from stithy.results.tables import Row
from stithy.run.activities.fio.laws import evenness, in_flight, size_errors
from stithy.run.activities.fio.rates import Rate
from stithy.run.activity import Measured
from stithy.units import format_duration

NS_PER_S = 1e9
NOTHING = "nothing was answered"
UNCOUNTED = "fio counted no CPU time of so few requests"


@dataclass(frozen=True)
class Side:
    """One kind of request: how many a second, bytes a second (None: it moves none), latencies."""

    iops: float
    bytes_per_s: float | None
    latency: Histogram


@dataclass(frozen=True)
class Outcome:
    """Of a pattern: all that is asked of its window. `workers`: those of all volumes.

    `volumes` names them.
    """

    found: FioMeasured
    pattern: Pattern
    workers: int
    duration_s: float
    rate: Rate | None = None
    volumes: tuple[str, ...] = ()

    @cached_property
    def sides(self) -> Mapping[str, Side]:
        """By operation those that there were, and reads and writes together."""
        return _sides(self.found.answers)

    def values(self) -> Iterator[Measured]:
        """Of each operation, and of reads and writes together."""
        for of, side in self.sides.items():
            count = side.latency.count
            missing = None if count else NOTHING
            yield Measured("fio.iops", side.iops, of, count)
            if side.bytes_per_s is not None:
                yield Measured("fio.bytes_per_s", side.bytes_per_s, of, count)
            yield Measured("fio.mean_s", side.latency.mean_s, of, count, missing)
            for name, (percent, _) in PERCENTILES.items():
                yield Measured(
                    f"fio.{name}", side.latency.quantile_s(percent / 100), of, count, missing
                )
        count, cpu_s = self.sides[ALL].latency.count, sum(e.cpu_s for e in self.found.answers)
        because = NOTHING if not self.sides[ALL].iops else None if cpu_s else UNCOUNTED
        yield Measured("fio.cpu_s", None if because else cpu_s / count, ALL, count, because)
        yield from self._paced() if self.rate else in_flight(self.pattern, self.found, self.workers)
        yield from size_errors(self.pattern, self.found, self.workers)
        yield from evenness(self.found, self.duration_s)
        yield Measured("fio.messages", float(len(self.found.messages)), ALL)

    def _paced(self) -> Iterator[Measured]:
        """The rate that was asked, what came of it, and how many requests began late."""
        assert self.rate is not None  # asked by the caller
        asked, maximum = self.rate.asked_per_s, self.rate.maximum_per_s
        yield Measured("fio.asked_iops", asked)
        yield Measured("fio.achieved_share", self.sides[ALL].iops / asked)
        missing = None if maximum else "its maximum was not measured"
        yield Measured(
            "fio.maximum_share", asked / maximum if maximum else None, ALL, None, missing
        )
        late = self.found.late_shares
        reasons = [each.in_line_because for each in self.found.streams if not each.is_open]
        because = next((each for each in reasons if each), None)
        known = max(late.values()) if late and not reasons else None
        yield Measured("fio.late_share", known, ALL, None, because)

    def buckets(self, window_id: str) -> Iterator[Row]:
        """Rows of the table `histograms`."""
        for of, side in self.sides.items():
            for bucket, (time_ns, count) in enumerate(side.latency.counts_by_ns.items()):
                time_s = time_ns / NS_PER_S
                yield {
                    "window_id": window_id, "kind": "latency", "transaction": of,
                    "bucket": bucket, "lowest_s": time_s, "highest_s": time_s, "count": count,
                }  # fmt: skip

    def seconds(self, window_id: str) -> Iterator[Row]:
        """Rows of the table `io_seconds`."""
        for stream, rows in self.found.seconds.items():
            for each in rows:
                known = each.completion
                yield {
                    "window_id": window_id,
                    "second": each.second,
                    "at_s": each.at_s,
                    "stream": stream,
                    "direction": each.direction,
                    "requests": each.count,
                    "moved_bytes": each.moved_bytes,
                    "latency_mean_s": each.latency_mean_s,
                    "completion_p99_s": known.quantile_s(0.99) if known and known.count else None,
                }

    def streams(self, window_id: str) -> Iterator[Row]:
        """Rows of the table `io_streams`."""
        for each in self.found.streams:
            yield {
                "window_id": window_id, "stream": each.name, "submission": each.submission,
                "engine": each.engine, "submitters": self.workers * each.submitters,
                "outstanding": self.workers * each.outstanding, "is_open": each.is_open,
            }  # fmt: skip

    def of_volumes(self, window_id: str) -> Iterator[Row]:
        """Rows of the table `io_volumes`, where several were used at once."""
        for volume, answers in zip(self.volumes, self.found.by_target, strict=False):
            for of, side in _sides(answers).items():
                latency = side.latency
                quantiles = {
                    f"{name.replace('.', '')}_s": latency.quantile_s(percent / 100)
                    for name, (percent, _) in PERCENTILES.items()
                }
                yield {
                    "window_id": window_id, "volume": volume, "operation": of,
                    "requests": latency.count, "iops": side.iops, "bytes_per_s": side.bytes_per_s,
                    "mean_s": latency.mean_s, **quantiles,
                }  # fmt: skip

    def said(self) -> str:
        """Requests a second, and the 99th percentile of their latency."""
        side = self.sides[ALL]
        p99_s = side.latency.quantile_s(0.99)
        shown = f"{side.iops:,.0f} IOPS"
        return shown if p99_s is None else f"{shown}, p99 {format_duration(p99_s)}"


def _sides(answers: Sequence[Answer]) -> dict[str, Side]:
    known = {of: side for of in OPERATIONS if (side := _side(answers, of)) is not None}
    moved = [known[of].bytes_per_s or 0.0 for of in DIRECTIONS if of in known]
    whole = merged(known[of].latency for of in DIRECTIONS if of in known)
    return {**known, ALL: Side(sum(each.iops for each in answers), sum(moved), whole)}


def _side(answers: Sequence[Answer], of: str) -> Side | None:
    if of == "flush":
        flushes = [each for each in answers if each.flush and each.flush.count]
        latency = merged(each.flush for each in flushes if each.flush)
        rate = sum(each.flush.count / each.duration_s for each in flushes if each.flush)
        return Side(rate, None, latency) if flushes else None
    sides = [each.side("read" if of == "read" else "write") for each in answers]
    known = [each for each in sides if each is not None and each.latency.count]
    if not known:
        return None
    return Side(
        sum(each.iops for each in known),
        sum(each.bytes_per_s for each in known),
        merged(each.latency for each in known),
    )
