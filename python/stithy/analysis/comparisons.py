"""Every comparison of a run with its verdict, and what limited candidates beside it.

The primary one is that which the first finding tells. Verdicts of the others are adjusted for how
many levels were compared, because among many one differs by chance. Findings of one report never
contradict each other. What is shown better stands, in this order: what happened, such as a rate
that was reached; a verdict over blocks; what limited a window, by samples of it; what was found
before the first window.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from stithy.analysis.bottlenecks.judge import UNKNOWN, Cause, Limited, judge_level
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.effect import Effect, Paired, estimate_pooled_ratio, make_unknown_effect
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.instruments import bound_pair
from stithy.analysis.measures import Value
from stithy.analysis.statistics import adjust_by_holm, bound_repeated_chance
from stithy.analysis.verdict import (
    DIFFERENT,
    WRONG_SHARE,
    Verdict,
    count_pairs_among,
    decide,
    drop_claim,
)
from stithy.metrics import Quantity, count_values_needed
from stithy.point import Point
from stithy.results.hlog import LoggedHistogram


@dataclass(frozen=True)
class ComparedPair:
    """Candidate `b` against `a` at a point by a metric, with the verdict on `b`.

    `against`: where `a` was measured, if not at the same point.
    `chance_share`: how often chance alone gives as much, adjusted by Holm over the levels unless
    `primary`; None with fewer than four blocks.
    """

    metric: Quantity
    a: str
    b: str
    point: Point
    effect: Effect
    verdict: Verdict
    chance_share: float | None
    primary: bool = False
    against: Point | None = None


def count_pairs(evidence: Evidence) -> int:
    """From how many pairs the one that answers was chosen; 1 where it was named before.

    Source: Bonferroni's bound.
    """
    return 1 if evidence.primary.pair else count_pairs_among(len(evidence.candidates))


def compare_primary(evidence: Evidence, a: str, b: str, point: Point) -> ComparedPair:
    """The comparison that answers the question, by its metric and margin.

    With more than two candidates, unless two were named before, the pair was chosen after all were
    measured, and a difference is claimed only if it is large enough for the largest of as many.
    Source: docs/explanation/verdicts.md, "One question"; Bonferroni's bound.
    """
    metric = evidence.primary.metric
    among = count_pairs(evidence)
    return replace(_compare(evidence, a, b, point, metric, among=among), primary=True)


def compare_levels(
    evidence: Evidence, a: str, b: str, metric: Quantity, without: Sequence[Point] = ()
) -> tuple[ComparedPair, ...]:
    """The comparisons of two candidates at all levels but those in `without`, adjusted by Holm.

    A difference that the interval shows but the adjustment does not bear is undecided.
    Source: Holm (1979); docs/explanation/verdicts.md, "One question".
    """
    points = (point for point in evidence.points if point not in without)
    return adjust_family([_compare(evidence, a, b, point, metric) for point in points])


def compare_values(evidence: Evidence, factor: str) -> tuple[ComparedPair, ...]:
    """What each further value of a factor changes within each candidate, by the question's metric.

    From value to value, where the question is asked as to all other factors; adjusted by Holm over
    all of them.
    Source: Holm (1979); docs/explanation/verdicts.md, "One question".
    """
    metric = evidence.primary.metric
    return adjust_family([
        _compare(evidence, name, name, to, metric, against=start)
        for name in evidence.candidates
        for start, to in pairwise(evidence.along(factor))
    ])  # fmt: skip


def adjust_family(plain: list[ComparedPair]) -> tuple[ComparedPair, ...]:
    """The comparisons of one family, none more certain than among so many it may be."""
    shares = adjust_by_holm([each.chance_share for each in plain])
    levels = len(shares) - shares.count(None)
    because = f"the difference is too small after adjustment for {levels} levels"
    adjusted = []
    for compared, share in zip(plain, shares, strict=True):
        verdict = compared.verdict
        if share is not None and share > WRONG_SHARE:
            verdict = drop_claim(verdict, because)
        adjusted.append(replace(compared, verdict=verdict, chance_share=share))
    return tuple(adjusted)


def _compare(
    evidence: Evidence,
    a: str,
    b: str,
    point: Point,
    metric: Quantity,
    *,
    against: Point | None = None,
    among: int = 1,
) -> ComparedPair:
    """A comparison by itself, of a pair that was chosen `among` so many.

    It has no chance where blocks do not tell what chance does.
    """
    effect = evidence.effect(a, b, point, metric, against)
    verdict = decide(
        effect.apart, evidence.primary.margin_share, better=metric.known.better, among=among,
        b_later=effect.b_later, negligible=metric.known.negligible, bounds=effect.bounds,
    )  # fmt: skip
    chance = None if effect.low is None else bound_repeated_chance(effect.apart, effect.bounds)
    chance = None if chance is None else min(1.0, chance * among)
    return ComparedPair(metric, a, b, point, effect, verdict, chance, against=against)


def list_comparisons(evidence: Evidence, answer: ComparedPair | None) -> tuple[ComparedPair, ...]:
    """All comparisons with the first candidate, after the one that answers the question.

    `answer`: None where nothing could be compared.
    Own: by metric, candidate and level; the answer is not reported twice.
    """
    first, *others = evidence.candidates or ("",)
    found = [answer] if answer else []
    for metric in dict.fromkeys((evidence.primary.metric, *evidence.described)):
        for name in others:
            shown = answer and metric == answer.metric and {first, name} == {answer.a, answer.b}
            without = (answer.point,) if answer and shown else ()
            found += compare_levels(evidence, first, name, metric, without)
    return tuple(
        each
        for each in found
        if each.effect.value is not None
        or None not in [evidence.level_of(of, each.point, each.metric) for of in (each.a, each.b)]
    )


OWN = ("emulation",)
"""Instruments of which each candidate has one of its own: with another a candidate may do more."""


@dataclass(frozen=True)
class Causes:
    """What limited each candidate; `ahead` is the one that was shown to do more than another."""

    of: tuple[tuple[str, Cause], ...]
    ahead: str | None = None


def find_causes(evidence: Evidence, limited: Mapping[str, Limited], point: Point) -> Causes:
    """What limited each candidate at a level by its valid windows, as far as no verdict refutes it.

    A limit that all candidates share, such as the load driver, says that other storage would give
    hardly more. That is refuted for a candidate where another one was shown to do so.
    Own: the order of proof is that of this module.
    """
    found = []
    for name in evidence.candidates:
        windows = evidence.valid_at(name, point)
        cause = judge_level([limited[window.id] for window in windows if window.id in limited])
        if cause is not None:
            found.append((name, cause))
    fast, gains = _find_gains(evidence, point)
    shown = tuple((name, _refute_cause(cause, fast, gains.get(name))) for name, cause in found)
    return Causes(shown, fast if gains else None)


def estimate_most_by_storage(cause: Cause) -> float | None:
    """How many times as much other storage could give at most; None where it has no such bound.

    Source: Amdahl's law, for the part of the users' time that storage took.
    """
    if not cause.is_cap or cause.limit in OWN:
        return None
    if cause.limit == "driver" or not cause.is_storage_result:
        return 1.0
    share = cause.storage_share if cause.limit == "demand" else None
    return None if share is None or share >= 1 else 1 / (1 - share)


def _refute_cause(cause: Cause, fast: str | None, gain: float | None) -> Cause:
    most = estimate_most_by_storage(cause)
    if gain is None or most is None or gain <= most:
        return cause
    limit = RULES[cause.limit].words
    says = f"{limit} looked like the limit, but {fast} did more under the same load"
    return replace(
        cause, limit=UNKNOWN, share=None, says=says, storage_share=None, is_storage_result=True
    )


def _find_gains(evidence: Evidence, point: Point) -> tuple[str | None, dict[str, float]]:
    """Who did most, and of all that were shown to do less how many times as much at least.

    Own: by the verdict on throughput, adjusted as that on the question is.
    """
    asked = evidence.primary
    metric = asked.metric if asked.metric.known.source == "window" else evidence.throughput
    values = {
        name: value
        for name in evidence.candidates
        if (value := evidence.level_of(name, point, metric)) is not None
    }
    if len(values) < 2:
        return None, {}
    fast, among = max(values, key=values.__getitem__), count_pairs(evidence)
    gains = {}
    for name in values:
        effect = evidence.effect(name, fast, point, metric)
        if name == fast or effect.low is None or effect.low <= 1:
            continue
        verdict = decide(
            effect.apart, asked.margin_share, better="higher", among=among, b_later=effect.b_later,
            bounds=effect.bounds,
        )  # fmt: skip
        if verdict.call in DIFFERENT:
            gains[name] = effect.low
    return fast, gains


TimesOf = Callable[[Window], LoggedHistogram | None]
"""All response times of a window; None where its logs are not whole."""

UNPAIRED = Value(
    None, "its block has no valid window of both, alone and with what is beside the users"
)
"""Of a window at the point that has no partner."""


def pair_windows(
    evidence: Evidence, candidate: str, point: Point, alone: Point
) -> Iterator[tuple[Window, Window]]:
    """Of each block that has a valid window of both: that alone, then that with the neighbour."""
    firsts = {window.block: window for window in evidence.valid_at(candidate, alone)}
    for window in evidence.valid_at(candidate, point):
        if (first := firsts.get(window.block)) is not None:
            yield first, window


def compare_with_alone(
    evidence: Evidence,
    candidate: str,
    point: Point,
    alone: Point,
    quantity: Quantity,
    times: TimesOf | None = None,
) -> Paired:
    """A quantity of a candidate at a point against that alone, by block.

    `times`: where given, a percentile for which a window has too few values is that of all blocks
    together, if these have enough.
    """
    effect = evidence.effect(candidate, candidate, point, quantity, alone)
    both = list(pair_windows(evidence, candidate, point, alone))
    values = {other.id: _divide_pair(evidence, one, other, quantity) for one, other in both}
    known = tuple(other.block for _, other in both if values[other.id].number is not None)
    found = Paired(effect, known if effect.pairs == len(known) else (), values)
    if times is None or not quantity.known.percent or len(known) == len(both):
        return found
    return _pool_blocks(found, both, quantity, times)


def _divide_pair(evidence: Evidence, one: Window, other: Window, quantity: Quantity) -> Value:
    a, b = (evidence.value_of(each, quantity) for each in (one, other))
    if a.number is None or b.number is None:
        return Value(None, a.missing_because or b.missing_because)
    if not a.number:
        return Value(None, "it is 0 in a window, so there is no ratio")
    return Value(b.number / a.number)


def _pool_blocks(
    found: Paired, both: list[tuple[Window, Window]], quantity: Quantity, times: TimesOf
) -> Paired:
    """The same of all blocks together; as it was where these have too few values, too."""
    read = [(times(one), times(other)) for one, other in both]
    known = [(one, other) for one, other in read if one is not None and other is not None]
    if len(known) < len(both):
        return found
    percent = quantity.known.percent or 0.0
    needed = count_values_needed(percent)
    bounds = [bound_pair(quantity, *(each.delayed() for each in pair)) for pair in both]
    effect = estimate_pooled_ratio(known, percent, needed, bounds)
    if effect is None:
        there = min(sum(each.count for each in side) for side in zip(*known, strict=True))
        because = f"{quantity.label} needs {needed:,} values in all blocks, and they have {there:,}"
        return (
            replace(found, effect=make_unknown_effect(because)) if not found.effect.pairs else found
        )
    blocks = tuple(other.block for _, other in both)
    return replace(found, effect=effect, blocks=blocks, pooled=True)
