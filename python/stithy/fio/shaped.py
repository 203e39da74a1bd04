"""A pattern with other block sizes, depths, threads or shares of reads than its profile's."""

from dataclasses import dataclass, fields

from pydantic import ValidationError

from stithy.errors import UserError
from stithy.fio.profile import SECTOR_BYTES, Pattern


@dataclass(frozen=True)
class Shape:
    """What is asked instead; None: as the profile has it. `threads` and depth are of a worker."""

    block_bytes: int | None = None
    queue_depth: int | None = None
    threads: int | None = None
    read_share: float | None = None

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
    if len(pattern.streams) > 1:
        names = ", ".join(each.name for each in pattern.streams)
        raise _cannot(pattern, f"it has several streams ({names})")
    stream = pattern.streams[0]
    share = stream.read_share if shape.read_share is None else shape.read_share
    known = stream.read_sizes or stream.write_sizes
    size = shape.block_bytes
    if size is not None and size % SECTOR_BYTES:
        raise _cannot(pattern, f"{size} bytes are not whole sectors")
    sizes = known if size is None else {size: 1.0}
    changed = {
        "read_share": share,
        "read_sizes": sizes if size or not stream.read_sizes else stream.read_sizes,
        "write_sizes": sizes if size or not stream.write_sizes else stream.write_sizes,
        "iodepth": shape.queue_depth or stream.iodepth,
        "jobs": shape.threads or stream.jobs,
    }
    without = {0.0: "read_sizes", 1.0: "write_sizes"}.get(share)
    if without is not None:
        changed[without] = {}
    try:
        made = type(stream).model_validate(stream.model_dump() | changed)
    except ValidationError as error:
        raise _cannot(pattern, error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    return pattern.model_copy(update={"streams": (made,)})


def _cannot(pattern: Pattern, why: str) -> UserError:
    return UserError(
        f"{pattern.name} cannot be changed so: {why}",
        where=f"pattern {pattern.name}",
        remedy="leave out block_size, queue_depth, threads and read_share, or name another pattern",
    )
