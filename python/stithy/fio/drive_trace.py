"""Reading the trace of a drive: what it answered, request by request.

The format is reported in docs/reference/drive-trace.md. The drive never waits for its trace, so a
trace can lack requests: how many is part of what is read, and nothing is filled in.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stithy.errors import PreconditionError, UserError, reason_of

VERSION = 1
MAGIC = b"STITHYDT"
DRIVE_OPERATIONS = ("read", "write", "flush", "discard")

_HEAD = struct.Struct("<8sIIIIQQ64s24x")
_RECORD_BYTES = 32
_LENGTH_UNIT_BYTES = 512
_END = 254
_GAP = 255
_CHUNK_BYTES = 2**20 * _RECORD_BYTES
_NS_PER_S = 1e9


@dataclass(frozen=True)
class DriveTrace:
    """A trace as it was read.

    `requests` holds one row a request, in the order of the answers: `arrived_s` (seconds since
    `started_at_s`), `operation`, `offset_bytes`, `length_bytes`, `latency_s` (what profile and
    faults gave, and the lateness), `depth` (requests under way at its arrival, itself
    included), `is_error`, `is_late` (by the emulation's own fault), `is_unpaced`. `lost`: how
    many requests are missing. `is_complete` is false where the file was cut short:
    then what came after its last row is unknown.
    """

    drive: str
    sector_bytes: int
    size_bytes: int
    started_at_s: float
    requests: pl.DataFrame
    lost: int
    is_complete: bool


@dataclass(frozen=True)
class _Head:
    sector_bytes: int
    size_bytes: int
    started_at_s: float
    drive: str
    head_bytes: int


def read_trace(path: Path) -> DriveTrace:
    """The whole of a trace; takes about twice the file's size in memory.

    Raises UserError where it is no trace, or one of a version that is not known;
    PreconditionError where it cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = _head(path, file.read(_HEAD.size))
            file.seek(head.head_bytes)
            frames = [_frame(b"")]
            while chunk := file.read(_CHUNK_BYTES):
                # A file that was cut short may end within a record.
                frames.append(_frame(chunk[: len(chunk) // _RECORD_BYTES * _RECORD_BYTES]))
    except OSError as error:
        problem = f"the trace cannot be read: {reason_of(error)}"
        remedy = "give a file that exists and may be read"
        raise PreconditionError(problem, where=str(path), remedy=remedy) from error
    records = pl.concat(frames)
    gaps = records.filter(pl.col("kind") == _GAP)
    ends = records.filter(pl.col("kind") == _END)
    lost = ends["third"].item() if len(ends) else gaps["second"].sum()
    return DriveTrace(
        drive=head.drive,
        sector_bytes=head.sector_bytes,
        size_bytes=head.size_bytes,
        started_at_s=head.started_at_s,
        requests=_requests(records),
        lost=int(lost),
        is_complete=len(ends) == 1,
    )


def to_parquet(path: Path, target: Path) -> DriveTrace:
    """Write the requests of a trace as Parquet; what was lost is in the file's metadata."""
    trace = read_trace(path)
    facts = {
        "drive": trace.drive,
        "sector_bytes": str(trace.sector_bytes),
        "size_bytes": str(trace.size_bytes),
        "started_at_s": f"{trace.started_at_s:.9f}",
        "lost": str(trace.lost),
        "is_complete": str(trace.is_complete).lower(),
    }
    trace.requests.write_parquet(target, metadata=facts)
    return trace


def _head(path: Path, data: bytes) -> _Head:
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        remedy = "give a file that `stithy drive trace` has written"
        raise UserError("this is not the trace of a drive", where=str(path), remedy=remedy)
    _, version, head_bytes, record_bytes, sector_bytes, start_ns, size_bytes, name = _HEAD.unpack(
        data
    )
    if version != VERSION or record_bytes != _RECORD_BYTES:
        problem = f"the trace has version {version}, and this Stithy reads version {VERSION}"
        remedy = "read it with the version of Stithy that wrote it"
        raise UserError(problem, where=str(path), remedy=remedy)
    drive = name.rstrip(b"\0").decode(errors="replace")
    return _Head(sector_bytes, size_bytes, start_ns / _NS_PER_S, drive, head_bytes)


def _frame(chunk: bytes) -> pl.DataFrame:
    """Records as they stand: three numbers, and the fourth taken apart by its bits."""
    shape = pl.Array(pl.UInt64, len(chunk) // 8)
    words = pl.Series([chunk]).bin.reinterpret(dtype=shape, endianness="little").explode()
    if not chunk:
        words = pl.Series([], dtype=pl.UInt64)
    first, second, third, packed = (words.gather_every(4, offset) for offset in range(4))
    return pl.DataFrame(
        {
            "first": first,
            "second": second,
            "third": third,
            "length": (packed % 2**32).cast(pl.UInt32),
            "depth": (packed // 2**32 % 2**16).cast(pl.UInt16),
            "kind": (packed // 2**48 % 2**8).cast(pl.UInt8),
            "flags": (packed // 2**56).cast(pl.UInt8),
        }
    )


def _requests(records: pl.DataFrame) -> pl.DataFrame:
    names = dict(enumerate(DRIVE_OPERATIONS))
    kind = pl.col("kind")
    return records.filter(kind < len(DRIVE_OPERATIONS)).select(
        arrived_s=pl.col("first") / _NS_PER_S,
        operation=kind.replace_strict(names, default=None, return_dtype=pl.Enum(DRIVE_OPERATIONS)),
        offset_bytes=pl.col("second"),
        length_bytes=pl.col("length").cast(pl.UInt64) * _LENGTH_UNIT_BYTES,
        latency_s=pl.col("third") / _NS_PER_S,
        depth=pl.col("depth"),
        is_error=pl.col("flags") & 1 != 0,
        is_late=pl.col("flags") & 2 != 0,
        is_unpaced=pl.col("flags") & 4 != 0,
    )
