"""Requests of a trace: of an emulated drive, of fio, of blktrace, or what blkparse prints of it.

Sources: fio's HOWTO, "Trace file format v3"; blkparse(1), the default format.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from stithy.errors import UserError
from stithy.fio.blktrace import is_blktrace, read_blktrace
from stithy.fio.drive_trace import MAGIC, read_trace
from stithy.fio.learned import OPERATIONS, Operation, Request

SECTOR_BYTES = 512
US_PER_S = 1e6
"""Of the times in a log of fio. Source: logs of fio 3.33."""
_IOLOG = re.compile(r"fio version ([23]) iolog")
_BLKPARSE = re.compile(
    r"\s*\d+,\d+\s+\d+\s+\d+\s+(\d+\.\d+)\s+\d+\s+([A-Z])\s+([A-Z]+)(?:\s+(\d+)\s+\+\s+(\d+))?"
)
_WORDS: dict[str, Operation] = {
    "read": "read", "write": "write", "sync": "flush", "datasync": "flush",
}  # fmt: skip


def read_requests(path: Path) -> Iterator[Request]:
    """All requests of a trace of any kind. Raises UserError where it is none, OSError."""
    with path.open("rb") as file:
        is_drive = file.read(len(MAGIC)) == MAGIC
    if is_drive:
        return _of_drive(path)
    return read_blktrace(path) if is_blktrace(path) else iter(read_text(path))


def _of_drive(path: Path) -> Iterator[Request]:
    found = read_trace(path)
    if found.lost:
        problem = f"{found.lost:,} requests are missing in it"
        remedy = "trace again, with the file on a faster disk"
        raise UserError(problem, where=str(path), remedy=remedy)
    columns = ("arrived_s", "operation", "offset_bytes", "length_bytes", "latency_s", "is_error")
    for *facts, is_error in found.requests.select(columns).iter_rows():
        if not is_error and facts[1] in OPERATIONS:
            yield Request(*facts)


def read_text(path: Path) -> list[Request]:
    """All requests of a trace. Raises UserError where it is none of both."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if lines and (match := _IOLOG.match(lines[0])):
        if match[1] == "2":
            raise UserError(
                "a log of fio's version 2 has no times",
                where=str(path),
                remedy="write it with fio 3.31 or newer, which writes version 3",
            )
        return list(_of_fio(lines[1:]))
    if any(_BLKPARSE.match(each) for each in lines[:1000]):
        return list(_of_blkparse(lines))
    raise UserError(
        "it is no trace that is known",
        where=str(path),
        remedy="name a trace of an emulated drive, a log of fio, a file of blktrace, or what "
        "blkparse prints",
    )


def _of_fio(lines: list[str]) -> Iterator[Request]:
    """`<time in µs> <file> <action> [<offset> <length>]`; no latencies."""
    for each in lines:
        words = each.split()
        if len(words) >= 3 and words[2] in _WORDS:
            place = [int(word) for word in words[3:5]] if len(words) >= 5 else [0, 0]
            yield Request(int(words[0]) / US_PER_S, _WORDS[words[2]], place[0], place[1], None)


def _of_blkparse(lines: list[str]) -> Iterator[Request]:
    """From dispatch (D) to completion (C) of the same place."""
    under_way: dict[tuple[str, str, str], float] = {}
    for each in lines:
        match = _BLKPARSE.match(each)
        if match is None or match[2] not in "DC":
            continue
        at_s, flags = float(match[1]), match[3]
        key = (flags, match[4] or "", match[5] or "")
        if match[2] == "D":
            under_way[key] = at_s
        elif (begun_s := under_way.pop(key, None)) is not None:
            yield from _completed(flags, match, begun_s, at_s - begun_s)


def _completed(
    flags: str, match: re.Match[str], begun_s: float, latency_s: float
) -> Iterator[Request]:
    """An F before the operation is a flush, and the only one where nothing is moved."""
    offset, length = (int(match[i] or 0) * SECTOR_BYTES for i in (4, 5))
    if flags.startswith("F") or not length:
        yield Request(begun_s, "flush", 0, 0, latency_s)
    if length and "D" not in flags:
        yield Request(begun_s, "read" if "R" in flags else "write", offset, length, latency_s)
