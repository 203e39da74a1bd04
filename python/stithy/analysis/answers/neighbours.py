"""What tenants lose to a neighbour: isolation, fairness, work, each from paired windows.

Of a pair one window has the tenants alone and the other the same tenants, under the same load, with
the neighbour. A tenant that was lost in either is left out of both. A neighbour that works in
cycles is judged by the seconds of its cycles, so that it does not look harmless for its pauses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import ceil
from statistics import fmean

from stithy.analysis.answers.reactions import KEPT_SHARE, NO_MOMENTS, Felt, Moments, felt
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.verdict.effect import Effect, no_effect, paired_ratio
from stithy.metrics import Quantity
from stithy.point import Point

ISOLATED_SHARE = 0.9
GROWTH_MOST = 2.0
"""Own: the largest neighbour load is acceptable up to which so many seconds are isolated and the
percentile of response time grows at most so much, by the upper end of its interval."""

ACHIEVED_SHARE = 0.95
"""Own: a neighbour that achieves less of what is offered is saturated."""

Seconds = Mapping[str, Sequence[int]]
"""By tenant, its transactions in each second of the measurement."""

Turn = tuple[int, int]


@dataclass(frozen=True)
class Disturbed:
    """A pair of windows: shares are of what the tenants have alone.

    `all_kept`: by second what all tenants together got, and `kept` that of the seconds in which the
    neighbour worked; `alone_kept`: the same of the window alone, which says how much of it is
    chance. `slowdowns`: by tenant, its throughput as a share.
    """

    kept: tuple[float, ...]
    all_kept: tuple[float, ...]
    alone_kept: tuple[float, ...]
    slowdowns: Mapping[str, float]
    goodput: float


def disturbed(
    alone: Seconds, beside: Seconds, worked: Sequence[bool] | None = None
) -> Disturbed | None:
    """A pair; None where no tenant has work in both windows.

    `worked`: in which seconds the neighbour did; None: in all.
    """
    both = [name for name in alone if sum(alone[name]) and name in beside and beside[name]]
    if not both:
        return None
    means = {name: fmean(alone[name]) for name in both}
    whole = sum(means.values())
    every = _shares([beside[name] for name in both], whole)
    chosen = every if worked is None else tuple(compress(every, worked))
    return Disturbed(
        kept=chosen,
        all_kept=every,
        alone_kept=_shares([alone[name] for name in both], whole),
        slowdowns={name: fmean(beside[name]) / means[name] for name in both},
        goodput=sum(fmean(beside[name]) for name in both) / whole,
    )


def _shares(tenants: Sequence[Sequence[int]], whole: float) -> tuple[float, ...]:
    return tuple(sum(second) / whole for second in zip(*tenants, strict=False))


def isolation(kept: Sequence[float]) -> float | None:
    """The share of seconds in which the tenants got at least `KEPT_SHARE` of what they have alone.

    Source: resctl-bench, protection.
    """
    return sum(each >= KEPT_SHARE for each in kept) / len(kept) if kept else None


def first_percentile(kept: Sequence[float]) -> float | None:
    """What they got in the worst of a hundred seconds; the least where there are fewer.

    Source: isol-01 of resctl-bench; the nearest rank.
    """
    return sorted(kept)[ceil(len(kept) / 100) - 1] if kept else None


def fairness(shares: Sequence[float]) -> float | None:
    """Jain's index: 1 where all tenants slow down alike, 1/n where one of n gets all that is left.

    Source: Jain, Chiu and Hawe (1984).
    """
    squares = sum(each * each for each in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


@dataclass(frozen=True)
class Disturbance:
    """What a candidate's tenants lose at a point; None and an effect without a ratio: not known.

    `growth`: by quantity its value with the neighbour against that alone. `asked` and the like are
    requests or cycles per second. `worked`: the share of the measurement in which the neighbour
    worked. `work`: goodput of the tenants and achieved share of the neighbour, together; of 2 where
    neither loses anything. `is_limited`: a guard held the neighbour back.
    """

    candidate: str
    point: Point
    growth: Mapping[Quantity, Effect]
    asked: float | None
    offered: float | None
    achieved: float | None
    isolation: float | None
    alone_isolation: float | None
    first_percentile: float | None
    fairness: float | None
    goodput: float | None
    worked: float | None = None
    felt: Felt | None = None
    is_limited: bool = False

    @property
    def saturated(self) -> bool:
        """Whether the neighbour achieved less than was offered."""
        known = self.achieved is not None and self.offered
        return bool(known and (self.achieved or 0) < ACHIEVED_SHARE * (self.offered or 0))

    @property
    def limited(self) -> bool:
        """Whether a guard offered less than was asked."""
        less = self.asked and self.offered and self.offered < self.asked
        return self.is_limited or bool(less)

    @property
    def work(self) -> float | None:
        """Work of all against what each does alone."""
        if self.goodput is None or self.achieved is None or not self.asked:
            return None
        return self.goodput + self.achieved / self.asked

    def bearable(self, tail: Quantity) -> bool | None:
        """Whether isolation holds and the tail stays within its bound; None: not known."""
        high = self.growth[tail].high
        if self.isolation is None or high is None:
            return None
        return self.isolation >= ISOLATED_SHARE and high <= GROWTH_MOST


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
    slowdowns: dict[str, list[float]] = {}
    for pair in pairs:
        for name, share in pair.slowdowns.items():
            slowdowns.setdefault(name, []).append(share)
    told = {
        name: evidence.level_of(candidate, point, Quantity(f"neighbour.{name}_per_s"))
        for name in ("asked", "offered", "achieved", "limit_bytes")
    }
    return Disturbance(
        candidate, point,
        {each: evidence.effect(candidate, candidate, point, each, alone) for each in quantities},
        told["asked"], told["offered"], told["achieved"],
        isolation(kept), isolation([each for pair in pairs for each in pair.alone_kept]),
        first_percentile(kept),
        fairness([fmean(each) for each in slowdowns.values()]),
        fmean(pair.goodput for pair in pairs) if pairs else None,
        fmean(len(pair.kept) / len(pair.all_kept) for pair in pairs) if pairs else None,
        felt([each for _, when, pair in found for each in when.reactions(pair.all_kept)]),
        told["limit_bytes"] is not None,
    )  # fmt: skip


def pairs_of(
    evidence: Evidence, candidate: str, point: Point, alone: Point
) -> Iterator[tuple[Window, Window]]:
    """Of each block that has a valid window of both: that alone, then that with the neighbour."""
    firsts = {_turn(window): window for window in evidence.valid_at(candidate, alone)}
    for window in evidence.valid_at(candidate, point):
        if (first := firsts.get(_turn(window))) is not None:
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
    both = [turn for turn in of_a if turn in of_b]
    if not both:
        return no_effect(f"no block has {quantity} of both, alone and with the neighbour")
    return paired_ratio([of_a[turn] for turn in both], [of_b[turn] for turn in both])


def _growths(
    evidence: Evidence, candidate: str, point: Point, alone: Point, quantity: Quantity
) -> dict[Turn, float]:
    found = {}
    for first, window in pairs_of(evidence, candidate, point, alone):
        one = evidence.value_of(first, quantity).number
        other = evidence.value_of(window, quantity).number
        if one and other:
            found[_turn(window)] = other / one
    return found


def _turn(window: Window) -> Turn:
    return window.block, window.attempt
