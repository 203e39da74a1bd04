"""A second reader of latency logs, written from HdrHistogram's format alone: slow and literal."""

import base64
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bucket:
    """So many values from `low_us` to `high_us`, both included, in the interval from `at_s`."""

    tag: str
    at_s: float
    length_s: float
    low_us: int
    high_us: int
    count: int


def buckets(path: Path) -> Iterator[Bucket]:
    """All that a log holds, line by line."""
    for line in path.read_text().splitlines():
        if not line.startswith("Tag="):
            continue
        tag, at_s, length_s, _largest, packed = line.removeprefix("Tag=").split(",")
        plain = zlib.decompress(base64.b64decode(packed)[8:])
        digits = struct.unpack(">i", plain[12:16])[0]
        index = 0
        for number in _numbers(plain[40:]):
            if number < 0:
                index -= number
                continue
            if number:
                low_us, high_us = _bounds(index, digits)
                yield Bucket(tag, float(at_s), float(length_s), low_us, high_us, number)
            index += 1


def _numbers(payload: bytes) -> Iterator[int]:
    """ZigZag LEB128."""
    value = shift = 0
    for byte in payload:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value // 2 if value % 2 == 0 else -(value + 1) // 2
            value = shift = 0


def _bounds(index: int, digits: int) -> tuple[int, int]:
    """Sub-buckets are 1 wide up to twice 10^digits (rounded up to a power of two), then double."""
    half, width = 1, 1
    while half < 10**digits:
        half *= 2
    while index >= 2 * half:
        index, width = index - half, width * 2
    return index * width, (index + 1) * width - 1
