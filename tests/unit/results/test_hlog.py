"""Latency logs are decoded as HdrHistogram defines them, and merged."""

import random
from pathlib import Path

import pytest

from stithy.results.hlog import Histogram, decode, merge, read_hlog
from support.hlog import HALF, encode, histogram, log


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
