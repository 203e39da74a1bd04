"""What is beside users costs them so much: a metric with it against that without, of one candidate.

Of a block one window has it and the other does not. Where a window has too few values for a
percentile, that of all blocks together is compared, and blocks are left out in turn to see how much
each of them matters.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stithy.analysis.values.measures import Value
from stithy.analysis.verdict.effect import Effect, no_effect, paired_difference, paired_ratio
from stithy.analysis.verdict.statistics import Bound
from stithy.results.hlog import Histogram, merge


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


def absorbed(a: Paired, b: Paired) -> Effect:
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
        return no_effect(missing or "no block has all four windows")
    compare = paired_difference if a.effect.is_difference else paired_ratio
    return compare(
        [of_a[block] for block in both], [of_b[block] for block in both],
        [_of_both(*(of.get(block, (0.0, 0.0)) for of in bounds)) for block in both],
    )  # fmt: skip


def _of_both(a: Bound, b: Bound) -> Bound:
    """What bounds the ratio, or the difference, of two of them: `b` to `a`."""
    return b[0] + a[1], b[1] + a[0]


def level(values: Sequence[float]) -> Effect:
    """The mean of what blocks come to, with an interval as a difference has it.

    For what is a share of seconds, and no ratio of two windows.
    """
    return paired_difference([0.0] * len(values), values)


def pooled_ratio(
    pairs: Sequence[tuple[Histogram, Histogram]],
    percent: float,
    needed: int,
    bounds: Sequence[Bound] = (),
) -> Effect | None:
    """The ratio of a percentile of all second ones together to that of all first ones.

    Its interval rests on pseudo-values, one a block: what a block adds is seen by leaving it out.
    None where either side has fewer than `needed` values in all. `bounds`: as `paired_ratio` has
    them.
    Source: the delete-a-group jackknife, Tukey (1958); Efron and Tibshirani (1993), chapter 11.
    """
    counts = (sum(each.count for each in side) for side in zip(*pairs, strict=True))
    if not pairs or min(counts) < needed:
        return None
    whole, count = _log_ratio(pairs, percent), len(pairs)
    if whole is None:
        return None
    if count == 1:
        return replace(paired_ratio([1.0], [math.exp(whole)], bounds), difference=None)
    without = [_log_ratio([*pairs[:n], *pairs[n + 1 :]], percent) for n in range(count)]
    if None in without:
        return None
    pseudo = [count * whole - (count - 1) * (each or 0.0) for each in without]
    effect = paired_ratio([1.0] * count, [math.exp(each) for each in pseudo], bounds)
    return replace(effect, difference=None)


def _log_ratio(pairs: Sequence[tuple[Histogram, Histogram]], percent: float) -> float | None:
    first, second = (merge(side) for side in zip(*pairs, strict=True))
    if first is None or second is None:
        return None
    one, other = first.percentile_s(percent), second.percentile_s(percent)
    return math.log(other / one) if one and other else None
