"""What tenants lose to a neighbour: isolation, fairness, work, each from paired windows.

Of a pair one window has the tenants alone and the other the same tenants, under the same load, with
the neighbour. Only valid windows are paired: where a tenant was lost the others had more storage.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from stithy.analysis.answers.disturbance import UNKNOWN, Disturbance
from stithy.analysis.answers.kept import (
    Disturbed,
    Seconds,
    disturbed,
    fairness,
    first_percentile,
    isolation,
    worst_second,
)
from stithy.analysis.answers.reactions import NO_MOMENTS, Moments, felt
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict.effect import Effect, no_effect, paired_difference, paired_ratio
from stithy.metrics import Quantity
from stithy.point import Point


def disturbance(
    evidence: Evidence,
    seconds: Mapping[str, Seconds],
    candidate: str,
    point: Point,
    alone: Point,
    quantities: Sequence[Quantity],
    moments: Mapping[str, Moments] = NO_MOMENTS,
) -> Disturbance:
    """What a candidate's tenants lose at a point against the point where they are alone.

    `moments`: by window, when the neighbour worked; where it is not known, all the time.
    """
    found = [
        (one, Moments.of(moments, other.id), pair)
        for one, other in pairs_of(evidence, candidate, point, alone)
        if (pair := disturbed(seconds.get(one.id, {}), seconds.get(other.id, {}),
                              Moments.of(moments, other.id).worked))
    ]  # fmt: skip
    pairs = [pair for _, _, pair in found]
    kept = [each for pair in pairs for each in pair.kept]
    slowdowns = list(_slowdowns(pairs))
    told = {
        name: evidence.level_of(candidate, point, Quantity(f"neighbour.{name}_per_s"))
        for name in ("asked", "offered", "achieved", "limit_bytes")
    }
    return Disturbance(
        candidate, point,
        {each: evidence.effect(candidate, candidate, point, each, alone) for each in quantities},
        told["asked"], told["offered"], told["achieved"],
        isolation=isolation(kept),
        alone_isolation=isolation([each for pair in pairs for each in pair.alone_kept]),
        goodput=fmean(pair.goodput for pair in pairs) if pairs else None,
        lost=_lost(pairs),
        first_percentile=first_percentile(kept),
        worst_second=worst_second(kept),
        fairness=fairness(slowdowns),
        least_kept=min(slowdowns, default=None),
        worked=fmean(len(pair.kept) / len(pair.all_kept) for pair in pairs) if pairs else None,
        felt=felt([each for _, when, pair in found for each in when.reactions(pair.all_kept)]),
        by_chance=felt(
            [each for _, when, pair in found for each in when.reactions(pair.alone_kept)]
        ),
        has_limit=told["limit_bytes"] is not None,
        failed=sum(
            Moments.of(moments, each.id).failed for each in evidence.valid_at(candidate, point)
        ),
    )  # fmt: skip


def _slowdowns(pairs: Sequence[Disturbed]) -> Iterator[float]:
    """Of each tenant the mean of the shares that it keeps."""
    for name in dict.fromkeys(name for pair in pairs for name in pair.slowdowns):
        yield fmean(pair.slowdowns[name] for pair in pairs if name in pair.slowdowns)


def _lost(pairs: Sequence[Disturbed]) -> Effect:
    """Isolation with the neighbour less that alone, of blocks in which it worked."""
    known = [(isolation(pair.alone_kept), isolation(pair.kept)) for pair in pairs]
    both = [(x, y) for x, y in known if x is not None and y is not None]
    return paired_difference([x for x, _ in both], [y for _, y in both]) if both else UNKNOWN


def pairs_of(
    evidence: Evidence, candidate: str, point: Point, alone: Point
) -> Iterator[tuple[Window, Window]]:
    """Of each block that has a valid window of both: that alone, then that with the neighbour."""
    firsts = {window.block: window for window in evidence.valid_at(candidate, alone)}
    for window in evidence.valid_at(candidate, point):
        if (first := firsts.get(window.block)) is not None:
            yield first, window


def absorbed(
    evidence: Evidence, a: str, b: str, point: Point, alone: Point, quantity: Quantity
) -> Effect:
    """How much more a quantity grows on B than on A under the neighbour, over blocks of both.

    Below 1, B absorbs the neighbour better, of a quantity that should be small.
    Edge cases: without a block that has all four windows an effect with its reason.
    Own: a ratio of ratios, paired by block as any comparison is.
    """
    of_a, of_b = (_growths(evidence, name, point, alone, quantity) for name in (a, b))
    both = [block for block in of_a if block in of_b]
    if not both:
        return no_effect(f"no block has {quantity} of both, alone and with the neighbour")
    return paired_ratio([of_a[block] for block in both], [of_b[block] for block in both])


def _growths(
    evidence: Evidence, candidate: str, point: Point, alone: Point, quantity: Quantity
) -> dict[int, float]:
    found = {}
    for first, window in pairs_of(evidence, candidate, point, alone):
        one = evidence.value_of(first, quantity).number
        other = evidence.value_of(window, quantity).number
        if one and other:
            found[window.block] = other / one
    return found
