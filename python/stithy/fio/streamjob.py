"""One stream of a pattern as a section of a job file, and what fio will really do of it.

A closed loop keeps each submitter's requests outstanding. At a rate, a stream of random requests is
an open loop: many submitters of one request each draw their own moments (Poisson), so a slow answer
holds up only the submitter that waits for it; they use the engine of the closed loop. fio counts
from the submission; a request whose own submitter was still waiting at its due time begins late
unseen. Their share is that of the time in which submitters wait (`estimate_late_share`), and a
point is judged by it (`curve`).

fio's own open loop, `io_submit_mode=offload`, is not used: before 3.42 the threads of its pool may
wait for each other for ever at the start (736c2015), nearly always with hundreds of them. Nor has a
submitter several requests: ahead of its rate, fio waits for all that is under way before it sleeps
(`rate_ddir` in io_u.c of fio 3.33). A sequential stream keeps its order and its submitters at a
rate, too, and a stream with flushes its writers: they are late as often as they are busy.

A stream of batches has one submitter, which pauses after each batch for a little less than its time
at the rate. It is then behind, and fio catches up at once with as many as are due: a batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stithy.errors import PreconditionError, UserError
from stithy.fio.load import (
    CHECK_BYTES,
    Arrivals,
    FioLoad,
    FioTarget,
    align_bytes,
    draw_arrivals,
    space_evenly,
)
from stithy.fio.profile import (
    DIRECTIONS,
    SYNC_ENGINE,
    Direction,
    Pattern,
    Stream,
    Submission,
    average_bytes,
    find_submission,
    format_size,
    round_mixed_percent,
    round_percents,
    round_ring_depth,
    round_sizes,
)

Words = dict[str, object]
"""Options of fio with their values, in the order of the job file."""

OPEN_MOST_PER_S = 50_000.0
"""More a second are too many for submitters of one request; they keep the closed loop's."""

OPEN_MOST_REQUESTS = 3_000_000
"""Each request of an open loop is a line of a log: more would fill memory and take long to read."""

OPEN_RAMP_S = 1.0
"""At the least: every submitter begins with a request at once."""

US_PER_S = 1e6

BATCH_PAUSE_SHARE = 0.95
"""Of a batch's time at the rate: the rest is for the requests themselves. Own, measured."""

FLOW_MOST = 1000
FLOW_SLEEP_US = 100
"""A submitter that is ahead of its weight waits for its requests and sleeps; without a sleep it
turns in a loop and leaves what was answered uncounted (`flow_threshold_exceeded`, fio 3.33)."""

TOGETHER: Words = {"group_reporting": 1}
"""All submitters have one result."""


def estimate_late_share(rate_per_s: float, latency_mean_s: float, outstanding: int) -> float:
    """The share of requests of an open loop whose submitter was still waiting at their due time.

    Poisson arrivals find a submitter as busy as it is in the mean. Source: Wolff 1982, PASTA.
    """
    return min(1.0, rate_per_s * latency_mean_s / outstanding)


@dataclass(frozen=True)
class RenderedStream:
    """A stream as fio will do it, by which engine. `outstanding`: at most, of all submitters.

    `mean_bytes`: the mean size of its requests, for whole percents of each size.

    `is_open`: requests come from submitters of one each, whose late share can be told.
    `each_logged`: the log has each request, not a mean a second.
    `in_line_because`: why they do not, of a stream at a rate.
    """

    name: str
    engine: str
    submitters: int
    outstanding: int
    is_open: bool
    mean_bytes: Mapping[Direction, float] = field(default_factory=dict)
    each_logged: bool = False
    in_line_because: str | None = None

    @property
    def submission(self) -> Submission:
        """How its engine submits."""
        return find_submission(self.engine)


def make_sections(
    pattern: Pattern, stream: Stream, target: FioTarget, load: FioLoad
) -> tuple[RenderedStream, dict[str, Words]]:
    """A stream's sections: one, or one for each direction, named `stream` or `stream.direction`.

    Raises UserError where its part of the target is too small.
    """
    rate = None if load.rate_per_s is None else load.rate_per_s * pattern.find_weight_share(stream)
    if rate is None:
        words = _list_shared_words(
            stream, target, load, stream.jobs, stream.iodepth
        ) | _write_timed(stream, load)
        words |= {"ioengine": choose_engine(stream, load.engine)} | _write_pace(pattern, stream)
        return _write_closed(stream, load), {stream.name: words}
    if (because := _explain_in_line(stream, load, rate)) is not None:
        rendered, made = _queue_in_line(stream, target, load, rate)
        return replace(rendered, in_line_because=because), made
    return _open(stream, target, load, rate)


def _write_closed(stream: Stream, load: FioLoad) -> RenderedStream:
    engine = choose_engine(stream, load.engine)
    return RenderedStream(stream.name, engine, stream.jobs, stream.outstanding, is_open=False,
                          mean_bytes=_average_bytes(stream),
                          each_logged=_is_checked(stream, load))  # fmt: skip


def _average_bytes(stream: Stream) -> dict[Direction, float]:
    """Of each direction; none where fio draws sizes, or cuts them to what its map has free."""
    is_split = max(len(stream.get_sizes(way)) for way in stream.directions) > 1
    if "bsrange" in stream.options or is_split and stream.options.get("norandommap") == "0":
        return {}
    return {
        direction: average_bytes(_write_percents(stream, direction))
        for direction in stream.directions
    }


def _is_checked(stream: Stream, load: FioLoad) -> bool:
    return load.verify and stream.read_share < 1


def _explain_in_line(stream: Stream, load: FioLoad, rate_per_s: float) -> str | None:
    if stream.batch > 1:
        return f"its requests arrive {stream.batch} at a time"
    if stream.is_sequential:
        return "requests of a stream in sequence wait for each other"
    if stream.is_flushed:
        return "a stream with flushes waits for each of them"
    most_per_s = min(OPEN_MOST_PER_S, OPEN_MOST_REQUESTS / (load.ramp_s + load.duration_s))
    if rate_per_s > most_per_s:
        return f"more than {most_per_s:,.0f} requests a second are too many to follow each of them"
    return None


def _queue_in_line(
    stream: Stream, target: FioTarget, load: FioLoad, rate_per_s: float
) -> tuple[RenderedStream, dict[str, Words]]:
    """At a rate, with the submitters of the closed loop."""
    arrivals = {
        direction: space_evenly(
            rate_per_s * stream.get_share(direction),
            _write_percents(stream, direction),
            stream.jobs,
        )
        for direction in stream.directions
    }
    if len(arrivals) == 1 and stream.jobs > 1:
        # Evenly spaced submitters would all begin at the same moments.
        way = stream.directions[0]
        drawn = draw_arrivals(rate_per_s, _write_percents(stream, way), stream.jobs, stream.jobs)
        arrivals = {way: drawn or arrivals[way]}
    words = _list_shared_words(stream, target, load, stream.jobs, stream.iodepth) | _write_timed(
        stream, load
    )
    words |= {"ioengine": choose_engine(stream, load.engine)} | _write_rate(arrivals)
    words |= _write_batches(stream, rate_per_s)
    return _write_closed(stream, load), {stream.name: words}


def _open(
    stream: Stream, target: FioTarget, load: FioLoad, rate_per_s: float
) -> tuple[RenderedStream, dict[str, Words]]:
    """An open loop: each direction has submitters of its own, of one request each."""
    made, outstanding, engine = {}, 0, choose_engine(stream, load.engine)
    for way in stream.directions:
        share = stream.get_share(way)
        most = max(1, round((stream.outstanding if load.bounded else load.submitters) * share))
        rate, sizes = rate_per_s * share, _write_percents(stream, way)
        arrivals = draw_arrivals(rate, sizes, most) or space_evenly(rate, sizes, 1)
        alone = stream.model_copy(update={"read_share": 1.0 if way == "read" else 0.0})
        words = _list_shared_words(alone, target, load, arrivals.jobs, 1) | {"norandommap": 1}
        words |= {"ioengine": engine} | _write_rate({way: arrivals}) | _log_each(stream, load)
        made[f"{stream.name}.{way}"] = words
        outstanding += arrivals.jobs
    rendered = RenderedStream(stream.name, engine, outstanding, outstanding, is_open=True,
                              mean_bytes=_average_bytes(stream), each_logged=True)  # fmt: skip
    return rendered, made


def _list_shared_words(
    stream: Stream, target: FioTarget, load: FioLoad, jobs: int, iodepth: int
) -> Words:
    """What depends neither on the loop nor on its times."""
    flush: Words = {}
    if stream.read_share < 1 and stream.sync != "none":
        flush = {stream.sync: stream.flushed_every} if stream.is_flushed else {"sync": stream.sync}
    words: Words = {
        "new_group": 1,
        "numjobs": jobs,
        "iodepth": iodepth,
        **_place(stream, target, jobs),
        **_write_access(stream),
        **_write_sizes(stream),
        **flush,
        **stream.options,
    }
    if "bsrange" in words:
        words.pop("bssplit", None)
    return words | (check_words() if _is_checked(stream, load) else {})


def _write_timed(stream: Stream, load: FioLoad) -> Words:
    """fio leaves out the ramp; of each submitter it keeps a row a second, and its own result.

    Where what is written is read back, it keeps each request instead.
    """
    words: Words = {"ramp_time": format_ms(load.ramp_s), "runtime": format_ms(load.duration_s)}
    if _is_checked(stream, load):
        return words | {"write_lat_log": stream.name, "log_offset": 1} | TOGETHER
    if not load.logs:
        return words | TOGETHER
    words |= {"log_avg_msec": 1000, "log_hist_msec": 1000}
    return words | {f"write_{kind}_log": stream.name for kind in ("lat", "hist")}


def _log_each(stream: Stream, load: FioLoad) -> Words:
    """fio keeps a line of each request, and the ramp is cut off by them.

    Each submitter would end fio's own ramp with its next request only, and begin again with one at
    once (`ramp_time_over` in time.c of fio 3.33): many slow submitters would make too many.
    """
    runtime_s = max(load.ramp_s, OPEN_RAMP_S) + load.duration_s + OPEN_RAMP_S
    words: Words = {"runtime": format_ms(runtime_s), "write_lat_log": stream.name}
    return words | ({"log_offset": 1} if load.verify else {}) | TOGETHER


def choose_engine(stream: Stream, asynchronous: str) -> str:
    """The engine that a stream names, else the usual one of its submission; at any rate the same.

    `asynchronous` is the best of its kind here, or a synchronous one where none works; then raises
    PreconditionError of a stream that needs it. A depth that io_uring would not keep is libaio's.
    """
    if stream.engine is not None or stream.submission == "sync":
        return stream.engine or SYNC_ENGINE
    if find_submission(asynchronous) == "sync":
        problem = "no asynchronous engine of fio works on this machine"
        remedy = "allow io_uring or libaio (`stithy doctor`), or measure with submission: sync"
        raise PreconditionError(problem, where=f"stream {stream.name}", remedy=remedy)
    is_rounded = asynchronous == "io_uring" and round_ring_depth(stream.iodepth) != stream.iodepth
    return "libaio" if is_rounded else asynchronous


def describe_submission(pattern: Pattern, asynchronous: str) -> str:
    """How requests are submitted, and by which engine: `sync by psync`, or so of each stream."""
    known = pattern.streams
    found = {
        each.name: f"{each.submission} by {choose_engine(each, asynchronous)}" for each in known
    }
    first, *others = dict.fromkeys(found.values())
    return ", ".join(map(" ".join, found.items())) if others else first


def format_ms(duration_s: float) -> str:
    """A duration as fio takes it."""
    return f"{round(duration_s * 1000)}ms"


def check_words() -> Words:
    """Blocks are written with a checksum and the monotonic time, which a later pass reads back."""
    return {"verify": "crc32c", "verify_interval": CHECK_BYTES, "do_verify": 0,
            "clocksource": "clock_gettime"}  # fmt: skip


def _place(stream: Stream, target: FioTarget, jobs: int) -> Words:
    """The region of a stream; submitters of a sequential one have a part of it each."""
    begin = target.begin_bytes + align_bytes(stream.region.offset_share * target.size_bytes)
    parts = jobs if stream.is_sequential else 1
    part = align_bytes(stream.region.size_share * target.size_bytes / parts)
    largest = max(size for way in stream.directions for size in stream.get_sizes(way))
    if part < largest:
        raise UserError(
            f"{part} bytes are too few for the stream {stream.name}, whose requests have up to "
            f"{format_size(largest)}",
            where=target.path,
            remedy="give a larger target, or fewer workers",
        )
    words: Words = {"offset": begin, "size": part}
    return words | ({"offset_increment": part} if parts > 1 else {})


def _write_access(stream: Stream) -> Words:
    kind = {0.0: "write", 1.0: "read"}.get(stream.read_share, "rw")
    words: Words = {"rw": kind if stream.is_sequential else f"rand{kind}"}
    if kind == "rw":
        words["rwmixread"] = round_mixed_percent(stream.read_share)
    if 0 < stream.random_share < 1:
        words["percentage_random"] = round_mixed_percent(stream.random_share)
    if stream.hot_spots:
        accesses = round_percents([hot_spot.access_share for hot_spot in stream.hot_spots])
        spaces = round_percents([each.space_share for each in stream.hot_spots])
        pairs = zip(accesses, spaces, strict=True)
        words["random_distribution"] = "zoned:" + ":".join(f"{a}/{s}" for a, s in pairs)
    return words


def _write_sizes(stream: Stream) -> Words:
    """Reads, writes; the direction that a stream has not gets the sizes of the other."""
    known = stream.get_sizes(stream.directions[0])
    sizes = [stream.get_sizes(way) if way in stream.directions else known for way in DIRECTIONS]
    if all(len(each) == 1 for each in sizes):
        return {"bs": ",".join(str(next(iter(each))) for each in sizes)}
    split = (":".join(f"{b}/{p}" for b, p in round_sizes(by_size).items()) for by_size in sizes)
    return {"bssplit": ",".join(split)}


def _write_batches(stream: Stream, rate_per_s: float) -> Words:
    """A pause after each batch, in microseconds, so that the next one is due at once."""
    if stream.batch == 1:
        return {}
    pause_us = round(BATCH_PAUSE_SHARE * stream.batch / rate_per_s * US_PER_S)
    return {
        "thinktime": pause_us,
        "thinktime_blocks": stream.batch,
        "thinktime_blocks_type": "issue",
        "iodepth_batch_submit": stream.batch,
    }


def _write_pace(pattern: Pattern, stream: Stream) -> Words:
    """A closed loop's pauses, or its part of the requests beside the other streams."""
    if stream.burst:
        return {
            "thinktime": format_ms(stream.burst.pause_s),
            "thinktime_iotime": format_ms(stream.burst.busy_s),
        }
    if len(pattern.streams) == 1 or stream.weight is None:
        return {}
    parts = {each.name: pattern.find_weight_share(each) / each.jobs for each in pattern.streams}
    flow = round(FLOW_MOST * parts[stream.name] / max(parts.values()))
    return {"flow": max(1, flow), "flow_sleep": FLOW_SLEEP_US}


def _write_percents(stream: Stream, direction: Direction) -> dict[int, float]:
    """The shares of sizes that fio will really have."""
    return {size: each / 100 for size, each in round_sizes(stream.get_sizes(direction)).items()}


def _write_rate(arrivals: Mapping[Direction, Arrivals]) -> Words:
    rates = (arrivals[way].fio_bytes_per_s if way in arrivals else "" for way in DIRECTIONS)
    words: Words = {"rate": ",".join(map(str, rates)).rstrip(",")}
    random = all(arrival.is_random for arrival in arrivals.values())
    return words | ({"rate_process": "poisson"} if random else {})
