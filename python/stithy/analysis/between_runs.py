"""How much more did a candidate do in one run than in another, and how sure is that?

Runs come one after the other, so their windows are no blocks and are not paired: two samples with a
scatter of their own each. What drifted between the runs stands in the difference. As far as the
runs saw it (`estimate_drift`), an interval is wider by it; of the rest it knows nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.statistics import adjust_by_holm, find_critical_t, find_tail_chance
from stithy.analysis.surroundings import GAUGES, OTHERS_CPU_SHARE, Gauge, find_usual
from stithy.analysis.verdict import WRONG_SHARE
from stithy.metrics import ALL, Quantity
from stithy.point import Point

TAKEN_MOST = 0.99
"""Own: of what is left by others; beyond it nothing is known of a run."""


@dataclass(frozen=True)
class Moved:
    """How many times as much as in the earlier run a figure of the baseline checks is.

    `counts`: whether windows may differ by as much; else nobody can tell it from noise.
    """

    gauge: Gauge
    ratio: float
    counts: bool


@dataclass(frozen=True)
class Taken:
    """The mean share of CPUs or disks that others took, in the windows of two runs."""

    base: float
    other: float

    @property
    def differs(self) -> bool:
        """Whether it differs by more than an idle system does of its own."""
        return abs(self.base - self.other) > OTHERS_CPU_SHARE

    @property
    def log(self) -> float:
        """How far apart two runs are that had as much left, as a logarithm.

        Source: the utilisation law: throughput is at most in proportion to what is left.
        """
        base, other = (1 - min(each, TAKEN_MOST) for each in (self.base, self.other))
        return abs(math.log(other / base))


def compare_baselines(base: Evidence, other: Evidence) -> tuple[Moved, ...]:
    """How the baseline checks of two runs differ; empty where either has none.

    Own: medians over each run. CPUs count however little they differ, for they scatter little;
    reads from where the constants of `validity.baseline` tell them from noise.
    """
    found = []
    for gauge in GAUGES:
        known = [
            find_usual([baseline.row for baseline in run.baselines], gauge) for run in (base, other)
        ]
        one, two = known
        if one is not None and two is not None:
            ratio = two.middle / one.middle
            beyond = abs(math.log(ratio)) > math.log(1 + gauge.floor_share)
            found.append(Moved(gauge, ratio, gauge.is_rate or beyond))
    return tuple(found)


def compare_taken(base: Sequence[Window], other: Sequence[Window]) -> Taken | None:
    """What others took in the windows of two runs; None where it is not known of either."""
    shares = [
        [window.taken_share for window in windows if window.taken_share is not None]
        for windows in (base, other)
    ]
    return Taken(*map(fmean, shares)) if all(shares) else None


def estimate_drift(found: Sequence[Moved], others: Taken | None) -> float:
    """By how much two values of these runs may differ at least, as a logarithm.

    The larger of both: a neighbour that windows met is met by baseline checks, too.
    """
    machine = (abs(math.log(each.ratio)) for each in found if each.counts)
    return max([others.log if others else 0.0, *machine])


WHOSE = ("the base", "the other run")

ROUNDING = 1e-12
"""Own: logarithms of equal numbers scatter by no more than this."""


@dataclass(frozen=True)
class RunChange:
    """A ratio of means with its 95 % interval; `missing_because` is set where there is none.

    `difference`: of a metric whose best value is 0, instead of a ratio; the bounds are its own.
    `base`, `other`: how many windows of each run. `low` and `high` are None with fewer than two of
    either, and where the windows do not scatter at all: so few are no measure of it.
    `chance_share`: how often chance alone gives as much, adjusted where there are several rows.
    `drift_share`: by how much the machine itself differed at least; the interval has it on both
    sides, and chance is that of what is beyond it.
    """

    ratio: float | None
    low: float | None
    high: float | None
    base: int
    other: int
    chance_share: float | None = None
    missing_because: str | None = None
    drift_share: float = 0.0
    difference: float | None = None

    @property
    def is_known(self) -> bool:
        return self.ratio is not None or self.difference is not None

    @property
    def distinguishable(self) -> bool:
        """Whether chance is out of the question; without an interval nothing is distinguished.

        Own: `WRONG_SHARE` of `verdict.decide`, as in a study.
        """
        return self.chance_share is not None and self.chance_share <= WRONG_SHARE


@dataclass(frozen=True)
class Row:
    """A candidate at a level by a metric, in the base run and in the other one.

    `value_base`, `value_other`: as the report has them, in the metric's unit; of sums those of one
    window.
    """

    candidate: str
    point: Point
    quantity: Quantity
    value_base: float | None
    value_other: float | None
    change: RunChange


def compare_runs(
    base: Evidence, other: Evidence, quantities: Sequence[Quantity]
) -> tuple[Row, ...]:
    """The rows of all candidates and levels that both runs have, by metric, candidate, level.

    Among many rows one differs by chance, so chances are adjusted for how many there are.
    Source: Holm (1979); see `compare_as_ratio` for the estimate.
    """
    names, levels = list_shared(base, other)
    machine = compare_baselines(base, other)
    rows = [
        _make_row(base, other, (name, point), quantity, machine)
        for quantity in quantities
        for name in names
        for point in levels
    ]
    shares = adjust_by_holm([row.change.chance_share for row in rows])
    return tuple(
        replace(row, change=replace(row.change, chance_share=share))
        for row, share in zip(rows, shares, strict=True)
    )


def list_shared(base: Evidence, other: Evidence) -> tuple[tuple[str, ...], tuple[Point, ...]]:
    """The candidates and points that both runs have, in the order of the base."""
    return (
        tuple(name for name in base.candidates if name in other.candidates),
        tuple(point for point in base.points if point in other.points),
    )


def compare_as_ratio(
    base: Sequence[float], other: Sequence[float], drift_log: float = 0.0
) -> RunChange:
    """The ratio of `other` to `base`: of their geometric means, with Welch's interval.

    `drift_log`: how far the two may lie apart by the machine alone, as a logarithm.

    Shapes: `base` is (windows,), `other` (windows,) of its own number; equal units, all above 0.
    Edge cases: a side without windows, or a value of 0, gives a reason; one window of either side
    or windows without any scatter give no interval.
    Source: Welch (1947) on logarithms, degrees of freedom by Satterthwaite, rounded down.
    """
    if not base or not other:
        return _explain_no_window(base, other)
    if min(*base, *other) <= 0:
        return _make_unknown(base, other, "a window completed nothing")
    log, half, chance = _apply_welch(
        [math.log(each) for each in base], [math.log(each) for each in other], drift_log, ROUNDING
    )
    low, high = (None, None) if half is None else (math.exp(log - half), math.exp(log + half))
    return RunChange(
        math.exp(log), low, high, len(base), len(other), chance, drift_share=math.expm1(drift_log)
    )


def compare_as_difference(
    base: Sequence[float], other: Sequence[float], drift_log: float = 0.0
) -> RunChange:
    """`other` less `base`, of metrics whose best value is 0: of their means, with Welch's interval.

    Shapes and edge cases: as `compare_as_ratio`, but 0 is a value. The drift of the machine, a
    factor, is that of the larger mean.
    Source: Welch (1947), degrees of freedom by Satterthwaite, rounded down.
    """
    if not base or not other:
        return _explain_no_window(base, other)
    drift_share, largest = math.expm1(drift_log), max(map(abs, (*base, *other)))
    drift = drift_share * max(abs(fmean(base)), abs(fmean(other)))
    apart, half, chance = _apply_welch(base, other, drift, ROUNDING * largest)
    low, high = (None, None) if half is None else (apart - half, apart + half)
    return RunChange(
        None, low, high, len(base), len(other), chance, drift_share=drift_share, difference=apart
    )


def _apply_welch(
    base: Sequence[float], other: Sequence[float], drift: float, rounding: float
) -> tuple[float, float | None, float | None]:
    """How far apart the means are, half their interval, and how often chance gives as much.

    The latter are None with fewer than two of either, and where nothing scatters beyond `rounding`.
    """
    apart = fmean(other) - fmean(base)
    if min(len(base), len(other)) < 2:
        return apart, None, None
    parts = [variance(each) / len(each) for each in (base, other)]
    error = math.sqrt(sum(parts))
    if error <= rounding:
        return apart, None, None
    shares = [part / error**2 for part in parts]
    exact = 1 / (shares[0] ** 2 / (len(base) - 1) + shares[1] ** 2 / (len(other) - 1))
    degrees = max(1, math.floor(exact + 1e-9))  # 3.999999 is 4
    chance = find_tail_chance(max(0.0, abs(apart) - drift) / error, degrees)
    return apart, find_critical_t(degrees) * error + drift, chance


def _explain_no_window(base: Sequence[float], other: Sequence[float]) -> RunChange:
    return _make_unknown(base, other, f"{WHOSE[0] if not base else WHOSE[1]} has no valid window")


def _make_unknown(base: Sequence[float], other: Sequence[float], because: str) -> RunChange:
    return RunChange(None, None, None, len(base), len(other), missing_because=because)


def _make_row(
    base: Evidence,
    other: Evidence,
    of: tuple[str, Point],
    quantity: Quantity,
    machine: Sequence[Moved],
) -> Row:
    candidate, point = of
    values = [_list_values(each, candidate, point, quantity) for each in (base, other)]
    others = compare_taken(base.valid_at(*of), other.valid_at(*of))
    unpaired = compare_as_ratio if quantity.known.negligible is None else compare_as_difference
    change = unpaired(values[0], values[1], estimate_drift(machine, others))
    if others is not None and others.differs and quantity.known.percent is not None:
        # Of a percentile: how much longer answers take where others use the CPUs has no bound.
        shares = f"{others.base:.0%} and {others.other:.0%}".replace("%", " %")
        because = (
            f"other programs used {shares} of the machine, which gives no bound of a percentile"
        )
        change = replace(change, low=None, high=None, chance_share=None, missing_because=because)
    for evidence, known, whose in zip((base, other), values, WHOSE, strict=True):
        if not known and evidence.valid_at(candidate, point):
            change = replace(change, missing_because=f"no valid window of {whose} has it")
            break
    shown = [each.level_of(*of, quantity) for each in (base, other)]
    if quantity.known.combined == "sum":  # runs differ in their number of windows
        shown = [fmean(known) if known else None for known in values]
    return Row(candidate, point, quantity, shown[0], shown[1], change)


def _list_values(
    evidence: Evidence, candidate: str, point: Point, quantity: Quantity
) -> list[float]:
    """Of each window; of what is paired, of each block."""
    if quantity.known.combined == "paired":
        paired = evidence.paired_of(candidate, point, quantity)
        return [] if paired is None else list(paired.values)
    metric, windows = quantity.known, evidence.valid_at(candidate, point)
    if metric.source in ("window", "transactions"):
        # Few values behind a percentile show in how windows scatter.
        known = [window.value(metric.column, quantity.of or ALL) for window in windows]
    else:
        known = [evidence.value_of(window, quantity).number for window in windows]
    return [value for value in known if value is not None]
