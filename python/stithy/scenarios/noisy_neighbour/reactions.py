"""How fast tenants feel a neighbour's cycle, and how fast they are themselves again after it.

Both are seen in the seconds of the tenants' throughput, as shares of what they have alone. A single
second below or above the bound may be chance, so it takes several in a row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import ceil
from statistics import fmean, median
from types import MappingProxyType

KEPT_SHARE = 0.9
"""A second counts as isolated in which the tenants get so much of what they have alone.
Source: resctl-bench, protection."""

IN_A_ROW = 3
"""Own: so many seconds in a row are no chance. Of tenants with 150 transactions a second by Poisson
one second of ten is below 0.9 by chance, and three in a row begin in one second of a thousand."""


@dataclass(frozen=True)
class Reaction:
    """How tenants took one cycle, whole seconds: they are counted by the second.

    `onset_s`: from its begin until the first of several seconds below the bound; None: not felt.
    `settling_s`: from its end until the first of several seconds above it; None: not within what
    was measured before the next cycle.
    """

    onset_s: float | None
    settling_s: float | None


def find_reaction(
    at_s: Sequence[float], kept: Sequence[float], from_s: float, to_s: float, until_s: float
) -> Reaction | None:
    """How they took the cycle from `from_s` to `to_s`, seen until `until_s`; all Unix time.

    `at_s`: when each second began. None where no second of the cycle was measured.
    """
    inside = [n for n, at in enumerate(at_s[: len(kept)]) if from_s < at + 1 and at < to_s]
    if not inside:
        return None
    onset = _find_first_of_several(kept, inside, below=True)
    if onset is None:
        return Reaction(None, None)
    after = [n for n, at in enumerate(at_s[: len(kept)]) if to_s < at + 1 and at < until_s]
    again = _find_first_of_several(kept, after, below=False)
    return Reaction(
        _count_seconds(from_s, at_s[onset]),
        None if again is None else _count_seconds(to_s, at_s[again]),
    )


def _count_seconds(from_s: float, at_s: float) -> float:
    """Whole seconds; 0: within the first."""
    return float(max(0, round(at_s - from_s)))


def _find_first_of_several(
    kept: Sequence[float], among: Sequence[int], *, below: bool
) -> int | None:
    """The first of `IN_A_ROW` seconds among these that are all below the bound, or all not."""
    row = 0
    for number in among:
        row = row + 1 if (kept[number] < KEPT_SHARE) is below else 0
        if row == IN_A_ROW:
            return number - IN_A_ROW + 1
    return None


@dataclass(frozen=True)
class Moments:
    """When the seconds of a window began, and when the neighbour worked, Unix time.

    `failed`: how many of its cycles failed.
    """

    at_s: Sequence[float] = ()
    at_work: Sequence[tuple[float, float]] = ()
    failed: int = 0

    @property
    def worked(self) -> tuple[bool, ...] | None:
        """For each second, whether the neighbour worked in any of it; None: it is not known."""
        if not self.at_work:
            return None
        return tuple(any(begin < at + 1 and at < end for begin, end in self.at_work)
                     for at in self.at_s)  # fmt: skip

    def list_reactions(self, kept: Sequence[float]) -> Iterator[Reaction]:
        """How the tenants took each time at work; those at once count as one.

        Nobody saw the begin of what began before the first second. Work from the first second to
        the last has none that could be told from the begin of the measurement.
        """
        first_s, last_s = min(self.at_s, default=0.0), max(self.at_s, default=0.0)
        seen = [
            (begin, end)
            for begin, end in _merge_spans(self.at_work)
            if begin > first_s - 1 and not (begin < first_s + 1 and end > last_s)
        ]
        for number, (begin, end) in enumerate(seen):
            until = seen[number + 1][0] if number + 1 < len(seen) else float("inf")
            found = find_reaction(self.at_s, kept, begin, end, until)
            if found is not None:
                yield found


NO_MOMENTS: Mapping[str, Moments] = MappingProxyType({})


def _merge_spans(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans that overlap as one, and those between which nobody could be seen to settle.

    Own: a pause of fewer seconds than make a row is none, such as that between two cycles of which
    the second begins as soon as the first has cleaned up.
    """
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin < found[-1][1] + IN_A_ROW:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


@dataclass(frozen=True)
class Felt:
    """Of all cycles of a candidate at a point how many were felt, and the median times, seconds."""

    cycles: int
    felt: int
    onset_s: float | None
    settling_s: float | None


def summarise_reactions(reactions: Sequence[Reaction]) -> Felt | None:
    """None where there was no cycle: of a neighbour at work all the time nothing begins."""
    if not reactions:
        return None
    onsets = [reaction.onset_s for reaction in reactions if reaction.onset_s is not None]
    settled = [each.settling_s for each in reactions if each.settling_s is not None]
    return Felt(
        len(reactions), len(onsets),
        median(onsets) if onsets else None, median(settled) if settled else None,
    )  # fmt: skip


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


def compare_pair(
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
    every = _list_shares([beside[name] for name in both], whole)
    chosen = every if worked is None else tuple(compress(every, worked))
    return Disturbed(
        kept=chosen,
        all_kept=every,
        alone_kept=_list_shares([alone[name] for name in both], whole),
        slowdowns={name: fmean(beside[name]) / means[name] for name in both},
        goodput=sum(fmean(beside[name]) for name in both) / whole,
    )


def _list_shares(tenants: Sequence[Sequence[int]], whole: float) -> tuple[float, ...]:
    return tuple(sum(second) / whole for second in zip(*tenants, strict=False))


def measure_isolation(kept: Sequence[float]) -> float | None:
    """The share of seconds in which the tenants got at least `KEPT_SHARE` of what they have alone.

    Source: resctl-bench, protection.
    """
    return sum(each >= KEPT_SHARE for each in kept) / len(kept) if kept else None


def find_first_percentile(kept: Sequence[float]) -> float | None:
    """What they got in the worst of a hundred seconds; None where there are fewer.

    Source: isol-01 of resctl-bench; the nearest rank.
    """
    if len(kept) < PERCENTILE_SECONDS_LEAST:
        return None
    return sorted(kept)[ceil(len(kept) / 100) - 1]


def find_worst_second(kept: Sequence[float]) -> float | None:
    """What they got in the worst second, where there are too few for a percentile."""
    return min(kept, default=None) if len(kept) < PERCENTILE_SECONDS_LEAST else None


def measure_fairness(shares: Sequence[float]) -> float | None:
    """Jain's index: 1 where all tenants slow down alike, 1/n where one of n gets all that is left.

    Source: Jain, Chiu and Hawe (1984).
    """
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None
