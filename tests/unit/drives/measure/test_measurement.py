"""Histograms are merged, never averaged."""

import random

from stithy.drives.measure.measurement import Answer, Histogram, Served, merged, together


def histogram(times_ns: list[int]) -> Histogram:
    """One of these times."""
    counts = {each: times_ns.count(each) for each in sorted(set(times_ns))}
    return Histogram(counts_by_ns=counts, sum_s=sum(times_ns) / 1e9)


def test_the_parts_merged_are_the_whole_in_any_order() -> None:
    """Quantiles and mean are those of all times together."""
    draw = random.Random(4)
    times = [draw.randrange(1, 500) for _ in range(300)]
    parts = [histogram(times[:10]), histogram(times[10:250]), histogram(times[250:])]
    whole = merged(parts)
    assert whole.counts_by_ns == histogram(times).counts_by_ns
    assert merged(reversed(parts)).counts_by_ns == whole.counts_by_ns
    for share in (0.01, 0.5, 0.99, 1.0):
        rank = max(1, -(-int(share * 1000) * len(times) // 1000))
        assert whole.quantile_s(share) == sorted(times)[rank - 1] / 1e9


def test_an_empty_histogram_has_no_figures() -> None:
    """Missing is None, never 0."""
    empty = merged([])
    assert empty.mean_s is None
    assert empty.quantile_s(0.5) is None


def served(count: int, duration_s: float) -> Served:
    """Some requests."""
    return Served(
        latency=histogram([1000] * count),
        moved_bytes=4096 * count,
        duration_s=duration_s,
        iops_max=count / duration_s,
        bytes_per_s_max=4096 * count / duration_s,
    )


def test_the_rate_of_rounds_is_that_of_their_whole_time() -> None:
    """A longer round weighs more; the best half second stays the best."""
    both = together([Answer(read=served(100, 1.0)), Answer(read=served(500, 3.0))]).read
    assert both is not None
    assert both.iops == 150
    assert both.iops_max == 500 / 3
    assert together([Answer(read=served(1, 1.0))]).write is None
