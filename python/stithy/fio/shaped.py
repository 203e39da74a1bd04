"""A pattern with other block sizes, depths, threads, shares of reads or submission than its own."""

from dataclasses import dataclass, fields, replace
from typing import Any

from pydantic import ValidationError

from stithy.errors import UserError
from stithy.fio.engines import Submission
from stithy.fio.profile import SECTOR_BYTES, Pattern, Stream


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
        return all(getattr(self, each.name) is None for each in fields(self))


def shaped(pattern: Pattern, shape: Shape) -> Pattern:
    """The pattern as asked. Raises UserError where it cannot be so."""
    if shape.is_own:
        return pattern
    if pattern.trace is not None:
        raise _cannot(pattern, "it is a trace")
    if len(pattern.streams) > 1 and not replace(shape, submission=None).is_own:
        names = ", ".join(each.name for each in pattern.streams)
        raise _cannot(pattern, f"it has several streams ({names})")
    if shape.block_bytes is not None and shape.block_bytes % SECTOR_BYTES:
        raise _cannot(pattern, f"{shape.block_bytes} bytes are not whole sectors")
    try:
        made = tuple(
            Stream.model_validate(dict(each) | _accesses(each, shape) | _submitters(each, shape))
            for each in pattern.streams
        )
    except ValidationError as error:
        raise _cannot(pattern, error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    return pattern.model_copy(update={"streams": made})


def _accesses(stream: Stream, shape: Shape) -> dict[str, Any]:
    """The share of reads, and sizes of the directions that it then has."""
    share = stream.read_share if shape.read_share is None else shape.read_share
    asked = {shape.block_bytes: 1.0} if shape.block_bytes else {}
    return {
        "read_share": share,
        "read_sizes": asked or stream.read_sizes or stream.write_sizes if share > 0 else {},
        "write_sizes": asked or stream.write_sizes or stream.read_sizes if share < 1 else {},
        "options": {k: v for k, v in stream.options.items() if not asked or k != "bsrange"},
    }


def _submitters(stream: Stream, shape: Shape) -> dict[str, Any]:
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


def _cannot(pattern: Pattern, why: str) -> UserError:
    return UserError(
        f"{pattern.name} cannot be changed so: {why}",
        where=f"pattern {pattern.name}",
        remedy="leave out block_size, queue_depth, threads, read_share and submission, or name "
        "another pattern",
    )
