"""How much more does one candidate do than another, between which bounds, and what does order do?

A ratio of paired windows: the same level, the same block, the same seed. One pair gives a ratio and
no interval; two or three a plain t interval; from four on the interval that decides. A metric whose
best value is 0 has no ratio: its effect is the difference, in its unit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stithy.analysis.measures import Value
from stithy.analysis.statistics import (
    BLOCKS_LEAST,
    Bound,
    estimate_interval,
    estimate_plain_interval,
    find_critical_t,
    is_bounded,
)
from stithy.results.hlog import LoggedHistogram, merge


@dataclass(frozen=True)
class Difference:
    """B less A in their own unit, with the bounds of its interval; None with fewer than two."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Effect:
    """The ratio of B to A with its interval; `missing_because` is set where there is none.

    `low`, `high`: bounds of the 95 % interval, conservative from four pairs on, None with fewer
    than two. `apart`: how far B is from A in each block, in their order: the logarithm of the
    ratio. `b_later`: for each of them whether B came after A; empty where that is not known.
    `bounds`: by how much disturbances can have moved each of them, which `low` and `high` include.
    `difference`: of the same pairs; it decides nothing where there is a ratio. Without a ratio it
    is the effect: `low`, `high` and `apart` are differences, too.
    """

    ratio: float | None
    low: float | None
    high: float | None
    pairs: int
    missing_because: str | None = None
    apart: tuple[float, ...] = ()
    b_later: tuple[bool, ...] = ()
    difference: Difference | None = None
    bounds: tuple[Bound, ...] = ()

    @property
    def value(self) -> float | None:
        """The ratio, or the difference where that is compared; None where there is neither."""
        if self.ratio is not None or self.difference is None:
            return self.ratio
        return self.difference.mean

    def may_exceed(self, least: float) -> bool | None:
        """Whether it may be more, by its upper bound where there is one; None if not known."""
        most = self.value if self.high is None else self.high
        return None if most is None else most > least

    @property
    def is_difference(self) -> bool:
        """Whether it is a difference, in the unit of the metric, and no ratio."""
        return self.ratio is None and self.difference is not None

    @property
    def plain(self) -> bool:
        """Whether the interval is that of someone who looks once: it decides nothing.

        Own: a verdict needs as many blocks as `find_critical` says.
        """
        return self.pairs < BLOCKS_LEAST

    @property
    def plain_bounds(self) -> tuple[float, float] | None:
        """The bounds of the plain 95 % t interval, however many pairs there are; None without.

        Own: `estimate_plain_interval`, as ratios where these are compared.
        """
        known = estimate_plain_interval(self.apart)
        if known is None or self.is_difference:
            return known
        return convert_log(known[0]), convert_log(known[1])

    @property
    def distinguishable(self) -> bool | None:
        """Whether the interval excludes 1; None without one, or where a plain one does.

        Own: a plain interval may take a claim away, and gives none. A difference is none at 0.
        """
        if self.low is None or self.high is None:
            return None
        none = 0 if self.is_difference else 1
        apart = self.low > none or self.high < none
        return None if apart and self.plain else apart


def make_unknown_effect(reason: str) -> Effect:
    """The effect that could not be formed."""
    return Effect(None, None, None, 0, reason)


def estimate_paired_ratio(
    a: Sequence[float], b: Sequence[float], bounds: Sequence[Bound] = ()
) -> Effect:
    """Effect of candidate B against A over blocks that contain both.

    Shapes: `a` and `b` are (pairs,), same order, equal units, all greater than 0; so is `bounds`,
    what disturbances can have changed of the logarithm of each ratio, or it is empty.
    Edge cases: no pair, or a value of 0, gives an effect with a reason; one pair gives no interval.
    Source: docs/explanation/verdicts.md, "The interval".
    """
    if not a:
        return make_unknown_effect("no block has a valid window of both candidates")
    if min(*a, *b) <= 0:
        return make_unknown_effect("it is 0 in a window, so there is no ratio")
    logs = tuple(math.log(y / x) for x, y in zip(a, b, strict=True))
    known, less, kept = (
        estimate_interval(logs, bounds),
        estimate_difference(a, b),
        _keep_bounds(bounds),
    )
    if kept:  # they bound ratios
        less = Difference(less.mean)
    only = Effect(math.exp(logs[0]), None, None, 1, apart=logs, difference=less, bounds=kept)
    if known is None:
        return only
    low, high = convert_log(known.low), convert_log(known.high)
    return replace(only, ratio=math.exp(known.mean), low=low, high=high, pairs=len(logs))


def _keep_bounds(bounds: Sequence[Bound]) -> tuple[Bound, ...]:
    return tuple(bounds) if is_bounded(bounds) else ()


def estimate_paired_difference(
    a: Sequence[float], b: Sequence[float], bounds: Sequence[Bound] = ()
) -> Effect:
    """Effect of candidate B against A by a metric whose best value is 0: B less A.

    Shapes: as `estimate_paired_ratio` has them; 0 is a value, `bounds` are in the metric's unit.
    Edge cases: no pair gives an effect with a reason. One pair gives no interval, nor do pairs that
    do not scatter: counts are often the same by chance.
    Source: docs/explanation/verdicts.md, "Metrics whose best value is 0".
    """
    if not a:
        return make_unknown_effect("no block has a valid window of both candidates")
    less = estimate_difference(a, b, bounds)
    apart = tuple(y - x for x, y in zip(a, b, strict=True))
    if len(set(apart)) == 1:
        less = Difference(less.mean)
    found = Effect(None, less.low, less.high, len(apart), apart=apart, difference=less)
    return replace(found, bounds=_keep_bounds(bounds))


def estimate_difference(
    a: Sequence[float], b: Sequence[float], bounds: Sequence[Bound] = ()
) -> Difference:
    """B less A over paired blocks, with an interval made as that of the ratio.

    Shapes: `a` and `b` are (pairs,), same order, equal units; at least one pair.
    Source: docs/explanation/verdicts.md, "The interval", of differences instead of logarithms.
    """
    apart = [y - x for x, y in zip(a, b, strict=True)]
    known = estimate_interval(apart, bounds)
    if known is None:
        return Difference(apart[0])
    return Difference(known.mean, known.low, known.high)


def convert_log(log: float) -> float:
    """A log ratio as a ratio; what no number can hold is the largest or the smallest there is."""
    return math.exp(min(max(log, -700.0), 700.0))


EACH_ORDER_LEAST = 2
"""Blocks of each order. Own: the fewest that tell the place from the candidate and have a spread;
the interval of twice two blocks holds the truth in 95 of 100 cases, but is wide."""


@dataclass(frozen=True)
class Position:
    """What the later window of a block does, divided by the earlier one, over all blocks.

    `is_difference`: less the earlier one, and not divided by it. `low`, `high`: the plain 95 % t
    interval. All three are None with fewer than two blocks of either order. `b_later`: for each
    block whether B came after A.
    """

    value: float | None
    low: float | None
    high: float | None
    b_later: tuple[bool, ...]
    is_difference: bool = False

    @property
    def visible(self) -> bool | None:
        """Whether the interval excludes 1; None without one."""
        if self.low is None or self.high is None:
            return None
        none = 0 if self.is_difference else 1
        return self.low > none or self.high < none

    @property
    def a_first(self) -> int:
        """In how many blocks A came before B."""
        return sum(self.b_later)

    @property
    def balanced(self) -> bool:
        """Whether each came first in as many blocks as the other."""
        return 2 * self.a_first == len(self.b_later)


def estimate_position_effect(
    apart: Sequence[float], b_later: Sequence[bool], *, is_difference: bool = False
) -> Position:
    """The effect of the place in a block, from the log ratios `ln(b/a)` of blocks of both orders.

    Half the difference of the two orders' means, so that what B does more than A cancels; two
    means of one variance have n - 2 degrees of freedom. `b_later` belongs to `apart`, or is empty
    where the order is not known. `is_difference`: they are differences `b - a`.
    Source: Hills and Armitage (1979), The two-period cross-over clinical trial: the period effect.
    """
    orders = tuple(b_later)
    later = [log for log, after in zip(apart, orders, strict=False) if after]
    earlier = [log for log, after in zip(apart, orders, strict=False) if not after]
    if min(len(later), len(earlier)) < EACH_ORDER_LEAST:
        return Position(None, None, None, orders, is_difference)
    means = [math.fsum(part) / len(part) for part in (later, earlier)]
    squares = math.fsum(
        (log - mean) ** 2
        for part, mean in zip((later, earlier), means, strict=True)
        for log in part
    )
    degrees = len(later) + len(earlier) - 2
    error = math.sqrt(squares / degrees * (1 / len(later) + 1 / len(earlier))) / 2
    middle, half = (means[0] - means[1]) / 2, find_critical_t(degrees) * error
    shown = (lambda value: value) if is_difference else math.exp
    low, high = shown(middle - half), shown(middle + half)
    return Position(shown(middle), low, high, orders, is_difference)


@dataclass(frozen=True)
class Paired:
    """A metric of a candidate at a point, against the same point without what is beside its users.

    `blocks`: those that `effect` rests on, in its order. `windows`: the value of each window with
    what is beside users, by its id. `doubted_because`: why it supports no claim that little is
    lost, such as a backup that ran for a part of the measurement. `pooled`: the percentiles are of
    all blocks together.
    """

    effect: Effect
    blocks: tuple[int, ...] = ()
    windows: Mapping[str, Value] = field(default_factory=dict)
    doubted_because: str | None = None
    pooled: bool = False

    @property
    def values(self) -> tuple[float, ...]:
        """What each block comes to: ratios, or of a difference the differences."""
        if self.effect.is_difference:
            return self.effect.apart
        return tuple(math.exp(each) for each in self.effect.apart)


def compare_losses(a: Paired, b: Paired) -> Effect:
    """How much more is lost on B than on A, over the blocks of both.

    Of a ratio a ratio of ratios: below 1 B absorbs better what is beside its users, of a quantity
    that should be small. Of a difference a difference.
    Edge cases: without a common block an effect with its reason.
    Own: paired by block as any comparison is.
    """
    of_a, of_b = (dict(zip(each.blocks, each.values, strict=True)) for each in (a, b))
    bounds = [dict(zip(each.blocks, each.effect.bounds, strict=False)) for each in (a, b)]
    both = [block for block in of_a if block in of_b]
    if not both:
        missing = next((each.effect.missing_because for each in (a, b)
                        if each.effect.missing_because), None)  # fmt: skip
        return make_unknown_effect(missing or "no block has all four windows")
    compare = estimate_paired_difference if a.effect.is_difference else estimate_paired_ratio
    # What bounds the ratio, or the difference, of two of them: `b` to `a`.
    moved = ([of.get(block, (0.0, 0.0)) for of in bounds] for block in both)
    combined = [(second[0] + first[1], second[1] + first[0]) for first, second in moved]
    return compare([of_a[block] for block in both], [of_b[block] for block in both], combined)


def estimate_level(values: Sequence[float]) -> Effect:
    """The mean of what blocks come to, with an interval as a difference has it.

    For what is a share of seconds, and no ratio of two windows.
    """
    return estimate_paired_difference([0.0] * len(values), values)


def estimate_pooled_ratio(
    pairs: Sequence[tuple[LoggedHistogram, LoggedHistogram]],
    percent: float,
    needed: int,
    bounds: Sequence[Bound] = (),
) -> Effect | None:
    """The ratio of a percentile of all second ones together to that of all first ones.

    Its interval rests on pseudo-values, one a block: what a block adds is seen by leaving it out.
    None where either side has fewer than `needed` values in all. `bounds`: see
    `estimate_paired_ratio`.
    Source: the delete-a-group jackknife, Tukey (1958); Efron and Tibshirani (1993), chapter 11.
    """
    counts = (sum(each.count for each in side) for side in zip(*pairs, strict=True))
    if not pairs or min(counts) < needed:
        return None
    whole, count = _log_ratio(pairs, percent), len(pairs)
    if whole is None:
        return None
    if count == 1:
        return replace(estimate_paired_ratio([1.0], [math.exp(whole)], bounds), difference=None)
    without = [_log_ratio([*pairs[:n], *pairs[n + 1 :]], percent) for n in range(count)]
    if None in without:
        return None
    pseudo = [count * whole - (count - 1) * (each or 0.0) for each in without]
    effect = estimate_paired_ratio([1.0] * count, [math.exp(each) for each in pseudo], bounds)
    return replace(effect, difference=None)


def _log_ratio(
    pairs: Sequence[tuple[LoggedHistogram, LoggedHistogram]], percent: float
) -> float | None:
    first, second = (merge(side) for side in zip(*pairs, strict=True))
    if first is None or second is None:
        return None
    one, other = first.percentile_s(percent), second.percentile_s(percent)
    return math.log(other / one) if one and other else None
