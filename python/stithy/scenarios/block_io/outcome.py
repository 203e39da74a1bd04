"""What fio measured in a window, as values, as rows, and in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev

from stithy.errors import InvalidMeasurement
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.output import FioAnswer, Histogram, merge_histograms
from stithy.fio.profile import DIRECTIONS, Direction, Pattern, average_bytes
from stithy.fio.variants import is_past
from stithy.metrics import ALL, OPERATIONS, PERCENTILES
from stithy.plan.steps import WindowPlan
from stithy.results.tables import Row
from stithy.run.activity import WindowValue
from stithy.run.context import Context, read_value
from stithy.scenarios.block_io.plan import PROFILE, find_spec
from stithy.scenarios.block_io.values import MAXIMUM, RATE, convert_to_amount, find_share
from stithy.units import format_duration


@dataclass(frozen=True)
class RequestRate:
    """Requests a second that are asked for; `maximum_per_s` None: it is not known."""

    asked_per_s: float
    maximum_per_s: float | None


def find_rate(context: Context, window: WindowPlan) -> RequestRate | None:
    """What is asked of a window; None where it goes as fast as it can.

    Raises InvalidMeasurement for a share of a maximum that was not measured.
    """
    value = window.point.values.get(RATE, MAXIMUM)
    if value == MAXIMUM:
        spec = find_spec(context.file.study.at(window.point))
        name = str(window.point.values[PROFILE])
        asked = spec.find_replayed_per_s(name) or spec.find_mixed_rate(name)
        return None if asked is None else RequestRate(asked, None)
    at = window.point.replaced(RATE, MAXIMUM)
    maximum = read_value(context, window.candidate, at, "fio.iops")
    share = find_share(value)
    if share is None:
        return RequestRate(float(value), maximum)
    if not maximum:
        raise InvalidMeasurement(
            f"{value} of its maximum cannot be asked: the window that measures it gave none",
            where=f"window {window.id}",
            remedy="see why that window has no numbers, then run again",
        )
    return RequestRate(share * maximum, maximum)


def is_not_needed(context: Context, window: WindowPlan) -> str | None:
    """Why a window is left out: a lower rate was beyond the latency at which the study stops."""
    limit_s = find_spec(context.file.study.at(window.point)).stop_at_s
    asked = window.point.values.get(RATE, MAXIMUM)
    if limit_s is None or asked == MAXIMUM:
        return None
    for lower in find_spec(context.file.study).rates:
        if convert_to_amount(lower) < convert_to_amount(asked):
            at = window.point.replaced(RATE, lower)
            mean_s = read_value(context, window.candidate, at, "fio.mean_s")
            if is_past(mean_s, limit_s):
                return f"at {lower} the mean latency of {window.candidate} was beyond stop_at"
    return None


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
class FioOutcome:
    """Of a pattern: all that is asked of its window. `workers`: those of all volumes.

    `volumes` names them.
    """

    found: FioMeasured
    pattern: Pattern
    workers: int
    duration_s: float
    rate: RequestRate | None = None
    volumes: tuple[str, ...] = ()

    @cached_property
    def sides(self) -> Mapping[str, Side]:
        """By operation those that there were, and reads and writes together."""
        return _list_sides(self.found.answers)

    def values(self) -> Iterator[WindowValue]:
        """Of each operation, and of reads and writes together."""
        for of, side in self.sides.items():
            count = side.latency.count
            missing = None if count else NOTHING
            yield WindowValue("fio.iops", side.iops, of, count)
            if side.bytes_per_s is not None:
                yield WindowValue("fio.bytes_per_s", side.bytes_per_s, of, count)
            yield WindowValue("fio.mean_s", side.latency.mean_s, of, count, missing)
            for name, (percent, _) in PERCENTILES.items():
                yield WindowValue(
                    f"fio.{name}", side.latency.find_quantile_s(percent / 100), of, count, missing
                )
        count, cpu_s = self.sides[ALL].latency.count, sum(e.cpu_s for e in self.found.answers)
        because = NOTHING if not self.sides[ALL].iops else None if cpu_s else UNCOUNTED
        yield WindowValue("fio.cpu_s", None if because else cpu_s / count, ALL, count, because)
        yield from (
            self._list_paced()
            if self.rate
            else count_in_flight(self.pattern, self.found, self.workers)
        )
        yield from size_errors(self.pattern, self.found, self.workers)
        yield from measure_evenness(self.found, self.duration_s)
        yield WindowValue("fio.messages", float(len(self.found.messages)), ALL)

    def _list_paced(self) -> Iterator[WindowValue]:
        assert self.rate is not None  # asked by the caller
        asked, maximum = self.rate.asked_per_s, self.rate.maximum_per_s
        yield WindowValue("fio.asked_iops", asked)
        yield WindowValue("fio.achieved_share", self.sides[ALL].iops / asked)
        missing = None if maximum else "its maximum was not measured"
        yield WindowValue(
            "fio.maximum_share", asked / maximum if maximum else None, ALL, None, missing
        )
        late = self.found.late_shares
        reasons = [each.in_line_because for each in self.found.streams if not each.is_open]
        because = next((each for each in reasons if each), None)
        known = max(late.values()) if late and not reasons else None
        yield WindowValue("fio.late_share", known, ALL, None, because)

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
                    "completion_p99_s": known.find_quantile_s(0.99)
                    if known and known.count
                    else None,
                }

    def streams(self, window_id: str) -> Iterator[Row]:
        """Rows of the table `io_streams`."""
        for each in self.found.streams:
            yield {
                "window_id": window_id, "stream": each.name, "submission": each.submission,
                "engine": each.engine, "submitters": self.workers * each.submitters,
                "outstanding": self.workers * each.outstanding, "is_open": each.is_open,
            }  # fmt: skip

    def list_volume_rows(self, window_id: str) -> Iterator[Row]:
        """Rows of the table `io_volumes`, where several were used at once."""
        for volume, answers in zip(self.volumes, self.found.by_target, strict=False):
            for of, side in _list_sides(answers).items():
                latency = side.latency
                quantiles = {
                    f"{name.replace('.', '')}_s": latency.find_quantile_s(percent / 100)
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
        p99_s = side.latency.find_quantile_s(0.99)
        shown = f"{side.iops:,.0f} IOPS"
        return shown if p99_s is None else f"{shown}, p99 {format_duration(p99_s)}"


def _list_sides(answers: Sequence[FioAnswer]) -> dict[str, Side]:
    known = {of: side for of in OPERATIONS if (side := _make_side(answers, of)) is not None}
    moved = [known[of].bytes_per_s or 0.0 for of in DIRECTIONS if of in known]
    whole = merge_histograms(known[of].latency for of in DIRECTIONS if of in known)
    return {**known, ALL: Side(sum(each.iops for each in answers), sum(moved), whole)}


def _make_side(answers: Sequence[FioAnswer], of: str) -> Side | None:
    if of == "flush":
        flushes = [each for each in answers if each.flush and each.flush.count]
        latency = merge_histograms(each.flush for each in flushes if each.flush)
        rate = sum(each.flush.count / each.duration_s for each in flushes if each.flush)
        return Side(rate, None, latency) if flushes else None
    sides = [each.get_side("read" if of == "read" else "write") for each in answers]
    known = [each for each in sides if each is not None and each.latency.count]
    if not known:
        return None
    return Side(
        sum(each.iops for each in known),
        sum(each.bytes_per_s for each in known),
        merge_histograms(each.latency for each in known),
    )


CHANCE = 3.0
"""Standard deviations by which the mean of random sizes may differ from that of the profile."""


def count_in_flight(pattern: Pattern, found: FioMeasured, workers: int) -> Iterator[WindowValue]:
    """Requests outstanding by Little's law, beside those that a closed loop keeps.

    Nothing of patterns that pause or hold back, and of traces, which flush: those have no such
    number.
    Source: Little (1961), L = λW.
    """
    held_back = len(pattern.streams) > 1 and pattern.is_weighted
    if held_back or pattern.trace or any(each.is_paced for each in pattern.streams):
        return
    mean = sum(map(_count_waiting, found.answers))
    count = sum(each.count for each in found.answers)
    yield WindowValue("fio.in_flight", mean, ALL, count)
    outstanding = workers * sum(each.outstanding for each in found.streams)
    yield WindowValue("fio.outstanding", float(outstanding), ALL)


def _count_waiting(answer: FioAnswer) -> float:
    flushed_s = answer.flush.sum_s if answer.flush else 0.0
    return (answer.latency.sum_s + flushed_s) / answer.duration_s


def size_errors(pattern: Pattern, found: FioMeasured, workers: int) -> Iterator[WindowValue]:
    """By how much bandwidth differs from IOPS x the profile's mean size, beyond chance.

    Each fio may count the bytes of a request that was under way when the measurement began, and not
    its answer.
    """
    for way in DIRECTIONS:
        errors = list(_list_errors(pattern, found, way, workers))
        if errors:
            yield WindowValue("fio.size_error_share", max(errors), way)


def _list_errors(
    pattern: Pattern, found: FioMeasured, way: Direction, workers: int
) -> Iterator[float]:
    streams = {each.name: each for each in pattern.streams}
    for rendered, answer in zip(found.streams, found.answers, strict=True):
        side, asked = answer.get_side(way), rendered.mean_bytes.get(way)
        if side is None or asked is None:
            continue
        measured = side.moved_bytes / side.latency.count
        count = side.latency.count
        sizes = streams[rendered.name].get_sizes(way)
        mean = average_bytes(sizes)
        variance = sum(share * (size - mean) ** 2 for size, share in sizes.items())
        spread = math.sqrt(variance) / mean
        chance = CHANCE * spread / math.sqrt(count) + workers / count
        yield max(0.0, abs(measured / asked - 1) - chance)


def measure_evenness(found: FioMeasured, duration_s: float) -> Iterator[WindowValue]:
    """How even the seconds were, the worst of them, and those in which nothing was answered."""
    counts = divide_by_seconds(found, duration_s)
    numbers = list(counts.values())
    if len(numbers) < 2 or not sum(numbers):
        because = "the window has fewer than two whole seconds"
        for name in ("fio.variation", "fio.worst_iops"):
            yield WindowValue(name, None, ALL, len(numbers), because)
        return
    yield WindowValue("fio.variation", stdev(numbers) / fmean(numbers), ALL, len(numbers))
    yield WindowValue("fio.worst_iops", float(min(numbers)), ALL, len(numbers))
    yield WindowValue("fio.idle_s", float(numbers.count(0)), ALL, len(numbers))


def divide_by_seconds(found: FioMeasured, duration_s: float) -> Mapping[int, int]:
    """Reads and writes answered in each whole second; one without a row had none."""
    counts: dict[int, int] = {}
    for rows in found.seconds.values():
        for each in rows:
            counts[each.second] = counts.get(each.second, 0) + each.count
    return {second: counts.get(second, 0) for second in range(int(duration_s))} if counts else {}
