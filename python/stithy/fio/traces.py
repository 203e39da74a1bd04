"""Requests of a trace: of an emulated drive, of fio, of blktrace, or what blkparse prints of it.

Sources: fio's HOWTO, "Trace file format v3"; blkparse(1), the default format.
"""

import re
from collections.abc import Iterator
from os import R_OK, access
from os.path import isfile
from pathlib import Path

import polars as pl

from stithy.errors import UserError
from stithy.fio.blktrace import (
    COMPLETED,
    DISCARD,
    FLUSH,
    ISSUED,
    WRITE,
    Event,
    is_blktrace,
    pair_events,
    read_blktrace,
)
from stithy.fio.drive_trace import MAGIC, read_trace
from stithy.fio.learned import OPERATIONS, Operation, Request
from stithy.fio.profile import SECTOR_BYTES
from stithy.suggest import instead

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
    read = _of_drive if head == MAGIC else read_blktrace if is_blktrace(head) else read_text
    return _of_device(list(read(path)), device, str(path))


def _of_device(requests: list[Request], device: str, where: str) -> list[Request]:
    """Those to one device, by its name or the last part of it."""
    known = sorted({each.device for each in requests})
    chosen = [name for name in known if device in ("", name, name.rpartition("/")[2])]
    if len(chosen) > 1:
        ways = " or ".join(f"{where}/{name}" for name in chosen)
        problem = f"it is of {len(chosen)} devices, {' and '.join(chosen)}"
        remedy = f"name one of them, {ways}: each is a volume of its own"
        raise UserError(problem, where=where, remedy=remedy)
    if device and not chosen:
        raise UserError(f"it has no device {device!r}", where=where, remedy=instead(device, known))
    return requests if chosen == known else [each for each in requests if each.device in chosen]


def _of_drive(path: Path) -> Iterator[Request]:
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
        return list(_of_fio(lines, path))
    if any(_BLKPARSE.match(each) for each in lines[:HEAD_LINES]):
        return list(pair_events(_of_blkparse(lines)))
    raise UserError(
        "it is no trace that is known",
        where=str(path),
        remedy="name a trace of an emulated drive, a log of fio, a file of blktrace, or what "
        "blkparse prints",
    )


def _of_fio(lines: list[str], path: Path) -> Iterator[Request]:
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


def _of_blkparse(lines: list[str]) -> Iterator[Event]:
    """Dispatches (D) and completions (C). An F before the operation is a flush."""
    for match in filter(None, map(_BLKPARSE.match, lines)):
        device, at, action, flags, sector, sectors = match.groups()
        if action in "DC":
            kind = FLUSH if flags.startswith("F") else 0
            kind |= (WRITE if "W" in flags else 0) | (DISCARD if "D" in flags else 0)
            what = ISSUED if action == "D" else COMPLETED
            moved = int(sectors or 0) * SECTOR_BYTES
            yield Event(float(at), what, kind, device, int(sector or 0), moved)
