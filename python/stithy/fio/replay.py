"""A trace as a pattern: its own requests in their places and order, at their own times or faster.

At its own times a trace is an open loop: many submitters of one request each take its requests in
turn, so that a slow answer holds up only the submitter that waits for it. fio's own delays are not
used: of an asynchronous engine fio 3.33 counts answers late, and newer ones never sleep
(`iolog_delay` in iolog.c). A `wait` in a log of version 2 lasts until so many milliseconds after
fio's start, in any version. Without times one submitter keeps as many requests outstanding as the
trace had, which a trace without latencies does not say.

A trace that is shorter than a measurement begins again at its end.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path

from stithy.errors import UserError, give_reason
from stithy.fio.engines import SYNC_ENGINE
from stithy.fio.foreign.lines import plain_name
from stithy.fio.learned import REQUESTS_LEAST, Request, has_latencies, outstanding
from stithy.fio.load import ALIGNED_BYTES, Load, Target
from stithy.fio.profile import Pattern, Profile, Stream
from stithy.fio.streamjob import OPEN_RAMP_S, RenderedStream, Words, engine_for, ms
from stithy.fio.traces import read_requests

STREAM = "trace"
LEAD_MS = 2000
"""Own: all submitters have read their logs when the first request is due."""

REQUESTS_MOST = 3_000_000
"""Own: each is a line of a log that fio holds in memory."""

ACTIONS = {"read": "read", "write": "write", "flush": "datasync"}


@dataclass(frozen=True)
class Trace:
    """The requests of a file by their arrival, the first at 0; they begin at place 0.

    `outstanding`: while any was, in the mean; None where the trace has no latencies.
    """

    requests: tuple[Request, ...]
    duration_s: float
    span_bytes: int
    outstanding: int | None

    @property
    def direction(self) -> str:
        """fio's word for it: one that only reads must not ask for the right to write."""
        is_written = any(request.operation == "write" for request in self.requests)
        return "randrw" if is_written else "randread"

    def during(self, length_s: float) -> Iterator[Request]:
        """Requests of so long, the trace again and again."""
        for turn in count():
            for each in self.requests:
                at_s = turn * self.duration_s + each.arrived_s
                if at_s >= length_s:
                    return
                yield each._replace(arrived_s=at_s)

    def per_s(self, ramp_s: float, duration_s: float) -> float:
        """Reads and writes a second that are due in a measurement after its ramp."""
        from_s = max(ramp_s, OPEN_RAMP_S)
        known = (each for each in self.during(from_s + duration_s) if each.operation != "flush")
        return sum(each.arrived_s >= from_s for each in known) / duration_s


def trace_of(pattern: Pattern) -> Trace:
    """The trace of a pattern that has one. Raises UserError."""
    assert pattern.trace is not None  # asked by the caller
    path = Path(pattern.trace)
    try:
        status = path.stat()
        return _read(path, pattern.device, status.st_mtime_ns, status.st_size)
    except OSError as error:
        problem = f"the trace cannot be read: {give_reason(error)}"
        remedy = "name a file that exists and is readable"
        raise UserError(problem, where=str(path), remedy=remedy) from error


@lru_cache(maxsize=4)
def _read(path: Path, device: str, _changed_ns: int, _size_bytes: int) -> Trace:
    """The file is read once, as long as it is the same."""
    ordered = sorted(read_requests(path, device))
    moved = [each for each in ordered if each.operation != "flush"]
    if not REQUESTS_LEAST <= len(moved) <= REQUESTS_MOST:
        remedy = f"give a trace of {REQUESTS_LEAST} to {REQUESTS_MOST:,}"
        raise UserError(f"it has {len(moved):,} reads and writes", where=str(path), remedy=remedy)
    first = min(each.offset_bytes for each in moved) // ALIGNED_BYTES * ALIGNED_BYTES
    begin_s, length_s = ordered[0].arrived_s, ordered[-1].arrived_s - ordered[0].arrived_s
    shifted = tuple(
        each._replace(
            arrived_s=each.arrived_s - begin_s, offset_bytes=max(0, each.offset_bytes - first)
        )
        for each in ordered
    )
    span = max(each.offset_bytes + each.length_bytes for each in shifted)
    gap_s = max(1e-6, length_s / len(ordered))
    return Trace(
        shifted, length_s + gap_s, span, outstanding(moved) if has_latencies(moved) else None
    )


def hastened(pattern: Pattern) -> Pattern:
    """A trace as fast as it goes: one submitter with as many outstanding as the trace had.

    Raises UserError where it does not say.
    """
    if (depth := trace_of(pattern).outstanding) is None:
        problem = "a trace without latencies does not say how many requests were outstanding"
        remedy = "replay it at its own times: leave out `replay`"
        raise UserError(problem, where=str(pattern.trace), remedy=remedy)
    changed = {"jobs": 1, "iodepth": depth, "submission": "async"}
    stream = pattern.streams[0].model_copy(update=changed)
    return pattern.model_copy(update={"streams": (stream,)})


def profile(path: Path, device: str = "") -> Profile:
    """A trace as a profile, whose stream says what it is like. Raises UserError."""
    pattern = Pattern(name="replay", streams=(_ANY,), trace=str(path), device=device)
    trace = trace_of(pattern)
    sizes: dict[str, Counter[int]] = {"read": Counter(), "write": Counter()}
    for request in trace.requests:
        if request.operation in sizes:
            sizes[request.operation][request.length_bytes] += 1
    share = sizes["read"].total() / (sizes["read"].total() + sizes["write"].total())
    stream = Stream(
        name=STREAM, read_share=share, random_share=1.0, jobs=trace.outstanding or 1, iodepth=1,
        submission="sync",
        read_sizes=_compute_shares(sizes["read"]), write_sizes=_compute_shares(sizes["write"]),
    )  # fmt: skip
    title = f"Trace {path.name}{device and f' of {device}'}, replayed"
    made = pattern.model_copy(update={"streams": (stream,)})
    name = plain_name(f"{path.stem}-{device.rpartition('/')[2]}")
    return Profile(name=name, title=title, patterns=(made,))


_ANY = Stream(name=STREAM, read_share=1.0, random_share=1.0, read_sizes={4096: 1.0}, jobs=1,
              iodepth=1, submission="sync")  # fmt: skip


def _compute_shares(counts: Mapping[int, int]) -> dict[int, float]:
    total = sum(counts.values())
    return {size: each / total for size, each in counts.items()}


@dataclass(frozen=True)
class Replayed:
    """A replay as fio does it: its sections, and its logs by their names."""

    stream: RenderedStream
    sections: Mapping[str, Words]
    logs: Mapping[str, str]


def replayed(pattern: Pattern, target: Target, load: Load) -> Replayed:
    """One worker's replay of a pattern that has a trace. Raises UserError where it does not fit."""
    trace = trace_of(pattern)
    if trace.span_bytes > target.size_bytes:
        raise UserError(
            f"the trace touches {trace.span_bytes:,} bytes, and the target has "
            f"{target.size_bytes:,}",
            where=target.shown,
            remedy="give a larger `size`, or fewer `workers`",
        )
    if load.replay == "times":
        return _replay_timed(trace, target, load)
    return _replay_fast(trace, hastened(pattern).streams[0], target, load)


def _replay_timed(trace: Trace, target: Target, load: Load) -> Replayed:
    ramp_s = max(load.ramp_s, OPEN_RAMP_S)
    requests = list(trace.during(ramp_s + load.duration_s + OPEN_RAMP_S))
    many = min(load.submitters, len(requests))
    names = [f"{STREAM}.{number}" for number in range(many)]
    words: Words = {"ioengine": SYNC_ENGINE, "rw": trace.direction, "write_lat_log": STREAM}
    sections = {name: words | {"read_iolog": f"{name}.iolog", "group_reporting": 1}
                for name in names}  # fmt: skip
    logs = {
        f"{name}.iolog": _log(requests[number::many], target, timed=True)
        for number, name in enumerate(names)
    }
    stream = RenderedStream(STREAM, SYNC_ENGINE, many, many, is_open=True, each_logged=True)
    return Replayed(stream, sections, logs)


def _replay_fast(trace: Trace, asked: Stream, target: Target, load: Load) -> Replayed:
    turns = max(1, REQUESTS_MOST // 3 // len(trace.requests))
    requests = trace.requests * turns
    engine, depth = engine_for(asked, load.engine), asked.iodepth
    words: Words = {
        "ioengine": engine, "iodepth": depth, "rw": trace.direction,
        "read_iolog": f"{STREAM}.iolog", "ramp_time": ms(load.ramp_s),
        "runtime": ms(load.duration_s),
        "log_avg_msec": 1000, "log_hist_msec": 1000, "write_lat_log": STREAM,
        "write_hist_log": STREAM,
    }  # fmt: skip
    stream = RenderedStream(STREAM, engine, 1, depth, is_open=False)
    logs = {f"{STREAM}.iolog": _log(requests, target, timed=False)}
    return Replayed(stream, {STREAM: words}, logs)


def _log(requests: Sequence[Request], target: Target, *, timed: bool) -> str:
    """A log of version 2. The name in it stands for the target, which the job file names."""
    lines = ["fio version 2 iolog", "target add", "target open"]
    for each in requests:
        if timed:
            lines.append(f"target wait {LEAD_MS + round(each.arrived_s * 1000)} 0")
        place = target.begin_bytes + each.offset_bytes
        lines.append(f"target {ACTIONS[each.operation]} {place} {each.length_bytes}")
    return "\n".join([*lines, "target close", ""])
