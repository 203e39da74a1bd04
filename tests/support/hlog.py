"""Histograms from values, and latency logs as the hammer writes them."""

import base64
import struct
import zlib

from stithy.results.hlog import LoggedHistogram

HALF = 10
"""log2 of half the sub-buckets of a histogram with 3 digits."""


def index_of(value_us: int) -> int:
    """The bucket of a value, worked out from the definition: 2048 sub-buckets, then halves."""
    bucket = max(0, value_us.bit_length() - 11)
    return (bucket << HALF) + (value_us >> bucket)


def histogram(*values_us: int) -> LoggedHistogram:
    """A histogram of the values."""
    counts: dict[int, int] = {}
    for value in values_us:
        counts[index_of(value)] = counts.get(index_of(value), 0) + 1
    return LoggedHistogram(counts, HALF, 0)


def zigzag(number: int) -> bytes:
    """A ZigZag LEB128 number."""
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(made: LoggedHistogram) -> str:
    """The other way round: V2, deflated, base64."""
    payload, at = b"", 0
    for index, count in sorted(made.counts.items()):
        payload += zigzag(at - index) if index > at else b""
        payload += zigzag(count)
        at = index + 1
    head = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 3, 1, 2**40, 1.0)
    packed = zlib.compress(head + payload)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


def log(*lines: str) -> str:
    """A log with its head."""
    return (
        "#[Histogram log format version 1.3]\n#[StartTime: 1.000 (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
        + "".join(lines)
    )
