"""Latencies as fio counts them: whole histograms in its own bins, merged by adding counts.

The bins are the same in every fio, and their error is at most 0.8 %. Percentiles are
never averaged.
"""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

NS_PER_S = 1e9
NS_BEYOND_FIO = 17_000_000_000
"""fio's last bin holds everything from here on. Source: stat.h of fio 3.33, 29 groups of 64."""

_BITS = 6
"""A group of bins keeps so many bits behind the leading one. Source: stat.h of fio 3.33."""


class Kept(BaseModel):
    """Frozen, and a key that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Histogram(Kept):
    """How often which latency was met; `counts_by_ns` rises by its keys, `sum_s` is of all."""

    counts_by_ns: dict[int, int]
    sum_s: float

    @property
    def count(self) -> int:
        """How many are in it."""
        return sum(self.counts_by_ns.values())

    @property
    def mean_s(self) -> float | None:
        """Mean of the exact values, not of the bins; None where it is empty."""
        return self.sum_s / self.count if self.counts_by_ns else None

    @property
    def beyond(self) -> int:
        """How many took longer than fio can tell; they count as 17 s, but not in the mean."""
        return sum(count for time_ns, count in self.counts_by_ns.items() if time_ns > NS_BEYOND_FIO)

    def quantile_s(self, share: float) -> float | None:
        """The least latency that at least this share do not exceed; None where it is empty.

        The nearest rank, over the middles of the bins.
        """
        wanted, seen = share * self.count, 0
        for time_ns, count in self.counts_by_ns.items():
            seen += count
            if seen >= wanted:
                return time_ns / NS_PER_S
        return None


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """All of them as one."""
    counts: dict[int, int] = {}
    sum_s = 0.0
    for histogram in histograms:
        sum_s += histogram.sum_s
        for time_ns, count in histogram.counts_by_ns.items():
            counts[time_ns] = counts.get(time_ns, 0) + count
    return Histogram(counts_by_ns=dict(sorted(counts.items())), sum_s=sum_s)


def rest_of(whole: Histogram, part: Histogram) -> Histogram | None:
    """What a part leaves of a whole; None where it is no part of it."""
    known = whole.counts_by_ns
    counts = {key: count - part.counts_by_ns.get(key, 0) for key, count in known.items()}
    if min(counts.values(), default=0) < 0 or not part.counts_by_ns.keys() <= known.keys():
        return None
    kept = {key: count for key, count in counts.items() if count}
    return Histogram(counts_by_ns=kept, sum_s=max(0.0, whole.sum_s - part.sum_s))


def middle_ns(number: int) -> int:
    """The latency in the middle of fio's bin of this number, from 0.

    Source: `plat_idx_to_val` in stat.c of fio 3.33.
    """
    group = 1 << _BITS
    if number < 2 * group:
        return number
    shift = (number >> _BITS) - 1
    base = 1 << (shift + _BITS)
    return base + (number % group << shift) + (1 << shift) // 2


def bin_ns(time_ns: int) -> int:
    """The middle of fio's bin of a latency: seven leading bits are kept."""
    shift = max(0, time_ns.bit_length() - _BITS - 1)
    return (time_ns >> shift << shift) + (1 << shift) // 2
