"""What comes before a measurement, so that storage is in the state in which it will be used.

Pure decisions: which method of purging there is, what is written, which tests a round has, and
whether another round follows. Rounds follow SNIA's rule (`steady`), with its tests or a few that a
database resembles; neither is a test of SNIA's.
Source: SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24 and 7.

The steady state of rounds of a test, as SNIA's Performance Test Specification has it.
Over a measurement window of five rounds, the values range over no more than 20 % of their mean, and
their best straight line rises or falls by no more than 10 % of it within the window.
Source: SNIA Solid State Storage Performance Test Specification 2.0.2, 2.1.24.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from stithy.fio.profile import KIB, MIB, SECTOR_BYTES, Pattern, Stream, size_text

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

    def written_bytes(self, size_bytes: int) -> int:
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
    rounds = min((len(each) for each in tracked.values()), default=0)
    found = steady_after(tracked)
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
    return f"{percent}-{100 - percent}-{size_text(size_bytes).lower()}"


ROUNDS = 5
RANGE_MOST = 0.20
EXCURSION_MOST = 0.10


@dataclass(frozen=True)
class RoundsSteadiness:
    """The last window of a tracked value. Shares are of its mean; None: there is no window yet."""

    is_steady: bool
    range_share: float | None
    excursion_share: float | None


def steadiness(values: Sequence[float]) -> RoundsSteadiness:
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


def steady_after(tracked: Mapping[str, Sequence[float]]) -> int | None:
    """The number of rounds after which all tracked values were first steady; None where never.

    Shapes: each value has one entry a round.
    """
    known = min((len(each) for each in tracked.values()), default=0)
    for count in range(ROUNDS, known + 1):
        if all(steadiness(each[:count]).is_steady for each in tracked.values()):
            return count
    return None
