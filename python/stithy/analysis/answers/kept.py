"""What tenants keep of their work in a pair of windows, and what a series of such shares says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import ceil
from statistics import fmean

from stithy.analysis.answers.reactions import KEPT_SHARE

PERCENTILE_SECONDS_LEAST = 100
"""Of fewer seconds the nearest rank of the first percentile is the worst of them."""

Seconds = Mapping[str, Sequence[int]]
"""By tenant, its transactions in each second of the measurement."""


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
    """A pair; None where no tenant has work both ways, such as where nobody recorded its seconds.

    `worked`: in which seconds the neighbour did; None: in all.
    """
    both = [name for name in alone if sum(alone[name]) and beside.get(name)]
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
    """What they got in the worst of a hundred seconds; None where there are fewer.

    Source: isol-01 of resctl-bench; the nearest rank.
    """
    if len(kept) < PERCENTILE_SECONDS_LEAST:
        return None
    return sorted(kept)[ceil(len(kept) / 100) - 1]


def worst_second(kept: Sequence[float]) -> float | None:
    """What they got in the worst second, where there are too few for a percentile."""
    return min(kept, default=None) if len(kept) < PERCENTILE_SECONDS_LEAST else None


def fairness(shares: Sequence[float]) -> float | None:
    """Jain's index: 1 where all tenants slow down alike, 1/n where one of n gets all that is left.

    Source: Jain, Chiu and Hawe (1984).
    """
    squares = sum(each * each for each in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None
