"""Requests of a trace: of an emulated drive, of fio, of blktrace, or what blkparse prints of it.

Sources: fio's HOWTO, "Trace file format v3"; blkparse(1), the default format.

Requests of blktrace's own files, one for each processor: `sda.blktrace.0` and its neighbours.
Source: blktrace_api.h of Linux 6.1, `struct blk_io_trace`.

Reading the trace of a drive: what it answered, request by request.
The format is reported in docs/reference/drive-trace.md. The drive never waits for its trace, so a
trace can lack requests: how many is part of what is read, and nothing is filled in.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from os import R_OK, access
from os.path import isfile
from pathlib import Path
from typing import NamedTuple

import polars as pl

from stithy.errors import PreconditionError, UserError, give_reason
from stithy.fio.learned import OPERATIONS, Operation, Request
from stithy.fio.profile import SECTOR_BYTES
from stithy.names import suggest_instead

_BLKTRACE, _MASK = 0x65617400, 0xFFFFFF00
EVENT = struct.Struct("<IIQQIIIIIHH")
"""Magic, sequence, time (ns), sector, bytes, action, process, device, processor, error, length of
what follows."""

NS_PER_S, MINOR_BITS = 1e9, 20
SECTOR = 512
WRITE, FLUSH, NOTIFY, DISCARD = 1 << 1, 1 << 2, 1 << 10, 1 << 13
CATEGORIES_FROM = 16
ISSUED, COMPLETED = 7, 8
_NUMBERED = re.compile(r"\.blktrace\.\d+$")


class Event(NamedTuple):
    """What became of a request: an action of these files, and what kind of request it is."""

    at_s: float
    action: int
    categories: int
    device: str
    sector: int
    length_bytes: int


def is_blktrace(head: bytes) -> bool:
    """Whether a file begins as one of blktrace's."""
    return len(head) >= 4 and struct.unpack("<I", head[:4])[0] & _MASK == _BLKTRACE


def read_blktrace(path: Path) -> Iterator[Request]:
    """All requests, in the order of their completions."""
    return pair_events(merge(*map(_read_events, list_trace_files(path))))


def pair_events(events: Iterable[Event]) -> Iterator[Request]:
    """Requests from their issue to their completion."""
    under_way: dict[tuple[str, int, int, int], float] = {}
    for event in events:
        kind = event.categories & (WRITE | FLUSH | DISCARD)
        key = (event.device, kind, event.sector, event.length_bytes)
        if event.action == ISSUED:
            under_way[key] = event.at_s
        elif event.action == COMPLETED and (begun_s := under_way.pop(key, None)) is not None:
            latency_s = event.at_s - begun_s
            if kind & FLUSH or not event.length_bytes:
                yield Request(begun_s, "flush", 0, 0, latency_s, event.device)
            if event.length_bytes and not kind & DISCARD:
                way: Operation = "write" if kind & WRITE else "read"
                offset = event.sector * SECTOR
                yield Request(begun_s, way, offset, event.length_bytes, latency_s, event.device)


def list_trace_files(path: Path) -> list[Path]:
    """The files of all processors; a file without a number alone."""
    if not _NUMBERED.search(path.name):
        return [path]
    return sorted(path.parent.glob(f"{path.name.rpartition('.')[0]}.*"))


def _read_events(path: Path) -> Iterator[Event]:
    with path.open("rb") as file:
        while len(head := file.read(EVENT.size)) == EVENT.size:
            magic, _, time_ns, sector, length, action, _, device, _, _, more = EVENT.unpack(head)
            if magic & _MASK != _BLKTRACE:
                problem = "it is damaged, or was traced on a machine with another order of bytes"
                remedy = "trace again, or give what blkparse prints of it"
                raise UserError(problem, where=str(path), remedy=remedy)
            file.seek(more, 1)
            categories = action >> CATEGORIES_FROM
            if not categories & NOTIFY:
                what, at_s = action & 0xFFFF, time_ns / NS_PER_S
                name = f"{device >> MINOR_BITS},{device & (1 << MINOR_BITS) - 1}"
                yield Event(at_s, what, categories, name, sector, length)


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
            head = _read_head(path, file.read(_HEAD.size))
            file.seek(head.head_bytes)
            frames = [_make_frame(b"")]
            while chunk := file.read(_CHUNK_BYTES):
                # A file that was cut short may end within a record.
                frames.append(_make_frame(chunk[: len(chunk) // _RECORD_BYTES * _RECORD_BYTES]))
    except OSError as error:
        problem = f"the trace cannot be read: {give_reason(error)}"
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
        requests=_read_requests(records),
        lost=int(lost),
        is_complete=len(ends) == 1,
    )


def write_parquet(path: Path, target: Path) -> DriveTrace:
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


def _read_head(path: Path, data: bytes) -> _Head:
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


def _make_frame(chunk: bytes) -> pl.DataFrame:
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


def _read_requests(records: pl.DataFrame) -> pl.DataFrame:
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


US_PER_S = 1e6
"""Of the times in a log of fio. Source: logs of fio 3.33."""
HEAD_BYTES = 2**17
HEAD_LINES = 1000
"""Of a file, to see what it is: blkparse prints other lines, too."""
_IOLOG = re.compile(r"fio version (\d+) iolog")
_LOGGED = re.compile(
    r"(\d{1,18}) (.+) (?:(add|open|close|sync|datasync)(?: \d+ \d+)?"
    r"|(read|write|trim|wait) (\d{1,18}) (\d{1,18}))\s*",
    re.ASCII,
)
_BLKPARSE = re.compile(
    r"\s*(\d+,\d+)\s+\d+\s+\d+\s+(\d+\.\d+)\s+\d+\s+([A-Z])\s+([A-Z]+)"
    r"(?:\s+(\d+)\s+\+\s+(\d+))?"
)
_WORDS: dict[str, Operation] = {
    "read": "read", "write": "write", "sync": "flush", "datasync": "flush",
}  # fmt: skip


def is_trace(path: Path) -> bool:
    """Whether a file begins as a trace of any kind; False, too, where it cannot be read."""
    if not isfile(path) or not access(path, R_OK):
        return False
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(MAGIC) or is_blktrace(head):
        return True
    lines = head.decode(errors="replace").splitlines()[:HEAD_LINES]
    return bool(lines and _IOLOG.match(lines[0])) or any(map(_BLKPARSE.match, lines))


def read_requests(path: Path, device: str = "") -> list[Request]:
    """All requests of a trace of any kind to one device, which may be named where it has several.

    Raises UserError where it is none, or it does not have that device; OSError.
    """
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
    read = _read_drive if head == MAGIC else read_blktrace if is_blktrace(head) else read_text
    return _select_device(list(read(path)), device, str(path))


def _select_device(requests: list[Request], device: str, where: str) -> list[Request]:
    """Those to one device, by its name or the last part of it."""
    known = sorted({request.device for request in requests})
    chosen = [name for name in known if device in ("", name, name.rpartition("/")[2])]
    if len(chosen) > 1:
        ways = " or ".join(f"{where}/{name}" for name in chosen)
        problem = f"it is of {len(chosen)} devices, {' and '.join(chosen)}"
        remedy = f"name one of them, {ways}: each is a volume of its own"
        raise UserError(problem, where=where, remedy=remedy)
    if device and not chosen:
        raise UserError(
            f"it has no device {device!r}", where=where, remedy=suggest_instead(device, known)
        )
    return requests if chosen == known else [each for each in requests if each.device in chosen]


def _read_drive(path: Path) -> Iterator[Request]:
    found = read_trace(path)
    if found.lost:
        problem = f"{found.lost:,} requests are missing in it"
        remedy = "trace again, with the file on a faster disk"
        raise UserError(problem, where=str(path), remedy=remedy)
    columns = ("arrived_s", "operation", "offset_bytes", "length_bytes", "latency_s")
    rows = found.requests.select(*columns, pl.lit(found.drive).alias("device"), "is_error")
    for *facts, is_error in rows.iter_rows():
        if not is_error and facts[1] in OPERATIONS:
            yield Request(*facts)


def read_text(path: Path) -> list[Request]:
    """All requests of a trace that is text. Raises UserError where it is none."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if lines and (match := _IOLOG.match(lines[0])):
        if match[1] != "3":
            problem = f"it is a log of fio's version {match[1]}, and only version 3 has times"
            remedy = "write it with fio 3.31 or newer, which writes version 3"
            raise UserError(problem, where=str(path), remedy=remedy)
        return list(_read_fio(lines, path))
    if any(_BLKPARSE.match(line) for line in lines[:HEAD_LINES]):
        return list(pair_events(_read_blkparse(lines)))
    raise UserError(
        "it is no trace that is known",
        where=str(path),
        remedy="name a trace of an emulated drive, a log of fio, a file of blktrace, or what "
        "blkparse prints",
    )


def _read_fio(lines: list[str], path: Path) -> Iterator[Request]:
    """`<time in µs> <file> <action> [<offset> <length>]`; no latencies."""
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        match = _LOGGED.fullmatch(line)
        if match is None:
            remedy = "correct the line, or leave it out"
            raise UserError("it is no line of a log", where=f"{path}:{number}", remedy=remedy)
        at, device, plain, moving, *place = match.groups()
        offset, length = (int(each or 0) for each in place)
        if moving in _WORDS and (not length or (length | offset) % SECTOR_BYTES):
            problem = f"a request of {length:,} bytes at {offset:,} is not of whole sectors"
            remedy = "trace direct I/O, or a block device"
            raise UserError(problem, where=f"{path}:{number}", remedy=remedy)
        if operation := _WORDS.get(plain or moving):
            yield Request(int(at) / US_PER_S, operation, offset, length, None, device)


def _read_blkparse(lines: list[str]) -> Iterator[Event]:
    """Dispatches (D) and completions (C). An F before the operation is a flush."""
    for match in filter(None, map(_BLKPARSE.match, lines)):
        device, at, action, flags, sector, sectors = match.groups()
        if action in "DC":
            kind = FLUSH if flags.startswith("F") else 0
            kind |= (WRITE if "W" in flags else 0) | (DISCARD if "D" in flags else 0)
            what = ISSUED if action == "D" else COMPLETED
            moved = int(sectors or 0) * SECTOR_BYTES
            yield Event(float(at), what, kind, device, int(sector or 0), moved)
