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
from stithy.analysis.answers.paired import pairs_of
from stithy.analysis.answers.reactions import NO_MOMENTS, Moments, felt
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.values.measures import Value
from stithy.analysis.verdict.effect import paired_difference
from stithy.analysis.verdict.paired import Paired, level
from stithy.metrics import Quantity
from stithy.point import Point


def disturbance(
    evidence: Evidence,
    seconds: Mapping[str, Seconds],
    candidate: str,
    point: Point,
    alone: Point,
    growth: Mapping[Quantity, Paired],
    moments: Mapping[str, Moments] = NO_MOMENTS,
) -> Disturbance:
    """What a candidate's tenants lose at a point against the point where they are alone.

    `growth`: what of users grows by how much. `moments`: by window, when the neighbour worked;
    where it is not known, all the time.
    """
    of = {each.id: moments.get(each.id, Moments()) for each in evidence.valid_at(candidate, point)}
    found = [
        (other, of[other.id], pair)
        for one, other in pairs_of(evidence, candidate, point, alone)
        if (pair := disturbed(seconds.get(one.id, {}), seconds.get(other.id, {}),
                              of[other.id].worked))
    ]  # fmt: skip
    pairs = [pair for _, _, pair in found]
    kept = [each for pair in pairs for each in pair.kept]
    slowdowns = list(_slowdowns(pairs))
    isolated = _isolations([(window, pair) for window, _, pair in found])
    told = {
        name: evidence.level_of(candidate, point, Quantity(f"neighbour.{name}_per_s"))
        for name in ("asked", "offered", "achieved", "limit_bytes")
    }
    values = (isolation(pair.alone_kept) for pair in pairs if pair.kept)
    by_itself = [each for each in values if each is not None]
    # Isolation with the neighbour less that alone, of blocks in which it worked.
    known = [(isolation(pair.alone_kept), isolation(pair.kept)) for pair in pairs]
    both = [(x, y) for x, y in known if x is not None and y is not None]
    return Disturbance(
        candidate, point, growth,
        told["asked"], told["offered"], told["achieved"],
        isolation=isolated.effect.value,
        alone_isolation=fmean(by_itself) if by_itself else None,
        goodput=fmean(pair.goodput for pair in pairs) if pairs else None,
        lost=paired_difference([x for x, _ in both], [y for _, y in both]) if both else UNKNOWN,
        isolations=isolated,
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
        failed=sum(each.failed for each in of.values()),
    )  # fmt: skip


def _slowdowns(pairs: Sequence[Disturbed]) -> Iterator[float]:
    """Of each tenant the mean of the shares that it keeps."""
    for name in dict.fromkeys(name for pair in pairs for name in pair.slowdowns):
        yield fmean(pair.slowdowns[name] for pair in pairs if name in pair.slowdowns)


def _isolations(found: Sequence[tuple[Window, Disturbed]]) -> Paired:
    """Isolation of each block in which the neighbour worked, and their mean.

    Own: a mean over blocks, because its interval is that of blocks.
    """
    known = [(window, share) for window, pair in found
             if (share := isolation(pair.kept)) is not None]  # fmt: skip
    if not known:
        return Paired(UNKNOWN)
    values = {window.id: Value(share) for window, share in known}
    return Paired(level([each for _, each in known]), tuple(at.block for at, _ in known), values)


def lost_isolation(of: Disturbance) -> Paired:
    """What is lost of isolation: that alone less that with the neighbour, of the same blocks."""
    apart = [-each for each in of.lost.apart]
    if not apart:
        return Paired(of.lost)
    values = {name: Value(each) for name, each in zip(of.isolations.windows, apart, strict=True)}
    return Paired(level(apart), of.isolations.blocks, values)
