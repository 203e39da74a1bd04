"""How fio is asked for a rate so that it keeps it, and what it then really keeps.

All ways of fio 3.33 have their trap (Source: `usec_for_io` in its backend.c):

- Even spacing follows the bytes that were issued, so `rate` is requests a second times their mean
  size. `rate_iops` would take the smallest size for all, and is never used.
- Poisson arrivals draw one moment for each request, whatever its size, at whole requests a second:
  `rate` divided by the smallest size. So `rate` is given in smallest blocks, and the number of
  submitters is chosen so that each has a whole number of requests a second.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from stithy.fio.profile import mean_bytes

POISSON_ERROR_MOST = 0.01
"""Where whole requests a second would miss the rate by more, requests are spaced evenly."""

SEARCHED_FACTOR = 4
"""Rather a fourth of the submitters than requests that are evenly spaced."""

SUBMITTER_MOST_PER_S = 1000
"""Above it, the whole microseconds to which Poisson's gaps are cut begin to show."""


@dataclass(frozen=True)
class Arrivals:
    """One direction: its submitters, and fio's `rate` in bytes a second for each."""

    jobs: int
    fio_bytes_per_s: int
    is_random: bool


def even(requests_per_s: float, sizes: Mapping[int, float], jobs: int) -> Arrivals:
    """Evenly spaced by bytes: exact but for the fraction of a byte."""
    whole = max(1, round(requests_per_s / jobs * mean_bytes(sizes)))
    return Arrivals(jobs, whole, is_random=False)


def poisson(
    requests_per_s: float, sizes: Mapping[int, float], jobs_most: int, jobs_least: int = 1
) -> Arrivals | None:
    """Random arrivals from as many submitters as are allowed; None where that misses the rate.

    Independent Poisson processes are together one of the sum of their rates.
    """
    least = max(1, math.ceil(requests_per_s / jobs_most))
    found = [
        (each, max(jobs_least, min(jobs_most, round(requests_per_s / each))))
        for each in range(least, SEARCHED_FACTOR * least + 1)
        if each <= SUBMITTER_MOST_PER_S
    ]
    # The first is that of the most submitters, which are late the least.
    for each, jobs in found:
        if abs(each * jobs / requests_per_s - 1) <= POISSON_ERROR_MOST:
            return Arrivals(jobs, each * min(sizes), is_random=True)
    return None
