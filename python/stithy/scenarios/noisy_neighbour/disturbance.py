"""What a candidate's tenants lose to a neighbour, and whether that can be borne.

Isolation of a neighbour that works in cycles is that of the seconds of its cycles, so that it does
not look harmless for its pauses; percentiles are of the whole measurement. Chance takes a part of
isolation, and few blocks have wide intervals: then it is not decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from stithy.analysis.comparisons import pair_windows
from stithy.analysis.effect import (
    Effect,
    Paired,
    estimate_level,
    estimate_paired_difference,
    make_unknown_effect,
)
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.measures import Value
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.scenarios.noisy_neighbour.reactions import (
    NO_MOMENTS,
    Disturbed,
    Felt,
    Moments,
    Seconds,
    compare_pair,
    find_first_percentile,
    find_worst_second,
    measure_fairness,
    measure_isolation,
    summarise_reactions,
)

ISOLATED_SHARE = 0.9
GROWTH_MOST = 2.0
"""Own: the largest neighbour load is acceptable up to which so many seconds are isolated, of those
that are alone, and the percentile of response time grows at most so much, by the upper end of its
interval."""

ALONE_SHARE_LEAST = 0.8
"""Own: with fewer isolated seconds alone a second says more of chance than of a neighbour. Arrivals
by Poisson leave so many of tenants with 70 transactions a second in all."""

ACHIEVED_SHARE = 0.95
"""Own: a neighbour that achieves less of what is offered is saturated."""

UNKNOWN = make_unknown_effect("no block has the tenants alone and with the neighbour")


@dataclass(frozen=True)
class Disturbance:
    """What a candidate's tenants lose at a point; None and an effect without a ratio: not known.

    `growth`: by quantity its value with the neighbour against that alone. `asked` and the like are
    requests or cycles per second. `isolation`, `alone_isolation`: means over blocks, by block in
    `isolations`. `lost`: isolation with the neighbour less that alone, by block.
    `least_kept`: the share of its throughput that the tenant keeps which keeps least. `worked`: the
    share of the measurement in which the neighbour worked. `by_chance`: what is felt at the same
    moments of the windows alone. `has_limit`: a guard counts its bytes. `failed`: cycles of it.
    """

    candidate: str
    point: Point
    growth: Mapping[Quantity, Paired]
    asked: float | None
    offered: float | None
    achieved: float | None
    isolation: float | None
    alone_isolation: float | None
    goodput: float | None
    lost: Effect = UNKNOWN
    isolations: Paired = Paired(UNKNOWN)
    first_percentile: float | None = None
    worst_second: float | None = None
    fairness: float | None = None
    least_kept: float | None = None
    worked: float | None = None
    felt: Felt | None = None
    by_chance: Felt | None = None
    has_limit: bool = False
    failed: int = 0

    @property
    def saturated(self) -> bool:
        """Whether the neighbour achieved less than was offered."""
        known = self.achieved is not None and self.offered
        return bool(known and (self.achieved or 0) < ACHIEVED_SHARE * (self.offered or 0))

    @property
    def limited(self) -> bool:
        """Whether it achieved less than was asked, and a guard is why, or may be."""
        if self.asked is None or self.achieved is None:
            return False
        offered_less = self.offered is not None and self.offered < self.asked
        return self.achieved < ACHIEVED_SHARE * self.asked and (self.has_limit or offered_less)

    @property
    def work(self) -> float | None:
        """Work of all against what each does alone: of 2 where neither loses anything."""
        if self.goodput is None or self.achieved is None or not self.asked:
            return None
        return self.goodput + self.achieved / self.asked

    @property
    def reacted(self) -> Felt | None:
        """What the tenants felt; None where it may be chance.

        Own: it may where half as much or more would be felt at the same moments alone.
        """
        alike = self.by_chance.felt if self.by_chance else 0
        return self.felt if self.felt is not None and 2 * alike < self.felt.felt else None

    @property
    def isolated(self) -> bool | None:
        """Whether isolation holds, apart from what chance takes of it; None: not decided.

        Own: it does not where it is too small and the interval of what is lost excludes 0. Shares
        have ends, such as no isolated second at all: blocks that all lose the same are no chance.
        """
        if self.isolation is None or not self.alone_isolation:
            return None
        holds, lost = self.isolation / self.alone_isolation >= ISOLATED_SHARE, self.lost
        known = None if holds or lost.plain else lost.difference
        if known is not None and (known.mean if lost.high is None else lost.high) < 0:
            return False
        return True if holds and self.alone_isolation >= ALONE_SHARE_LEAST else None

    def is_blind(self, tail: Quantity) -> bool:
        """Whether the neighbour worked so little that a percentile need not show it."""
        beyond = 1 - (tail.known.percent or 0) / 100
        return self.worked is not None and self.worked <= beyond

    def is_short(self, tail: Quantity) -> bool | None:
        """Whether the tail stays within its bound; None: not decided.

        Own: it does not where its interval lies beyond. A plain interval gives no claim, neither
        this nor that.
        """
        effect = self.growth[tail].effect
        if effect.plain or effect.low is None or effect.high is None:
            return None
        if effect.low > GROWTH_MOST:
            return False
        return True if effect.high <= GROWTH_MOST and not self.is_blind(tail) else None

    def is_bearable(self, tail: Quantity) -> bool | None:
        """Whether isolation holds and the tail stays within its bound; None: not decided.

        What achieved nothing, such as where every cycle failed, cannot show what tenants bear.
        """
        both = self.isolated, self.is_short(tail)
        if False in both:
            return False
        return None if None in both or self.achieved == 0 else True


def measure_disturbance(
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
        for one, other in pair_windows(evidence, candidate, point, alone)
        if (pair := compare_pair(seconds.get(one.id, {}), seconds.get(other.id, {}),
                              of[other.id].worked))
    ]  # fmt: skip
    pairs = [pair for _, _, pair in found]
    kept = [each for pair in pairs for each in pair.kept]
    slowdowns = [fmean(pair.slowdowns[name] for pair in pairs if name in pair.slowdowns)
                 for name in {name: 0 for pair in pairs for name in pair.slowdowns}]  # fmt: skip
    isolated = _measure_isolations([(window, pair) for window, _, pair in found])
    told = {
        name: evidence.level_of(candidate, point, Quantity(f"neighbour.{name}_per_s"))
        for name in ("asked", "offered", "achieved", "limit_bytes")
    }
    values = (measure_isolation(pair.alone_kept) for pair in pairs if pair.kept)
    by_itself = [value for value in values if value is not None]
    # Isolation with the neighbour less that alone, of blocks in which it worked.
    known = [(measure_isolation(pair.alone_kept), measure_isolation(pair.kept)) for pair in pairs]
    both = [(x, y) for x, y in known if x is not None and y is not None]
    return Disturbance(
        candidate, point, growth,
        told["asked"], told["offered"], told["achieved"],
        isolation=isolated.effect.value,
        alone_isolation=fmean(by_itself) if by_itself else None,
        goodput=fmean(pair.goodput for pair in pairs) if pairs else None,
        lost=estimate_paired_difference(*map(list, zip(*both, strict=True))) if both else UNKNOWN,
        isolations=isolated,
        first_percentile=find_first_percentile(kept),
        worst_second=find_worst_second(kept),
        fairness=measure_fairness(slowdowns),
        least_kept=min(slowdowns, default=None),
        worked=fmean(len(pair.kept) / len(pair.all_kept) for pair in pairs) if pairs else None,
        felt=summarise_reactions([
            each for _, when, pair in found for each in when.list_reactions(pair.all_kept)
        ]),
        by_chance=summarise_reactions([
            each for _, when, pair in found for each in when.list_reactions(pair.alone_kept)
        ]),
        has_limit=told["limit_bytes"] is not None,
        failed=sum(each.failed for each in of.values()),
    )  # fmt: skip


def _measure_isolations(found: Sequence[tuple[Window, Disturbed]]) -> Paired:
    """Isolation of each block in which the neighbour worked, and their mean.

    Own: a mean over blocks, because its interval is that of blocks.
    """
    known = [(window, share) for window, pair in found
             if (share := measure_isolation(pair.kept)) is not None]  # fmt: skip
    if not known:
        return Paired(UNKNOWN)
    values = {window.id: Value(share) for window, share in known}
    return Paired(
        estimate_level([each for _, each in known]), tuple(at.block for at, _ in known), values
    )


def measure_lost_isolation(of: Disturbance) -> Paired:
    """What is lost of isolation: that alone less that with the neighbour, of the same blocks."""
    apart = [-each for each in of.lost.apart]
    if not apart:
        return Paired(of.lost)
    values = {name: Value(each) for name, each in zip(of.isolations.windows, apart, strict=True)}
    return Paired(estimate_level(apart), of.isolations.blocks, values)
