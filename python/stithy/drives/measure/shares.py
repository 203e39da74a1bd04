"""A distribution as a table: a time for each of a few shares of the requests.

Between two shares the time grows geometrically, as the drive's model has it.
"""

from collections.abc import Sequence
from math import log

from stithy.drives.measure.measurement import Histogram

SHARES = (
    0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98,
    0.985, 0.99, 0.9925, 0.995, 0.9965, 0.998, 0.999, 0.9995, 0.9999, 1.0,
)  # fmt: skip
"""Shares of the requests of which a time is kept; close where reports look and tails begin."""

ANCHOR = SHARES.index(0.99)
"""Up to here the table keeps to what was measured; beyond, the mean has the last word."""

STRETCH_MOST = 3.0


def times_s(latency: Histogram) -> tuple[float, ...]:
    """A time for each of `SHARES`, such that, growing geometrically between, the mean is right.

    Own: the tail beyond the 99th percentile is stretched or pressed, on a scale of logarithms, to
    make up for what lies between the shares. A wide tail may need more than is allowed; the mean is
    then off by what is left.
    """
    least_s = next(iter(latency.counts_by_ns)) / 1e9
    times = tuple(latency.quantile_s(share) or least_s for share in SHARES)
    wanted_s = latency.mean_s or least_s
    low, high = 0.0, STRETCH_MOST
    for _ in range(40):
        middle = (low + high) / 2
        is_short = mean_s(_stretched(times, middle)) < wanted_s
        low, high = (middle, high) if is_short else (low, middle)
    return _stretched(times, high)


def _stretched(times: Sequence[float], power: float) -> tuple[float, ...]:
    """The times with the tail's distance from the 99th percentile to this power; 1 keeps it."""
    anchor = times[ANCHOR]
    return (*times[: ANCHOR + 1], *(anchor * (t / anchor) ** power for t in times[ANCHOR + 1 :]))


def mean_s(times: Sequence[float]) -> float:
    """Mean of a table of times for `SHARES`, which grow geometrically between them."""
    return sum(
        (SHARES[i + 1] - SHARES[i]) * mean_of_geometric(times[i], times[i + 1])
        for i in range(len(SHARES) - 1)
    )


def mean_of_geometric(low_s: float, high_s: float) -> float:
    """The mean of a time that grows geometrically from one to the other: the logarithmic mean."""
    growth = log(high_s / low_s)
    return low_s if growth < 1e-9 else (high_s - low_s) / growth
