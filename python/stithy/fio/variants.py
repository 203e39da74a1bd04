"""A pattern with other block sizes, depths, threads, shares of reads or submission than its own."""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from pydantic import ValidationError

from stithy.errors import UserError
from stithy.fio.profile import SECTOR_BYTES, Pattern, Stream, Submission, average_bytes


@dataclass(frozen=True)
class Shape:
    """What is asked instead; None: as the profile has it. `threads` and depth are of a worker."""

    block_bytes: int | None = None
    queue_depth: int | None = None
    threads: int | None = None
    read_share: float | None = None
    submission: Submission | None = None

    @property
    def is_own(self) -> bool:
        """Whether nothing is asked."""
        return all(vars(self)[field.name] is None for field in fields(self))


def apply_shape(pattern: Pattern, shape: Shape) -> Pattern:
    """The pattern as asked. Raises UserError where it cannot be so."""
    if shape.is_own:
        return pattern
    if pattern.trace is not None:
        raise _make_refusal(pattern, "it is a trace")
    if len(pattern.streams) > 1 and not replace(shape, submission=None).is_own:
        names = ", ".join(stream.name for stream in pattern.streams)
        raise _make_refusal(pattern, f"it has several streams ({names})")
    if shape.block_bytes is not None and shape.block_bytes % SECTOR_BYTES:
        raise _make_refusal(pattern, f"{shape.block_bytes} bytes are not whole sectors")
    try:
        made = tuple(
            Stream.model_validate(
                dict(each) | _shape_accesses(each, shape) | _shape_submitters(each, shape)
            )
            for each in pattern.streams
        )
    except ValidationError as error:
        raise _make_refusal(
            pattern, error.errors()[0]["msg"].removeprefix("Value error, ")
        ) from error
    return pattern.model_copy(update={"streams": made})


def _shape_accesses(stream: Stream, shape: Shape) -> dict[str, Any]:
    """The share of reads, and sizes of the directions that it then has."""
    share = stream.read_share if shape.read_share is None else shape.read_share
    asked = {shape.block_bytes: 1.0} if shape.block_bytes else {}
    return {
        "read_share": share,
        "read_sizes": asked or stream.read_sizes or stream.write_sizes if share > 0 else {},
        "write_sizes": asked or stream.write_sizes or stream.read_sizes if share < 1 else {},
        "options": {k: v for k, v in stream.options.items() if not asked or k != "bsrange"},
    }


def _shape_submitters(stream: Stream, shape: Shape) -> dict[str, Any]:
    """Another submission has as many outstanding: of jobs that wait, or of one that does not.

    A stream with flushes keeps its jobs, since none of them may have a second request.
    """
    if shape.submission in (None, stream.submission):
        jobs, depth = shape.threads or stream.jobs, shape.queue_depth or stream.iodepth
        return {"jobs": jobs, "iodepth": depth}
    waits = shape.submission == "sync" or stream.sync == "fdatasync"
    jobs = shape.threads or (stream.outstanding if waits else 1)
    depth = shape.queue_depth or (1 if waits else max(1, stream.outstanding // jobs))
    return {"submission": shape.submission, "engine": None, "jobs": jobs, "iodepth": depth}


def _make_refusal(pattern: Pattern, why: str) -> UserError:
    return UserError(
        f"{pattern.name} cannot be changed so: {why}",
        where=f"pattern {pattern.name}",
        remedy="leave out block_size, queue_depth, threads, read_share and submission, or name "
        "another pattern",
    )


def mix_pattern(
    pattern: Pattern, read_per_s: float | None, write_bytes_per_s: float | None
) -> tuple[Pattern, float | None]:
    """The pattern with streams that keep these, and its requests a second in all.

    What is None is left out beside the other, as is what is 0. Without any above 0 the rest goes as
    fast as it can: then the rate is None. Raises UserError where a stream both reads and writes, or
    nobody does what is asked, or nothing is left.
    """
    if pattern.trace is not None:
        raise _refuse_mix(pattern, "it is a trace")
    ways: dict[str, str] = {}
    for stream in pattern.streams:
        if len(stream.directions) != 1 or stream.is_paced:
            raise _refuse_mix(pattern, f"its stream {stream.name} pauses, or both reads and writes")
        ways[stream.name] = stream.directions[0]
    asked = {"read": read_per_s or 0.0, "write": write_bytes_per_s or 0.0}
    if not any(asked.values()):
        none = {"read": read_per_s == 0, "write": write_bytes_per_s == 0}
        left = tuple(each for each in pattern.streams if not none[ways[each.name]])
        if not left:
            raise _refuse_mix(pattern, "neither reads nor writes are asked for")
        return pattern.model_copy(update={"streams": left}), None
    for way, amount in asked.items():
        if amount and way not in ways.values():
            raise _refuse_mix(pattern, f"it has no stream that only {way}s")
    streams = []
    for stream in pattern.streams:
        way = ways[stream.name]
        part = asked[way] / sum(each == way for each in ways.values())
        per_s = part if way == "read" else part / average_bytes(stream.write_sizes)
        if per_s:
            streams.append(stream.model_copy(update={"weight": per_s}))
    per_s = sum(each.weight or 0.0 for each in streams)
    return pattern.model_copy(update={"streams": tuple(streams)}), per_s


def _refuse_mix(pattern: Pattern, why: str) -> UserError:
    problem = f"a rate of reads and a bandwidth of writes cannot be asked of {pattern.name}: {why}"
    remedy = "name the profile reads-beside-writes, or one with streams of one direction each"
    return UserError(problem, where=f"pattern {pattern.name}", remedy=remedy)


MISS_MOST = 0.02
"""Assumed: below saturation, a point that misses its rate by more measured something else."""

CHANCE = 3.0
"""Standard deviations by which so many random arrivals may differ from their mean."""

LATE_MOST = 0.05
"""Assumed: with more late requests, latencies are not those of an open loop."""

State = Literal["kept", "saturated", "missed"]


def judge(
    share: float | None, asked_per_s: float, achieved_per_s: float, duration_s: float
) -> State:
    """What a point is worth; `share` is that of the maximum, None where it was not measured.

    `saturated`: at or above the maximum, or where nobody knows it, less was achieved. `missed`: the
    same below the maximum, or more than asked anywhere.
    """
    chance = CHANCE / math.sqrt(max(1.0, asked_per_s * duration_s))
    miss = achieved_per_s / asked_per_s - 1
    if miss < -max(MISS_MOST, chance):
        return "saturated" if share is None or share >= 1 else "missed"
    return "missed" if miss > max(MISS_MOST, chance) else "kept"


def is_past(latency_s: float | None, limit_s: float | None) -> bool:
    """Whether the sweep stops after a point of this latency; without a limit it never does."""
    return limit_s is not None and latency_s is not None and latency_s > limit_s
