"""Job files of fio: of a pattern or a trace, of what fills a target or reads it back, of a purge.

At its own times a trace is an open loop: many submitters of one request each take its requests in
turn, so that a slow answer holds up only the submitter that waits for it. fio's own delays are not
used: of an asynchronous engine fio 3.33 counts answers late, and newer ones never sleep
(`iolog_delay` in iolog.c). A `wait` in a log of version 2 lasts until so many milliseconds after
fio's start, in any version. Without times one submitter keeps as many requests outstanding as the
trace had, which a trace without latencies does not say. A trace that is shorter than a measurement
begins again at its end.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path

from stithy.errors import UserError, give_reason
from stithy.fio.foreign.lines import make_profile_name
from stithy.fio.learned import REQUESTS_LEAST, Request, estimate_outstanding, has_latencies
from stithy.fio.load import ALIGNED_BYTES, PLAIN, FioLoad, FioTarget, WrittenData
from stithy.fio.profile import KIB, MIB, SYNC_ENGINE, IoProfile, Pattern, Stream
from stithy.fio.streamjob import (
    OPEN_RAMP_S,
    RenderedStream,
    Words,
    check_words,
    choose_engine,
    format_ms,
    make_sections,
)

STREAM = "trace"
LEAD_MS = 2000
"""Own: all submitters have read their logs when the first request is due."""

REQUESTS_MOST = 3_000_000
"""Own: each is a line of a log that fio holds in memory."""

ACTIONS = {"read": "read", "write": "write", "flush": "datasync"}


@dataclass(frozen=True)
class ReplayedTrace:
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

    def repeat_for(self, length_s: float) -> Iterator[Request]:
        """Requests of so long, the trace again and again."""
        for turn in count():
            for request in self.requests:
                at_s = turn * self.duration_s + request.arrived_s
                if at_s >= length_s:
                    return
                yield request._replace(arrived_s=at_s)

    def count_per_s(self, ramp_s: float, duration_s: float) -> float:
        """Reads and writes a second that are due in a measurement after its ramp."""
        from_s = max(ramp_s, OPEN_RAMP_S)
        known = (each for each in self.repeat_for(from_s + duration_s) if each.operation != "flush")
        return sum(each.arrived_s >= from_s for each in known) / duration_s


def trace_of(pattern: Pattern) -> ReplayedTrace:
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
def _read(path: Path, device: str, _changed_ns: int, _size_bytes: int) -> ReplayedTrace:
    """The file is read once, as long as it is the same."""
    from stithy.fio.traces import read_requests

    ordered = sorted(read_requests(path, device))
    moved = [request for request in ordered if request.operation != "flush"]
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
    return ReplayedTrace(
        shifted,
        length_s + gap_s,
        span,
        estimate_outstanding(moved) if has_latencies(moved) else None,
    )


def hasten(pattern: Pattern) -> Pattern:
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


def make_profile(path: Path, device: str = "") -> IoProfile:
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
    name = make_profile_name(f"{path.stem}-{device.rpartition('/')[2]}")
    return IoProfile(name=name, title=title, patterns=(made,))


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


def replay(pattern: Pattern, target: FioTarget, load: FioLoad) -> Replayed:
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
    return _replay_fast(trace, hasten(pattern).streams[0], target, load)


def _replay_timed(trace: ReplayedTrace, target: FioTarget, load: FioLoad) -> Replayed:
    ramp_s = max(load.ramp_s, OPEN_RAMP_S)
    requests = list(trace.repeat_for(ramp_s + load.duration_s + OPEN_RAMP_S))
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


def _replay_fast(trace: ReplayedTrace, asked: Stream, target: FioTarget, load: FioLoad) -> Replayed:
    turns = max(1, REQUESTS_MOST // 3 // len(trace.requests))
    requests = trace.requests * turns
    engine, depth = choose_engine(asked, load.engine), asked.iodepth
    words: Words = {
        "ioengine": engine, "iodepth": depth, "rw": trace.direction,
        "read_iolog": f"{STREAM}.iolog", "ramp_time": format_ms(load.ramp_s),
        "runtime": format_ms(load.duration_s),
        "log_avg_msec": 1000, "log_hist_msec": 1000, "write_lat_log": STREAM,
        "write_hist_log": STREAM,
    }  # fmt: skip
    stream = RenderedStream(STREAM, engine, 1, depth, is_open=False)
    logs = {f"{STREAM}.iolog": _log(requests, target, timed=False)}
    return Replayed(stream, {STREAM: words}, logs)


def _log(requests: Sequence[Request], target: FioTarget, *, timed: bool) -> str:
    """A log of version 2. The name in it stands for the target, which the job file names."""
    lines = ["fio version 2 iolog", "target add", "target open"]
    for request in requests:
        if timed:
            lines.append(f"target wait {LEAD_MS + round(request.arrived_s * 1000)} 0")
        place = target.begin_bytes + request.offset_bytes
        lines.append(f"target {ACTIONS[request.operation]} {place} {request.length_bytes}")
    return "\n".join([*lines, "target close", ""])


DUPLICATES_FROM_PERCENT = 5
"""Assumed: the share of the place from which duplicates are taken."""

FILL_BYTES = MIB
DUPLICATES_BYTES = 128 * KIB
"""Whole requests are duplicates: of fewer and larger ones the share would be more chance."""

FILL_DEPTH = 8
TRIAL_BYTES = 64 * KIB
PURGE_BYTES = 64 * MIB


@dataclass(frozen=True)
class JobFile:
    """A job file, what it will do, and the logs that it replays, by their names."""

    text: str
    streams: tuple[RenderedStream, ...]
    logs: Mapping[str, str] = field(default_factory=dict)


def make_job_file(pattern: Pattern, target: FioTarget, load: FioLoad) -> JobFile:
    """One worker's job file. Raises UserError for what cannot be run there or in that way."""
    if pattern.trace is not None:
        found = replay(pattern, target, load)
        common = _write_common(pattern, target, load)
        # What is replayed ends with its log, or its time.
        del common["time_based"]
        common["replay_redirect"] = target.link or target.path
        return JobFile(write_job_text(common, found.sections), (found.stream,), found.logs)
    if (rate_per_s := load.rate_per_s) is not None:
        is_possible = 0 < rate_per_s < math.inf
        if why := explain_no_rate(pattern) or (None if is_possible else "it cannot be kept"):
            problem = f"a rate of {rate_per_s:g}/s cannot be asked: {why}"
            remedy = "run it without a rate, or give each stream a weight in a profile of your own"
            raise UserError(problem, where=f"pattern {pattern.name}", remedy=remedy)
    rendered = [make_sections(pattern, each, target, load) for each in pattern.streams]
    made = {name: words for _, each in rendered for name, words in each.items()}
    text = write_job_text(_write_common(pattern, target, load), made)
    return JobFile(text, tuple(stream for stream, _ in rendered))


def fill_file(
    target: FioTarget,
    *,
    seed: int,
    engine: str,
    data: WrittenData = PLAIN,
    verify: bool = False,
    block_bytes: int = FILL_BYTES,
) -> str:
    """Writes all of a target once, from its beginning to its end.

    Duplicates are those of a part of the place, so they do not lie beside each other.
    """
    words = list_base_words(target, seed) | {
        "ioengine": engine,
        "rw": "write",
        "iodepth": FILL_DEPTH,
    }
    words |= list_data_words(data) | {"end_fsync": 1}
    if data.duplicate_share:
        from_percent = min(DUPLICATES_FROM_PERCENT, 100 - round(100 * data.duplicate_share))
        words |= {"dedupe_mode": "working_set", "dedupe_working_set_percentage": from_percent}
        block_bytes = min(block_bytes, DUPLICATES_BYTES)
    words |= check_words() if verify else {}
    return write_job_text(words, _write_all(target, "fill", block_bytes))


def read_back_file(target: FioTarget, *, engine: str) -> str:
    """Reads all of a target and compares each block with its checksum and its own address.

    That finds what was damaged or misplaced. An older block is whole, too: `generations` finds it.
    All of the target must have been written with checksums.
    """
    words = list_base_words(target, 1) | {"ioengine": engine, "rw": "read", "iodepth": FILL_DEPTH}
    words |= check_words() | {"do_verify": 1, "verify_fatal": 1}
    return write_job_text(words, _write_all(target, "read-back", FILL_BYTES))


def make_trial_file(targets: Sequence[FioTarget], *, engine: str) -> str:
    """Reads a little of each target, to see whether this engine can."""
    words = list_base_words(targets[0], 1) | {
        "ioengine": engine,
        "rw": "read",
        "iodepth": 1,
        "bs": 4096,
    }
    places: dict[str, Words] = {
        f"trial-{number}": {
            "filename": _make_file_name(each),
            "offset": each.begin_bytes,
            "size": min(TRIAL_BYTES, each.size_bytes),
        }
        for number, each in enumerate(targets)
    }
    return write_job_text(words, places)


def make_purge_file(target: FioTarget) -> str:
    """Discards all of a device, so that it takes no block for written."""
    words = list_base_words(target, 1) | {"ioengine": "psync", "rw": "trim", "iodepth": 1}
    return write_job_text(words, _write_all(target, "purge", PURGE_BYTES))


def _write_all(target: FioTarget, name: str, block_bytes: int) -> dict[str, Words]:
    """Sections that cover all of a target in sequence: fio leaves out a block that is not whole."""
    rest = target.size_bytes % block_bytes
    whole: Words = {"offset": target.begin_bytes, "size": target.size_bytes - rest}
    sections = {name: whole | {"bs": block_bytes}} if target.size_bytes > rest else {}
    if rest:
        begin = target.begin_bytes + target.size_bytes - rest
        small = math.gcd(rest, block_bytes)
        last: Words = {"stonewall": 1, "offset": begin, "size": rest, "bs": small}
        sections[f"{name}-end"] = last
    return sections


def _write_common(pattern: Pattern, target: FioTarget, load: FioLoad) -> Words:
    words = list_base_words(target, load.seed) | {"time_based": 1, "norandommap": 1}
    if pattern.writes:
        own = WrittenData(pattern.compressible_share, pattern.duplicate_share)
        words |= list_data_words(own if load.data is None else load.data)
    return words | {"log_unix_epoch": 1}


def list_base_words(target: FioTarget, seed: int) -> Words:
    """What every job file has; a file that vanished is not made again."""
    return {
        "filename": _make_file_name(target),
        "direct": 1,
        # One process, so that ending it ends all.
        "thread": 1,
        "allow_file_create": 0,
        "allow_mounted_write": 0,
        "fallocate": "none",
        "invalidate": 0,
        "random_generator": "tausworthe64",
        # Without it, `randseed` leaves the first submitter of each section its places.
        "randrepeat": 0,
        "randseed": seed,
        "continue_on_error": "none",
        "exitall_on_error": 1,
        "lat_percentiles": 1,
    }


def list_data_words(data: WrittenData) -> Words:
    """What written data are like; without shares no two blocks are alike, and none gets smaller.

    A duplicate repeats the request before it of the same submitter, so the share holds from the
    first request. fio's duplicates from a part of the place are hardly any while each of many
    submitters has written less than that part, which it keeps in memory.
    """
    words: Words = {"refill_buffers": 1}
    if data.compressible_share:
        words["buffer_compress_percentage"] = round(100 * data.compressible_share)
    if duplicates := round(100 * data.duplicate_share):
        words |= {"dedupe_percentage": duplicates, "dedupe_mode": "repeat"}
    return words


def write_job_text(
    common: Mapping[str, object], sections: Mapping[str, Mapping[str, object]]
) -> str:
    """A job file of what all sections have, and each by itself."""
    parts = {"global": common, **sections}
    return "\n".join(
        "".join([f"[{name}]\n", *(f"{key}={value}\n" for key, value in words.items())])
        for name, words in parts.items()
    )


def _make_file_name(target: FioTarget) -> str:
    """As a job file has it: a colon would separate two files."""
    return target.link or target.path.replace(":", r"\:")


def explain_no_rate(pattern: Pattern) -> str | None:
    """Why a pattern cannot be run at a rate; None where it can."""
    if pattern.trace is not None:
        return "it is a trace, which has its own times"
    if not pattern.is_weighted:
        return "its streams have no weights"
    is_paced = any(stream.is_paced for stream in pattern.streams)
    return "it pauses, or has its own pace" if is_paced else None
