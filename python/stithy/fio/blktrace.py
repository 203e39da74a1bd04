"""Requests of blktrace's own files, one for each processor: `sda.blktrace.0` and its neighbours.

Source: blktrace_api.h of Linux 6.1, `struct blk_io_trace`.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from heapq import merge
from pathlib import Path
from typing import NamedTuple

from stithy.errors import UserError
from stithy.fio.learned import Operation, Request

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
    return pair_events(merge(*map(_events, beside(path))))


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


def beside(path: Path) -> list[Path]:
    """The files of all processors; a file without a number alone."""
    if not _NUMBERED.search(path.name):
        return [path]
    return sorted(path.parent.glob(f"{path.name.rpartition('.')[0]}.*"))


def _events(path: Path) -> Iterator[Event]:
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
