"""Whether each block holds its last write, not an older one: its generation.

fio's header in each block has the monotonic time at which its write began; a checksum and an
address alone would not find a write that was lost, because the older block is whole, too. What must
be there follows from the logs of each request: of a block, the last write that began, or one that
was under way with it. Times of a log are less exact than those of a header, so an older block is
found where it was written at least three seconds before the last one. What is not in a log, such as
writes of fio's ramp, makes a block newer than expected, which is no fault.
"""

import mmap
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import polars as pl

from stithy.errors import InfrastructureError, Interrupted, InvalidMeasurement, give_reason
from stithy.fio.load import CHECK_BYTES, FioTarget
from stithy.fio.output import make_failure
from stithy.fio.profile import MIB
from stithy.units import format_duration

SLACK_S = 3.0
"""Own: by so much the clock of a log may be ahead. fio reads two clocks, one after the other, at
the begin of each submitter; hundreds of them on few processors wait for each other in between."""

MAGIC = 0xACCA
HEADER = struct.Struct(f"<H14xQII{CHECK_BYTES - 32}x")
"""Magic, offset, seconds and nanoseconds. Source: verify.h of fio 3.33 and 3.42."""

MS_PER_S, NS_PER_S = 1e3, 1e9
WRITE = 1
COLUMNS = ("end_ms", "latency_ns", "direction", "size_bytes", "offset_bytes")
SCHEMA = {"path": pl.String, "offset_bytes": pl.Int64, "from_s": pl.Float64}
"""A block of a file or device, and the monotonic time from which on its write must have begun."""


def list_laid_out_blocks(target: FioTarget, began_s: float) -> pl.DataFrame:
    """What a target holds that was written from end to end since then: its first block for all."""
    row = {"path": [target.path], "offset_bytes": [target.begin_bytes], "from_s": [began_s]}
    return pl.DataFrame(row, schema=SCHEMA)


def list_written_blocks(path: str, folder: Path, unix_less_monotonic_s: float) -> pl.DataFrame:
    """What a fio that ran in `folder` has written of `path`, by its logs, which have offsets.

    The difference of the clocks is the largest that was seen. Raises InfrastructureError.
    """
    logs = [each for each in sorted(folder.glob("*_lat.*.log")) if each.stat().st_size]
    frames = [_list_writes(log, unix_less_monotonic_s) for log in logs]
    every = pl.concat([pl.DataFrame(schema=SCHEMA).drop("path"), *frames])
    last = every.group_by("offset_bytes").agg(pl.col("from_s").max())
    return last.with_columns(path=pl.lit(path)).select(*SCHEMA)


def _list_writes(log: Path, unix_less_monotonic_s: float) -> pl.DataFrame:
    """The blocks of one submitter. Of two writes under way at once either may be the last."""
    rows = _read_rows(log).filter(pl.col("direction") == WRITE)
    latency_s = pl.col("latency_ns") / NS_PER_S
    begin_s = pl.col("end_ms") / MS_PER_S - unix_less_monotonic_s - latency_s
    first, end = (pl.col("offset_bytes") // CHECK_BYTES,
                  (pl.col("offset_bytes") + pl.col("size_bytes")) // CHECK_BYTES)  # fmt: skip
    each = rows.select(
        offset_bytes=pl.int_ranges(first, end), begin_s=begin_s, latency_s=latency_s
    ).explode("offset_bytes")
    last_s = pl.col("begin_s").max() - pl.col("latency_s").max() - SLACK_S
    found = each.group_by("offset_bytes").agg(from_s=last_s)
    return found.with_columns(pl.col("offset_bytes") * CHECK_BYTES)


def _read_rows(log: Path) -> pl.DataFrame:
    """`1763926000123, 98343, 1, 8192, 4096, 0`: end in ms, latency in ns, and so on."""
    try:
        frame = pl.read_csv(log, has_header=False, infer_schema=False, truncate_ragged_lines=True)
        names = dict(zip(COLUMNS, frame.columns, strict=False))
        rows = frame.select(
            **{name: pl.col(at).str.strip_chars().cast(pl.Int64) for name, at in names.items()}
        ).select(COLUMNS)
    except pl.exceptions.PolarsError as error:
        raise _refuse_no_log(log, "its lines are not numbers") from error
    if rows.null_count().sum_horizontal().item():
        raise _refuse_no_log(log, "a line is cut off")
    return rows


def _refuse_no_log(log: Path, why: str) -> InfrastructureError:
    problem = f"this is no log of fio with offsets: {why}"
    remedy = "see whether the disk of the results is full, then measure again"
    return InfrastructureError(problem, where=str(log), remedy=remedy)


def compare(
    target: FioTarget, expected: Sequence[pl.DataFrame], stop: threading.Event | None = None
) -> None:
    """Raise InvalidMeasurement where a block of the target is older than its last write.

    `expected` has what laid it out, and what each run has written since then. Checksums and
    addresses are not looked at.
    """
    mine = pl.concat(expected).filter(pl.col("path") == target.path)
    blocks = mine.group_by("offset_bytes").agg(pl.col("from_s").max()).sort("offset_bytes")
    bases = mine.filter(pl.col("offset_bytes") == target.begin_bytes)["from_s"].to_list()
    if not bases:
        raise make_failure("nothing says when it was written", target.shown)
    base_s = min(bases)
    known = zip(blocks["offset_bytes"], blocks["from_s"], strict=True)
    offset, from_s = next(known)
    old: list[tuple[int, float]] = []
    for at, written_s in read_headers(target, stop):
        while offset < at:
            offset, from_s = next(known, (2**63, 0.0))
        least_s = from_s if offset == at else base_s
        if written_s is None or written_s < least_s:
            old.append((at, least_s - (written_s or 0.0)))
    if old:
        raise _find_older(target, old)


def _find_older(target: FioTarget, old: Sequence[tuple[int, float]]) -> InvalidMeasurement:
    at, by_s = old[0]
    count = f"{len(old):,} blocks are" if old[1:] else "a block is"
    return InvalidMeasurement(
        f"{count} older than what was written there last, the first at offset {at}, by at least "
        f"{format_duration(round(by_s, 3))}: a write was acknowledged and then lost",
        where=target.shown,
        remedy="trust this storage with nothing, until you know why",
    )


def read_headers(
    target: FioTarget, stop: threading.Event | None = None
) -> Iterator[tuple[int, float | None]]:
    """Of each block its offset, and when its write began; None where it has no header."""
    with closing(mmap.mmap(-1, MIB)) as buffer:
        file = os.open(target.path, os.O_RDONLY | os.O_DIRECT)
        try:
            end = target.begin_bytes + target.size_bytes
            for begin in range(target.begin_bytes, end, MIB):
                if stop is not None and stop.is_set():
                    raise Interrupted("reading back was stopped", where=target.shown,
                                      remedy="run again")  # fmt: skip
                size = min(os.preadv(file, [buffer], begin), end - begin)
                whole = size // CHECK_BYTES * CHECK_BYTES
                found = HEADER.iter_unpack(buffer[:whole])
                for number, (magic, _, seconds, nanoseconds) in enumerate(found):
                    written_s = seconds + nanoseconds / NS_PER_S if magic == MAGIC else None
                    yield begin + number * CHECK_BYTES, written_s
        except OSError as error:
            problem = f"it cannot be read back: {give_reason(error)}"
            raise make_failure(problem, target.shown) from error
        finally:
            os.close(file)
