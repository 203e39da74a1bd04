"""How a pattern is run, where, and with which data: what a job file is made of besides it.

How fio is asked for a rate so that it keeps it, and what it then really keeps.
All ways of fio 3.33 have their trap (Source: `usec_for_io` in its backend.c):

- Even spacing follows the bytes that were issued, so `rate` is requests a second times their mean
  size. `rate_iops` would take the smallest size for all, and is never used.
- Poisson arrivals draw one moment for each request, whatever its size, at whole requests a second:
  `rate` divided by the smallest size. So `rate` is given in smallest blocks, and the number of
  submitters is chosen so that each has a whole number of requests a second.
"""

import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stithy.fio.profile import mean_bytes

ALIGNED_BYTES = 4096
CHECK_BYTES = 4096
"""Each so many bytes have a checksum of their own, and a header, where all is read back."""

UNWRITABLE = frozenset('#;$"')
"""What fio's job files take for something else, and cannot quote."""

SUBMITTERS = 256
"""More threads would wait for processors, which small machines take for slow storage."""

SUBMITTERS_LEAST = 16


Replay = Literal["times", "fast"]
"""A trace is replayed at its own times, or as fast as it goes."""


@dataclass(frozen=True)
class Target:
    """A device or file, and the part of it that may be used. It must be there, and all written.

    `name` is for messages, where the path would say nothing. Of a target that is `read_only` fio
    refuses whatever would write.
    """

    path: str
    size_bytes: int
    begin_bytes: int = 0
    name: str = ""
    read_only: bool = False

    @property
    def shown(self) -> str:
        """What a person is told of it."""
        return self.name or self.path

    @property
    def link(self) -> str | None:
        """The name of a link to it beside a job file that cannot hold its path, else None.

        fio cuts a value at `;` and `#` and at its blank ends, and replaces `$`.
        """
        is_plain = self.path.isprintable() and self.path == self.path.strip()
        if is_plain and UNWRITABLE.isdisjoint(self.path):
            return None
        return f"target-{zlib.crc32(os.fsencode(self.path)):08x}"


@dataclass(frozen=True)
class Data:
    """What written data are like: the shares of them that compression and deduplication save."""

    compressible_share: float = 0.0
    duplicate_share: float = 0.0


PLAIN = Data()
"""No two blocks are alike, and none gets smaller."""


@dataclass(frozen=True)
class Load:
    """How a pattern is run. `rate_per_s` None: as fast as it goes, a closed loop.

    `engine`: that of asynchronous streams that name none. `bounded`: at a rate, too, no more
    requests are outstanding than in the closed loop, as Vdbench has it. Without `data` they are
    those of the pattern. `logs`: a row a second is kept. `submitters`: the most that an open loop
    has, of both directions. `replay`: how a trace is.
    """

    duration_s: float
    ramp_s: float
    seed: int
    engine: str = "libaio"
    rate_per_s: float | None = None
    bounded: bool = False
    data: Data | None = None
    verify: bool = False
    logs: bool = True
    submitters: int = SUBMITTERS
    replay: Replay = "times"


def least(every: Iterable[Data]) -> Data:
    """The data of which least is saved: no storage looks better by what nobody asked for."""
    known = list(every)
    return Data(
        min(each.compressible_share for each in known), min(each.duplicate_share for each in known)
    )


def for_workers(
    targets: Sequence[Target], load: Load, workers: int
) -> tuple[tuple[Target, Load], ...]:
    """What each of so many workers a target gets: its part of it, of rate and submitters, a seed.

    The load is that of all of them together.
    """
    count = len(targets) * workers
    rate = None if load.rate_per_s is None else load.rate_per_s / count
    submitters = max(SUBMITTERS_LEAST, load.submitters // count)
    parts = []
    for target in targets:
        size, begin = aligned(target.size_bytes / workers), target.begin_bytes
        parts += [
            replace(target, size_bytes=size, begin_bytes=begin + n * size) for n in range(workers)
        ]
    return tuple(
        (part, replace(load, rate_per_s=rate, seed=load.seed * count + n, submitters=submitters))
        for n, part in enumerate(parts)
    )


def aligned(size_bytes: float) -> int:
    """As many bytes, down to a page: direct I/O takes no other places."""
    return int(size_bytes) // ALIGNED_BYTES * ALIGNED_BYTES


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
