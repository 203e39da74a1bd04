"""What fio answered: its json+ document, checked, and merged over several workers.

fio writes errors around its document, on the standard output too, so it is sought in all that was
said. What is missing in it is an error, never a zero. Latencies are whole histograms in fio's own
bins, which are the same in every fio; their error is at most 0.8 %. They are merged by adding
counts; percentiles are never averaged.
"""

import errno
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stithy.errors import REMEDIES, InfrastructureError, InvalidMeasurement, StithyError
from stithy.fio.profile import DIRECTIONS, Direction
from stithy.units import FrozenModel

NS_PER_S = 1e9
NS_BEYOND_FIO = 17_000_000_000
"""fio's last bin holds everything from here on. Source: stat.h of fio 3.33, 29 groups of 64."""

_BITS = 6
"""A group of bins keeps so many bits behind the leading one. Source: stat.h of fio 3.33."""


class Histogram(FrozenModel):
    """How often which latency was met; `counts_by_ns` rises by its keys, `sum_s` is of all."""

    counts_by_ns: dict[int, int]
    sum_s: float

    @property
    def count(self) -> int:
        return sum(self.counts_by_ns.values())

    @property
    def mean_s(self) -> float | None:
        """Mean of the exact values, not of the bins; None where it is empty."""
        return self.sum_s / self.count if self.counts_by_ns else None

    @property
    def beyond(self) -> int:
        """How many took longer than fio can tell; they count as 17 s, but not in the mean."""
        return sum(count for time_ns, count in self.counts_by_ns.items() if time_ns > NS_BEYOND_FIO)

    def find_quantile_s(self, share: float) -> float | None:
        """The least latency that at least this share do not exceed; None where it is empty.

        The nearest rank, over the middles of the bins.
        """
        wanted, seen = share * self.count, 0
        for time_ns, count in self.counts_by_ns.items():
            seen += count
            if seen >= wanted:
                return time_ns / NS_PER_S
        return None


def merge_histograms(histograms: Iterable[Histogram]) -> Histogram:
    """All of them as one."""
    counts: Counter[int] = Counter()
    sum_s = 0.0
    for histogram in histograms:
        sum_s += histogram.sum_s
        counts.update(histogram.counts_by_ns)
    return Histogram(counts_by_ns=dict(sorted(counts.items())), sum_s=sum_s)


def subtract_histogram(whole: Histogram, part: Histogram) -> Histogram | None:
    """What a part leaves of a whole; None where it is no part of it."""
    known = whole.counts_by_ns
    counts = {key: count - part.counts_by_ns.get(key, 0) for key, count in known.items()}
    if min(counts.values(), default=0) < 0 or not part.counts_by_ns.keys() <= known.keys():
        return None
    kept = {key: count for key, count in counts.items() if count}
    return Histogram(counts_by_ns=kept, sum_s=max(0.0, whole.sum_s - part.sum_s))


def find_bin_middle_ns(number: int) -> int:
    """The latency in the middle of fio's bin of this number, from 0.

    Source: `plat_idx_to_val` in stat.c of fio 3.33.
    """
    group = 1 << _BITS
    if number < 2 * group:
        return number
    shift = (number >> _BITS) - 1
    base = 1 << (shift + _BITS)
    return base + (number % group << shift) + (1 << shift) // 2


def find_bin_ns(time_ns: int) -> int:
    """The middle of fio's bin of a latency: seven leading bits are kept."""
    shift = max(0, time_ns.bit_length() - _BITS - 1)
    return (time_ns >> shift << shift) + (1 << shift) // 2


MS_PER_S = 1000.0
KIB = 1024.0
SHORT_SHARE = 0.9
"""A run of less than this share of its time is no measurement."""

EXPECTED_LEAST = 20.0
"""A direction of which fewer requests are expected may well have none."""

GONE = {
    errno.ENOENT: "it is no longer there",
    errno.ENXIO: "the device is gone",
    errno.ENODEV: "the device is gone",
    errno.ENOTCONN: "its file system is gone",
    errno.ESHUTDOWN: "its file system is gone",
    errno.ESTALE: "it is no longer there",
}
"""Errors with which a target vanishes."""

DIGITS = re.compile(r"\d+")

APART = "; "
"""Between two messages on one line."""

MESSAGE = "fio: "
"""How fio begins what it says of errors."""

NOT_MADE = "file creation disallowed"
"""What fio says, without an error, of a file that is not there and must not be made."""


class ServedRequests(FrozenModel):
    """Requests of one kind. `*_max`: the best half second that was seen."""

    latency: Histogram
    moved_bytes: int
    duration_s: float
    iops_max: float
    bytes_per_s_max: float

    @property
    def iops(self) -> float:
        return self.latency.count / self.duration_s

    @property
    def bytes_per_s(self) -> float:
        return self.moved_bytes / self.duration_s


@dataclass(frozen=True)
class FioAnswer:
    """What one stream did; None for what it did not do. `cpu_s` is fio's own use of processors."""

    stream: str
    read: ServedRequests | None
    write: ServedRequests | None
    flush: Histogram | None
    cpu_s: float
    duration_s: float

    def get_side(self, direction: Direction) -> ServedRequests | None:
        """What it did in a direction."""
        return self.read if direction == "read" else self.write

    @property
    def count(self) -> int:
        """Reads and writes."""
        return sum(each.latency.count for each in (self.read, self.write) if each)

    @property
    def iops(self) -> float:
        """Reads and writes a second."""
        return self.count / self.duration_s

    @property
    def latency(self) -> Histogram:
        """Of reads and writes together."""
        return merge_histograms(each.latency for each in (self.read, self.write) if each)


@dataclass(frozen=True)
class Submitted:
    """What one submitter did in one direction.

    `latency_s` is the sum of all, `completion` has times from submission to completion.
    """

    moved_bytes: int
    latency_s: float
    completion: Histogram


@dataclass(frozen=True)
class Expected:
    """What a stream must have done: its directions with their shares, for how long."""

    stream: str
    shares: Mapping[Direction, float]
    duration_s: float
    flushes: bool = False


def parse(text: str, expected: Sequence[Expected], where: str) -> tuple[FioAnswer, ...]:
    """What each stream did, in the order asked for; `where` names the target in messages.

    Raises InfrastructureError where fio failed, ended early, or left out what was asked for.
    """
    document, around = parse_document(text, where)
    jobs = check_jobs(document, around, where)
    return tuple(
        _answer([job for job in jobs if _is_of(job, each.stream)], each, where, around)
        for each in expected
    )


def parse_submitted(text: str, stream: str, where: str) -> list[dict[Direction, Submitted]]:
    """What each submitter of a stream did, in the order of their numbers; the text was parsed."""
    jobs = [each for each in parse_document(text, where)[0]["jobs"] if _is_of(each, stream)]
    return [
        {
            way: Submitted(job[way]["io_bytes"], _sum_s(job[way]["lat_ns"]), known)
            for way in DIRECTIONS
            if (known := parse_histogram(job[way]["clat_ns"])) is not None
        }
        for job in jobs
    ]


def _sum_s(latency: Mapping[str, Any]) -> float:
    return float(latency["mean"] * latency["N"] / NS_PER_S)


def _is_of(job: Mapping[str, Any], stream: str) -> bool:
    """A stream has one job, or one a direction."""
    return str(job["jobname"]).partition(".")[0] == stream


def parse_document(text: str, where: str) -> tuple[Mapping[str, Any], str]:
    """The JSON document in what fio said, and what it said around it or on lines within it."""
    # No line of the document begins like fio's messages.
    lines = text.splitlines()
    within = "\n".join(line for line in lines if line.startswith(MESSAGE))
    written = "\n".join(line for line in lines if not line.startswith(MESSAGE))
    begin = 0 if written.startswith("{\n") else written.find("\n{\n") + 1
    try:
        document, end = json.JSONDecoder().raw_decode(written, begin)
        around = _list_lines(f"{within}\n{written[:begin]}\n{written[end:]}")
        if document["jobs"]:
            return document, around
    except (ValueError, KeyError, TypeError) as error:
        raise make_failure(f"fio wrote no result: {text.strip()[:300]!r}", where) from error
    raise make_failure(f"fio measured nothing: {around}", where)


def parse_messages(text: str, where: str) -> tuple[str, ...]:
    """What fio said besides its document, each message once."""
    around = parse_document(text, where)[1]
    return tuple(around.split(APART)) if around else ()


def _list_lines(text: str) -> str:
    """On one line, what fio may have said of many requests: the first of each kind, and how many.

    Those that differ in numbers alone, such as offsets and processes, are of one kind.
    """
    kinds: dict[str, list[str]] = {}
    for line in dict.fromkeys(text.splitlines()):
        if said := line.strip():
            kinds.setdefault(DIGITS.sub("#", said), []).append(said)
    counted = (f" (and {len(alike) - 1} alike)" if alike[1:] else "" for alike in kinds.values())
    firsts = (alike[0] for alike in kinds.values())
    return APART.join(f"{said}{more}" for said, more in zip(firsts, counted, strict=True))


def check_jobs(document: Mapping[str, Any], around: str, where: str) -> Sequence[Mapping[str, Any]]:
    """The jobs of a document.

    Raises InfrastructureError where any of them failed, InvalidMeasurement for a damaged block.
    """
    jobs: Sequence[Mapping[str, Any]] = document["jobs"]
    if NOT_MADE in around:
        raise make_kernel_error(errno.ENOENT, around, where)
    for number in (*(job["error"] for job in jobs), document.get("global error", 0)):
        if number:
            raise make_kernel_error(number, around or str(number), where)
    return jobs


def make_kernel_error(number: int, around: str, where: str) -> StithyError:
    """The error for what the kernel answered to fio."""
    if number == errno.EILSEQ:  # a checksum of fio's own
        problem = f"a block is not what was written there: {around}"
        remedy = "trust this storage with nothing, until you know why"
        return InvalidMeasurement(problem, where=where, remedy=remedy)
    if number in GONE:
        remedy = "look for the device in the kernel log (dmesg); bring it back, then run again"
        return InfrastructureError(f"{GONE[number]} (fio: {around})", where=where, remedy=remedy)
    if number in REMEDIES:
        remedy = f"{REMEDIES[number]}, then run again"
        return InfrastructureError(f"fio failed: {around}", where=where, remedy=remedy)
    return make_failure(f"fio failed: {around}", where)


def make_failure(problem: str, where: str) -> InfrastructureError:
    """An error for which nothing better is known."""
    remedy = "check the kernel log for errors of the device, then measure again"
    return InfrastructureError(problem, where=where, remedy=remedy)


def parse_served(
    counters: Mapping[str, Any], latency: Mapping[str, Any], runtime_s: float
) -> ServedRequests | None:
    """One direction; None where it had no requests."""
    histogram = parse_histogram(latency)
    if histogram is None or runtime_s <= 0:
        return None
    moved_bytes = counters.get("io_bytes", 0)
    return ServedRequests(
        latency=histogram,
        moved_bytes=moved_bytes,
        duration_s=runtime_s,
        # Half seconds that are not over are not reported; short runs have none at all.
        iops_max=max(counters.get("iops_max", 0), histogram.count / runtime_s),
        bytes_per_s_max=max(counters.get("bw_max", 0) * KIB, moved_bytes / runtime_s),
    )


def parse_histogram(latency: Mapping[str, Any]) -> Histogram | None:
    """fio's histogram of latencies; None where it is empty."""
    bins = {int(time_ns): count for time_ns, count in latency.get("bins", {}).items() if count}
    if not bins:
        return None
    sum_s = latency["mean"] / NS_PER_S * sum(bins.values())
    return Histogram(counts_by_ns=dict(sorted(bins.items())), sum_s=sum_s)


def _answer(
    jobs: Sequence[Mapping[str, Any]], expected: Expected, where: str, around: str
) -> FioAnswer:
    if not jobs:
        raise make_failure(f"fio gave no result of the stream {expected.stream}: {around}", where)
    runtime_s = max(job[each]["runtime"] for job in jobs for each in DIRECTIONS) / MS_PER_S
    if runtime_s < SHORT_SHARE * expected.duration_s:
        raise make_failure(
            f"fio ran the stream {expected.stream} for {runtime_s:g} s of "
            f"{expected.duration_s:g} s{f': {around}' if around else ''}",
            where,
        )
    sides = {
        way: _add(
            (parse_served(job[way], job[way]["lat_ns"], runtime_s) for job in jobs), runtime_s
        )
        for way in DIRECTIONS
    }
    flushes = [found for job in jobs if (found := parse_histogram(job["sync"]["lat_ns"]))]
    answer = FioAnswer(
        stream=expected.stream,
        read=sides["read"],
        write=sides["write"],
        flush=merge_histograms(flushes) if flushes and expected.flushes else None,
        cpu_s=sum(_read_cpu_s(job) for job in jobs),
        duration_s=runtime_s,
    )
    _need_all(answer, expected, where)
    return answer


def parse_cpu_s(text: str, stream: str, where: str) -> float:
    """Processor time of a stream from the begin to the end of its fio; the text was parsed."""
    jobs = parse_document(text, where)[0]["jobs"]
    return sum(_read_cpu_s(job) for job in jobs if _is_of(job, stream))


def _read_cpu_s(job: Mapping[str, Any]) -> float:
    """fio divides by the run times of all submitters, and gives their sum beside it."""
    share = (job.get("usr_cpu", 0.0) + job.get("sys_cpu", 0.0)) / 100
    return float(share * job.get("job_runtime", 0) / MS_PER_S)


def _need_all(answer: FioAnswer, expected: Expected, where: str) -> None:
    missing: list[str] = [
        way
        for way in DIRECTIONS
        if answer.get_side(way) is None
        and answer.count * expected.shares.get(way, 0.0) >= EXPECTED_LEAST
    ]
    if answer.count == 0:
        missing = [*expected.shares]
    if expected.flushes and answer.flush is None:
        missing.append("flush")
    if missing:
        kinds = " and ".join(missing)
        raise make_failure(
            f"fio gave no histogram of {kinds} for the stream {expected.stream}", where
        )


def merge_workers(workers: Sequence[Sequence[FioAnswer]]) -> tuple[FioAnswer, ...]:
    """Several workers at the same time as one: counts, bytes and times of processors add up.

    Shapes: each worker has the same streams in the same order.
    """
    return tuple(_join(each) for each in zip(*workers, strict=True))


def _join(parts: Sequence[FioAnswer]) -> FioAnswer:
    duration_s = max(each.duration_s for each in parts)
    flushes = [part.flush for part in parts if part.flush]
    return FioAnswer(
        stream=parts[0].stream,
        read=_add((each.read for each in parts), duration_s),
        write=_add((each.write for each in parts), duration_s),
        flush=merge_histograms(flushes) if flushes else None,
        cpu_s=sum(each.cpu_s for each in parts),
        duration_s=duration_s,
    )


def _add(parts: Iterable[ServedRequests | None], duration_s: float) -> ServedRequests | None:
    """At the same time; the best half seconds need not have been the same, so those are bounds."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return ServedRequests(
        latency=merge_histograms(each.latency for each in found),
        moved_bytes=sum(each.moved_bytes for each in found),
        duration_s=duration_s,
        iops_max=sum(each.iops_max for each in found),
        bytes_per_s_max=sum(each.bytes_per_s_max for each in found),
    )
