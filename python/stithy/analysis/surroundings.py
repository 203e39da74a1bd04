"""What was around a window: who watched it, and how much of the machine others took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import factorial
from statistics import median

import polars as pl

from stithy.analysis.series import Sampled
from stithy.results.tables import STOPPED, UNANSWERED
from stithy.validity import Row


@dataclass(frozen=True)
class WatchedWindow:
    """What the collectors gave of a window's measurement.

    `stopped` are those that died by a fault, `unanswered` those that the server did not answer;
    what a machine does not have is neither. `seconds`: how many have any sample, None where nobody
    looked. `steal_share`: what the hypervisor gave to others, on average.
    """

    stopped: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    seconds: int | None = None
    steal_share: float | None = None


def read_watched(samples: Sampled, windows: pl.DataFrame) -> dict[str, WatchedWindow]:
    """By window; a run that kept no series at all was not looked at."""
    if not samples.any_rows:
        return {}
    found = {row["window_id"]: row for row in samples.seen.to_dicts()}
    stopped, unanswered = (
        _list_ended(samples.ended, STOPPED),
        _list_ended(samples.ended, UNANSWERED),
    )
    return {
        name: WatchedWindow(
            stopped.get(name, ()),
            unanswered.get(name, ()),
            found[name]["seconds"] if name in found else 0,
            found[name]["steal_share"] if name in found else None,
        )
        for name in windows["window_id"].to_list()
    }


def _list_ended(ends: pl.DataFrame, why: str) -> dict[str, tuple[str, ...]]:
    kind = ends.filter(pl.col("missing_because").str.starts_with(why))
    keys = ("window_id", "collector", "instance")
    ended: dict[str, tuple[str, ...]] = {}
    for window_id, collector, instance in kind.select(keys).unique().sort(keys).iter_rows():
        name = f"{collector} of {instance}" if instance else collector
        ended[window_id] = (*ended.get(window_id, ()), name)
    return ended


OTHERS_CPU_SHARE = 0.05
"""Own: of all CPUs, on average; what an idle system does of its own is far less."""

OTHERS_BYTES_SHARE = 0.05
OTHERS_BYTES_PER_S = 2**20
"""Own: of what the disks moved in all, and not what logs of an idle system come to."""

STEAL_SHARE = 0.02
"""Own: as `stithy doctor` judges it."""


def find_taken_share(around: Row | None, watched: WatchedWindow) -> float | None:
    """The share of CPUs, or of what disks under the volumes moved, that was not the run's own.

    Edge cases: None where nobody counted; a disk that others hardly used counts as the run's.
    Own: the larger of both, as a window meets both at once.
    """
    if around is None or not around["span_s"] or not around["cpus"]:
        return None
    cpus = float(around["others_cpu_s"] / around["span_s"] / around["cpus"])
    disks = around["others_here_bytes"] / around["disks_bytes"] if is_disk_shared(around) else 0.0
    return max(cpus + (watched.steal_share or 0.0), float(disks))


def is_disk_shared(around: Row) -> bool:
    """Whether others moved so much on the disks that it must be reported."""
    moved, disks = around["others_here_bytes"], around["disks_bytes"]
    least = OTHERS_BYTES_PER_S * around["span_s"]
    return bool(disks) and moved > max(OTHERS_BYTES_SHARE * disks, least)


LEAST = 4
"""Own: of three or fewer nobody can say which one is odd, unless it is beyond any noise."""

DEVIATIONS = 3.0
"""Median deviations. Source: docs/explanation/method.md, "Baseline checks of the machine"."""

CHANCE_SHARE = 0.05
"""Own: a trend is reported if chance alone gives as clear a one in at most so many runs."""


@dataclass(frozen=True)
class Gauge:
    """One figure of a baseline check: its column, its words, and what nobody can tell from noise.

    `floor_share`: a difference from the median that says nothing, however small the others are.
    `ceiling_share`: one that no noise explains, however large the others are.
    """

    column: str
    what: str
    floor_share: float
    ceiling_share: float

    @property
    def is_rate(self) -> bool:
        """Whether more of it is faster, by the unit of its column; of a time it is slower."""
        return self.column.endswith("_per_s")

    def name_change(self, *, grew: bool) -> tuple[str, str]:
        """The words around by how much it changed: one CPU `did … less`, reads `took … longer`."""
        verb, *ways = ("did", "less", "more") if self.is_rate else ("took", "shorter", "longer")
        return verb, ways[grew]


GAUGES = (
    Gauge("one_rounds_per_s", "one CPU", 0.05, 0.5),
    Gauge("all_rounds_per_s", "all CPUs", 0.05, 0.5),
    Gauge("read_p50_s", "reads", 1 / 3, 1.0),
)
"""Own: half the work, or twice the time of a read, is another machine. The floors were measured on
a quiet virtual machine, where CPUs did their work within 0.3 % of the median but once (2.4 %), and
the median read took 36 to 48 µs, up to 27 % off, with the host's neighbours.
"""


@dataclass(frozen=True)
class Usual:
    """What is usual of a figure: its median, and by which share of it a value may be off.

    With fewer than `LEAST` values it is the ceiling of the figure.
    """

    middle: float
    allowed_share: float


@dataclass(frozen=True)
class Off:
    """A figure that is off: by which share of the median, and by how much that is allowed."""

    gauge: Gauge
    share: float
    allowed_share: float


@dataclass(frozen=True)
class Baseline:
    """One baseline check: its row, by which share each known figure is off, and what is too far."""

    row: Row
    shares: Mapping[str, float]
    off: tuple[Off, ...]


@dataclass(frozen=True)
class Trend:
    """How a figure changed from the first baseline check to the last, as a share of its median.

    `chance_share`: how often chance gives as clear an order. `clear`: it is rarer than chance, and
    more than the floor of its figure.
    """

    gauge: Gauge
    share: float
    chance_share: float

    @property
    def clear(self) -> bool:
        return self.chance_share <= CHANCE_SHARE and abs(self.share) > self.gauge.floor_share


def judge_baselines(rows: Sequence[Row]) -> tuple[Baseline, ...]:
    """All baseline checks in the order of their time, each held against all of them.

    Edge cases: with fewer than `LEAST` of a figure only what is beyond its ceiling is off; what is
    not known is not judged.
    Source: docs/explanation/method.md, "Baseline checks of the machine".
    """
    ordered = sorted(rows, key=lambda row: row["at_s"])
    usual = {gauge.column: find_usual(ordered, gauge) for gauge in GAUGES}
    return tuple(_judge_baseline(row, usual) for row in ordered)


def find_trends(rows: Sequence[Row]) -> tuple[Trend, ...]:
    """How each figure that is known of `LEAST` baseline checks changed over the run.

    The slope is the median of all slopes between two; its chance that of the order of the values.
    Source: Theil (1950), Sen (1968); Mann (1945), Kendall (1975).
    """
    found = []
    for gauge in GAUGES:
        known = [(row["at_s"], row[gauge.column]) for row in rows if row[gauge.column] is not None]
        if len(known) >= LEAST and (middle := median(value for _, value in known)):
            known.sort()
            slopes = [
                (later - earlier) / (then_s - first_s)
                for number, (first_s, earlier) in enumerate(known)
                for then_s, later in known[number + 1 :]
                if then_s > first_s
            ]
            span_s = known[-1][0] - known[0][0]
            share = median(slopes) * span_s / middle if slopes else 0.0
            found.append(Trend(gauge, share, order_chance([value for _, value in known])))
    return tuple(found)


def order_chance(values: Sequence[float]) -> float:
    """How often a random order of as many values rises or falls as clearly as this one.

    Both ways counted; exact without equal values, which count for neither way.
    Source: Mann (1945); the counts of inversions are the Mahonian numbers.
    """
    n, pairs = len(values), len(values) * (len(values) - 1) // 2
    falls = sum(values[j] < values[i] for j in range(n) for i in range(j))
    rises = sum(values[j] > values[i] for j in range(n) for i in range(j))
    counts = _count_inversions(n)
    as_clear = (pairs - abs(rises - falls)) // 2
    return float(min(1.0, 2 * sum(counts[: as_clear + 1]) / factorial(n)))


@cache
def _count_inversions(n: int) -> tuple[int, ...]:
    counts = [1]
    for size in range(2, n + 1):
        # The n-th value adds 0 to n - 1 inversions: a sum of as many neighbours.
        sums = [0, *accumulate(counts)]
        last = len(counts)
        counts = [
            sums[min(k + 1, last)] - sums[max(0, k + 1 - size)] for k in range(last + size - 1)
        ]
    return tuple(counts)


def find_usual(rows: Sequence[Row], gauge: Gauge) -> Usual | None:
    """What is usual of a figure by all baseline checks; None where none of them has it.

    Source: docs/explanation/method.md, "Baseline checks of the machine".
    """
    values = [row[gauge.column] for row in rows if row[gauge.column] is not None]
    if not values or not (middle := median(values)):
        return None
    if len(values) < LEAST:
        return Usual(middle, gauge.ceiling_share)
    deviation = median(abs(value / middle - 1) for value in values)
    allowed = max(DEVIATIONS * deviation, gauge.floor_share)
    return Usual(middle, min(allowed, gauge.ceiling_share))


def _judge_baseline(row: Row, usual: Mapping[str, Usual | None]) -> Baseline:
    shares, off = {}, []
    for gauge in GAUGES:
        value, known = row[gauge.column], usual[gauge.column]
        if value is None or known is None:
            continue
        share = shares[gauge.column] = value / known.middle - 1
        if abs(share) > known.allowed_share:
            off.append(Off(gauge, share, known.allowed_share))
    return Baseline(row, shares, tuple(off))
