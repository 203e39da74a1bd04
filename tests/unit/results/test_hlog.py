"""Latency logs are decoded as HdrHistogram defines them, and merged."""

import base64
import random
import struct
import zlib
from pathlib import Path

import pytest

from stithy.results.hlog import Histogram, decode, merge, read_hlog

HALF = 10
"""log2 of half the sub-buckets of a histogram with 3 digits."""


def index_of(value_us: int) -> int:
    """The bucket of a value, worked out from the definition: 2048 sub-buckets, then halves."""
    bucket = max(0, value_us.bit_length() - 11)
    return (bucket << HALF) + (value_us >> bucket)


def histogram(*values_us: int) -> Histogram:
    """A histogram of the values."""
    counts: dict[int, int] = {}
    for value in values_us:
        counts[index_of(value)] = counts.get(index_of(value), 0) + 1
    return Histogram(counts, HALF, 0)


def zigzag(number: int) -> bytes:
    """A ZigZag LEB128 number."""
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(made: Histogram) -> str:
    """The other way round: V2, deflated, base64."""
    payload, at = b"", 0
    for index, count in sorted(made.counts.items()):
        payload += zigzag(at - index) if index > at else b""
        payload += zigzag(count)
        at = index + 1
    head = struct.pack(">iiiiqqd", 0x1C849313, len(payload), 0, 3, 1, 2**40, 1.0)
    packed = zlib.compress(head + payload)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(packed)) + packed).decode()


def test_small_values_are_exact_and_large_ones_within_three_digits() -> None:
    """A percentile is the highest value of its bucket."""
    assert histogram(1, 2, 2047).max_s == pytest.approx(2047e-6)
    for value in (2048, 99_999, 12_345_678, 100_000_000):
        found = histogram(value).percentile_s(50)
        assert found is not None
        assert value <= found * 1e6 <= value * 1.001


def test_percentiles_follow_the_counts() -> None:
    """Of 1 to 1000 µs the median is 500, the 99th percentile 990."""
    made = histogram(*range(1, 1001))
    assert made.percentile_s(50) == pytest.approx(500e-6)
    assert made.percentile_s(99) == pytest.approx(990e-6)
    assert made.percentile_s(100) == pytest.approx(1000e-6)
    assert made.min_s == pytest.approx(1e-6)
    assert made.mean_s == pytest.approx(500.5e-6, rel=2e-3)


def test_an_empty_histogram_has_no_values() -> None:
    """None, and not 0."""
    empty = Histogram({}, HALF, 0)
    assert (empty.percentile_s(50), empty.mean_s, empty.min_s, empty.max_s) == (None,) * 4


def test_what_is_encoded_is_decoded() -> None:
    """Runs of empty buckets and large counts included."""
    draw = random.Random(1)
    made = histogram(*(int(draw.lognormvariate(8, 2)) + 1 for _ in range(5000)))
    made = Histogram({**made.counts, 5: 3_000_000_000}, HALF, 0)
    assert decode(encode(made)) == made


def test_merging_parts_gives_the_whole_in_any_order() -> None:
    """Histograms add up exactly."""
    draw = random.Random(2)
    values = [int(draw.expovariate(1 / 5000)) + 1 for _ in range(3000)]
    parts = [histogram(*values[start::3]) for start in range(3)]
    assert merge(parts) == merge(reversed(parts))
    assert merge(parts) == histogram(*values)
    assert merge([]) is None


def test_histograms_of_another_precision_are_not_merged() -> None:
    """Their buckets do not mean the same."""
    with pytest.raises(ValueError, match="precision"):
        merge([Histogram({1: 1}, 10, 0), Histogram({1: 1}, 7, 0)])


def log(*lines: str) -> str:
    """A log with its head."""
    return (
        "#[Histogram log format version 1.3]\n#[StartTime: 1.000 (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
        + "".join(lines)
    )


def test_lines_carry_tag_time_and_histogram(tmp_path: Path) -> None:
    """A line without a tag has an empty one; a last line that was cut off is left out."""
    path = tmp_path / "a.hlog"
    text = encode(histogram(7))
    path.write_text(
        log(
            f"Tag=new-order,12.125,1.000,0.007,{text}\n",
            f"13.125,0.500,0.007,{text}\n",
            f"Tag=payment,14.125,1.000,0.007,{text[:9]}",
        )
    )
    first, second = read_hlog(path)
    assert (first.tag, first.started_at_s, first.length_s) == ("new-order", 12.125, 1.0)
    assert (second.tag, second.length_s) == ("", 0.5)
    assert first.histogram == histogram(7)


@pytest.mark.parametrize(
    "line", ["nonsense\n", "1,1,1,####\n", "1,1,1,AAAAAAAAAAA=\n", "1,1,1,HISTFAAAAAF4\n"]
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    """By file and line."""
    path = tmp_path / "a.hlog"
    path.write_text(log(line))
    with pytest.raises(ValueError, match=r"a\.hlog:4: not a line of an interval log"):
        read_hlog(path)
