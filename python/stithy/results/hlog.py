"""Reading HdrHistogram V2 interval logs, and merging their histograms.

Written by the hammer (wire/README.md): one tagged line a transaction type and second, values in
microseconds. Histograms are merged, never averaged; a percentile is the highest value equivalent to
the bucket it falls in, as HdrHistogram defines it.
Source: HdrHistogram's ENCODING and log format 1.3.
"""

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import TextError

_COMPRESSED_COOKIE = 0x1C849304
_COOKIE = 0x1C849303
_WORD_SIZE_BITS = 0xF0
"""The part of a cookie that older versions used for the width of a counter."""

_HEAD = struct.Struct(">iiiiqqd")
_HIGHEST_US = 2**62
US_PER_S = 1_000_000
JOIN_TOLERANCE_S = 0.002
"""How far the time stamp of a line, which has three decimals, may lie from that of its second."""


@dataclass(frozen=True)
class LoggedHistogram:
    """Counts by bucket of equal precision; `counts` maps a bucket's index to its count.

    `half_magnitude` (log2 of half the sub-buckets) and `unit_magnitude` fix the buckets' bounds;
    only histograms with equal ones can be merged.
    """

    counts: dict[int, int]
    half_magnitude: int
    unit_magnitude: int

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def percentile_s(self, percent: float) -> float | None:
        """The `percent`-th percentile (0 < percent <= 100), seconds; None without values."""
        if not self.counts:
            return None
        count = self.count
        return self.at_ranks_s([min(count, max(1, math.ceil(percent / 100 * count)))])[0]

    def at_ranks_s(self, ranks: Sequence[int]) -> list[float]:
        """The values at ascending ranks, seconds; the lowest value has rank 1."""
        found: list[float] = []
        reached = 0
        for index in sorted(self.counts):
            reached += self.counts[index]
            while len(found) < len(ranks) and ranks[len(found)] <= reached:
                found.append(self._highest_us(index) / US_PER_S)
        return found

    @property
    def mean_s(self) -> float | None:
        """Mean of the buckets' middles, seconds; None without values."""
        if not self.counts:
            return None
        total = 0
        for index, count in self.counts.items():
            lowest, width = self._bounds_us(index)
            total += (lowest + width // 2) * count
        return total / self.count / US_PER_S

    @property
    def min_s(self) -> float | None:
        """Lower bound of the lowest bucket, seconds; None without values."""
        return self._bounds_us(min(self.counts))[0] / US_PER_S if self.counts else None

    @property
    def max_s(self) -> float | None:
        """Upper bound of the highest bucket, seconds; None without values."""
        return self._highest_us(max(self.counts)) / US_PER_S if self.counts else None

    def buckets(self) -> Iterator["Bucket"]:
        """The buckets that have values, in the order of their times."""
        for index, count in sorted(self.counts.items()):
            lowest, width = self._bounds_us(index)
            yield Bucket(index, lowest / US_PER_S, (lowest + width - 1) / US_PER_S, count)

    def _bounds_us(self, index: int) -> tuple[int, int]:
        half = 1 << self.half_magnitude
        bucket = (index >> self.half_magnitude) - 1
        sub_bucket = (index & (half - 1)) + half
        if bucket < 0:
            bucket, sub_bucket = 0, sub_bucket - half
        shift = bucket + self.unit_magnitude
        return sub_bucket << shift, 1 << shift

    def _highest_us(self, index: int) -> int:
        lowest, width = self._bounds_us(index)
        return lowest + width - 1


@dataclass(frozen=True)
class Bucket:
    """The values between two times that a histogram does not tell apart, and their number."""

    index: int
    lowest_s: float
    highest_s: float
    count: int


@dataclass(frozen=True)
class LoggedInterval:
    """One line of a log: a transaction type in `length_s` from `started_at_s`, Unix time."""

    tag: str
    started_at_s: float
    length_s: float
    histogram: LoggedHistogram

    def lies_in(self, from_s: float, until_s: float) -> bool:
        """Whether it neither begins nor ends outside a span of Unix time."""
        return from_s <= self.started_at_s and self.started_at_s + self.length_s <= until_s


def merge(histograms: Iterable[LoggedHistogram]) -> LoggedHistogram | None:
    """One histogram with the values of all; None where there is none.

    Raises ValueError where their buckets differ.
    """
    counts: dict[int, int] = {}
    shape: tuple[int, int] | None = None
    for histogram in histograms:
        this = (histogram.half_magnitude, histogram.unit_magnitude)
        if shape not in (None, this):
            raise ValueError("histograms of different precision cannot be merged")
        shape = this
        for index, count in histogram.counts.items():
            counts[index] = counts.get(index, 0) + count
    return None if shape is None else LoggedHistogram(counts, *shape)


def read_hlog(
    path: Path, from_s: float = -math.inf, until_s: float = math.inf
) -> list[LoggedInterval]:
    """The lines of a log that begin in a span of Unix time, in its order; all of them by default.

    A last line that was cut off by a crash is left out.
    Raises ValueError, naming file and line, for any other line that is damaged; OSError as usual.
    """
    lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    return list(_read_intervals(path, lines, from_s, until_s))


def _read_intervals(
    path: Path, lines: list[str], from_s: float, until_s: float
) -> Iterator[LoggedInterval]:
    for number, line in enumerate(lines, start=1):
        # A whole file ends with a line feed, so that its last part is empty.
        if number == len(lines) or not line or line[0] in '#"':
            continue
        try:
            tag = ""
            if line.startswith("Tag="):
                tag, line = line[4:].split(",", 1)
            start, _, rest = line.partition(",")
            # Decoding is what takes time, so the others are left out before it.
            if from_s <= float(start) < until_s:
                length, _max, encoded = rest.split(",")
                yield LoggedInterval(tag, float(start), float(length), decode(encoded))
        except (ValueError, struct.error, zlib.error, IndexError) as error:
            raise TextError(f"{path}:{number}: not a line of an interval log") from error


def decode(encoded: str) -> LoggedHistogram:
    """The histogram of a base64 text: V2, deflated.

    Raises ValueError, struct.error or zlib.error for anything else.
    """
    try:
        packed = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise TextError("not base64") from error
    cookie, size = struct.unpack_from(">ii", packed)
    _require_cookie(cookie, _COMPRESSED_COOKIE)
    plain = zlib.decompress(packed[8 : 8 + size])
    cookie, payload_size, _offset, digits, lowest, _highest, _ratio = _HEAD.unpack_from(plain)
    _require_cookie(cookie, _COOKIE)
    payload = plain[_HEAD.size : _HEAD.size + payload_size]
    # log2 of half the sub-buckets that so many significant decimal digits need.
    half_magnitude = (2 * int(10**digits) - 1).bit_length() - 1
    return LoggedHistogram(_decode_counts(payload), half_magnitude, lowest.bit_length() - 1)


def encode(histogram: LoggedHistogram) -> str:
    """Write the text of a histogram, which `decode` reads."""
    payload, index = bytearray(), 0
    for bucket, count in sorted(histogram.counts.items()):
        if skipped := bucket - index:
            payload += _encode_varint(2 * skipped - 1)
        payload += _encode_varint(2 * count)
        index = bucket + 1
    digits = len(str((1 << histogram.half_magnitude) - 1)) - 1
    head = (_COOKIE, len(payload), 0, digits, 1 << histogram.unit_magnitude, _HIGHEST_US, 1.0)
    packed = zlib.compress(_HEAD.pack(*head) + payload)
    return base64.b64encode(struct.pack(">ii", _COMPRESSED_COOKIE, len(packed)) + packed).decode()


def _encode_varint(value: int) -> bytes:
    """Write a number below 2^62 as LEB128."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _require_cookie(cookie: int, expected: int) -> None:
    if cookie & ~_WORD_SIZE_BITS != expected:
        raise ValueError(f"not an HdrHistogram V2 histogram: cookie {cookie:#x}")


def _decode_counts(payload: bytes) -> dict[int, int]:
    """Counts by index: ZigZag LEB128 numbers, a negative one being a run of empty buckets."""
    if payload.isascii():
        return _decode_short_counts(payload)
    counts: dict[int, int] = {}
    index = position = 0
    while position < len(payload):
        value, position = _decode_varint(payload, position)
        number = (value >> 1) ^ -(value & 1)
        if number < 0:
            index -= number
            continue
        if number:
            counts[index] = number
        index += 1
    return counts


def _decode_short_counts(payload: bytes) -> dict[int, int]:
    """The same where each number is a single byte, as nearly always in the log of a second."""
    counts: dict[int, int] = {}
    index = 0
    for value in payload:
        if value & 1:
            index += (value + 1) >> 1
            continue
        if value:
            counts[index] = value >> 1
        index += 1
    return counts


def _decode_varint(payload: bytes, position: int) -> tuple[int, int]:
    """An LEB128 number of at most 9 bytes (the ninth holds 8 bits), and where the next begins."""
    value = 0
    for turn in range(9):
        byte = payload[position]
        position += 1
        if turn == 8:
            return value | byte << 56, position
        value |= (byte & 0x7F) << (7 * turn)
        if byte < 0x80:
            break
    return value, position
