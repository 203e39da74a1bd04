"""How a pattern is run, where, and with which data: what a job file is made of besides it.

How fio is asked for a rate so that it keeps it, and what it then really keeps.
All ways of fio 3.33 have their trap (Source: `usec_for_io` in its backend.c):

- Even spacing follows the bytes that were issued, so `rate` is requests a second times their mean
  size. `rate_iops` would take the smallest size for all, and is never used.
- Poisson arrivals draw one moment for each request, whatever its size, at whole requests a second:
  `rate` divided by the smallest size. So `rate` is given in smallest blocks, and the number of
  submitters is chosen so that each has a whole number of requests a second.

What comes before a measurement is decided here, too: which method of purging there is, what is
written, which tests a round has, and whether another round follows. The tests are SNIA's, or a few
that a database resembles; neither is a test of SNIA's. Rounds are steady by SNIA's rule: over five
of them the values range over no more than 20 % of their mean, and their best straight line rises or
falls by no more than 10 % of it.
Source: SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24 and 7.
"""

import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stithy.fio.profile import KIB, MIB, SECTOR_BYTES, Pattern, Stream, average_bytes, format_size

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
class FioTarget:
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
class WrittenData:
    """What written data are like: the shares of them that compression and deduplication save."""

    compressible_share: float = 0.0
    duplicate_share: float = 0.0


PLAIN = WrittenData()
"""No two blocks are alike, and none gets smaller."""


@dataclass(frozen=True)
class FioLoad:
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
    data: WrittenData | None = None
    verify: bool = False
    logs: bool = True
    submitters: int = SUBMITTERS
    replay: Replay = "times"


def find_least_saved(every: Iterable[WrittenData]) -> WrittenData:
    """The data of which least is saved: no storage looks better by what nobody asked for."""
    known = list(every)
    return WrittenData(
        min(each.compressible_share for each in known), min(each.duplicate_share for each in known)
    )


def split_load(
    targets: Sequence[FioTarget], load: FioLoad, workers: int
) -> tuple[tuple[FioTarget, FioLoad], ...]:
    """What each of so many workers a target gets: its part of it, of rate and submitters, a seed.

    The load is that of all of them together.
    """
    count = len(targets) * workers
    rate = None if load.rate_per_s is None else load.rate_per_s / count
    submitters = max(SUBMITTERS_LEAST, load.submitters // count)
    parts = []
    for target in targets:
        size, begin = align_bytes(target.size_bytes / workers), target.begin_bytes
        parts += [
            replace(target, size_bytes=size, begin_bytes=begin + n * size) for n in range(workers)
        ]
    return tuple(
        (part, replace(load, rate_per_s=rate, seed=load.seed * count + n, submitters=submitters))
        for n, part in enumerate(parts)
    )


def align_bytes(size_bytes: float) -> int:
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


def space_evenly(requests_per_s: float, sizes: Mapping[int, float], jobs: int) -> Arrivals:
    """Evenly spaced by bytes: exact but for the fraction of a byte."""
    whole = max(1, round(requests_per_s / jobs * average_bytes(sizes)))
    return Arrivals(jobs, whole, is_random=False)


def draw_arrivals(
    requests_per_s: float, sizes: Mapping[int, float], jobs_most: int, jobs_least: int = 1
) -> Arrivals | None:
    """Random arrivals from as many submitters as are allowed; None where that misses the rate.

    Independent Poisson processes are together one of the sum of their rates.
    """
    least = max(1, math.ceil(requests_per_s / jobs_most))
    found = [
        (index, max(jobs_least, min(jobs_most, round(requests_per_s / index))))
        for index in range(least, SEARCHED_FACTOR * least + 1)
        if index <= SUBMITTER_MOST_PER_S
    ]
    # The first is that of the most submitters, which are late the least.
    for each, jobs in found:
        if abs(each * jobs / requests_per_s - 1) <= POISSON_ERROR_MOST:
            return Arrivals(jobs, each * min(sizes), is_random=True)
    return None


How = Literal["none", "fill", "snia"]
Matrix = Literal["full", "database"]
Purge = Literal["discard", "recreate", "none"]
"""`recreate`: a file is removed and made anew; whether the device learns of it is its file system's
matter."""

JOBS, DEPTH = 4, 32
"""Those that SNIA recommends."""

ROUNDS_MOST = 25
FILL_BYTES = 128 * KIB
FILL_PASSES = 2

_SNIA_MIXES = (1.0, 0.95, 0.65, 0.5, 0.35, 0.05, 0.0)
_SNIA_SIZES = (MIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, SECTOR_BYTES)
_SNIA_TRACKED = ((0.0, 4 * KIB), (0.65, 64 * KIB), (1.0, MIB))
_DATABASE_MIXES = (0.7, 0.0)
_DATABASE_SIZES = (16 * KIB, 8 * KIB)


@dataclass(frozen=True)
class PreconditioningPlan:
    """All that is done: a purge, passes of writing everything in sequence, and rounds of tests.

    `tracked` names the patterns of a round whose IOPS must be steady; no patterns, no rounds.
    """

    purge: Purge
    passes: int
    patterns: tuple[Pattern, ...]
    tracked: tuple[str, ...]

    def count_written_bytes(self, size_bytes: int) -> int:
        """What the passes write to a target of this size."""
        return self.passes * size_bytes


def plan(how: How, matrix: Matrix = "database", *, is_device: bool) -> PreconditioningPlan:
    """What is done before a measurement.

    `fill` writes everything once, so that nothing is read from where nothing was written.
    """
    if how != "snia":
        return PreconditioningPlan("none", 1 if how == "fill" else 0, (), ())
    full = matrix == "full"
    sizes = _SNIA_SIZES if full else _DATABASE_SIZES
    mixes = _SNIA_MIXES if full else _DATABASE_MIXES
    cells = [(mix, size) for mix in mixes for size in sizes]
    tracked = _SNIA_TRACKED if full else cells
    return PreconditioningPlan(
        purge="discard" if is_device else "recreate",
        passes=FILL_PASSES,
        patterns=tuple(_make_pattern(mix, size) for mix, size in cells),
        tracked=tuple(_name(mix, size) for mix, size in tracked),
    )


@dataclass(frozen=True)
class Decision:
    """Whether another round follows, after so many; `steady_after` is None while they are not."""

    goes_on: bool
    rounds: int
    steady_after: int | None


def decide(tracked: Mapping[str, Sequence[float]]) -> Decision:
    """What follows a round. Shapes: the IOPS of each tracked pattern, one entry a round."""
    rounds = min((len(values) for values in tracked.values()), default=0)
    found = find_steady_round(tracked)
    return Decision(found is None and rounds < ROUNDS_MOST, rounds, found)


def _make_pattern(read_share: float, size_bytes: int) -> Pattern:
    name = _name(read_share, size_bytes)
    sizes = {size_bytes: 1.0}
    stream = Stream(
        name="mixed",
        read_share=read_share,
        read_sizes=sizes if read_share > 0 else {},
        write_sizes=sizes if read_share < 1 else {},
        random_share=1.0,
        jobs=JOBS,
        iodepth=DEPTH,
        submission="async",
    )
    return Pattern(name=name, streams=(stream,))


def _name(read_share: float, size_bytes: int) -> str:
    percent = round(100 * read_share)
    return f"{percent}-{100 - percent}-{format_size(size_bytes).lower()}"


ROUNDS = 5
RANGE_MOST = 0.20
EXCURSION_MOST = 0.10


@dataclass(frozen=True)
class RoundsSteadiness:
    """The last window of a tracked value. Shares are of its mean; None: there is no window yet."""

    is_steady: bool
    range_share: float | None
    excursion_share: float | None


def judge_steadiness(values: Sequence[float]) -> RoundsSteadiness:
    """Whether the last rounds of these values are steady; fewer never are, nor a mean of 0."""
    window = values[-ROUNDS:]
    if len(window) < ROUNDS or (mean := sum(window) / ROUNDS) <= 0:
        return RoundsSteadiness(False, None, None)
    range_share = (max(window) - min(window)) / mean
    # The slope of the least-squares line over 0, 1, 2, …
    middle = (ROUNDS - 1) / 2
    rise = sum((at - middle) * (value - mean) for at, value in enumerate(window))
    slope = rise / sum((at - middle) ** 2 for at in range(ROUNDS))
    excursion_share = abs(slope) * (ROUNDS - 1) / mean
    is_steady = range_share <= RANGE_MOST and excursion_share <= EXCURSION_MOST
    return RoundsSteadiness(is_steady, range_share, excursion_share)


def find_steady_round(tracked: Mapping[str, Sequence[float]]) -> int | None:
    """The number of rounds after which all tracked values were first steady; None where never.

    Shapes: each value has one entry a round.
    """
    known = min((len(values) for values in tracked.values()), default=0)
    for count in range(ROUNDS, known + 1):
        if all(judge_steadiness(each[:count]).is_steady for each in tracked.values()):
            return count
    return None
