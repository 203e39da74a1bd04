"""The verdict on two candidates, when it is looked for, and how it was come to.

It follows from the interval alone, so that nobody can read one thing from the interval and another
from the verdict: better, worse, equivalent, negligibly different, or undecided. Of what is neither
good nor bad it says higher or lower.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from stithy.analysis.statistics import (
    BLOCKS_LEAST,
    BLOCKS_MOST,
    INTERIM_BLOCKS,
    Bound,
    Interval,
    bound_repeated_chance,
    correlate_neighbours,
    count_analyses,
    estimate_interval,
    estimate_widening,
    find_critical,
    find_critical_t,
    is_bounded,
    sample_bootstrap_interval,
    sign_flip_chance,
)
from stithy.metrics import TPM, Better, Quantity
from stithy.point import Point

MARGIN_SHARE = 0.02
"""Own: a fiftieth; who buys storage for less is not known to us."""

WRONG_SHARE = 0.05
"""How often a difference may be claimed where there is none."""


class Call(Enum):
    """What is said of candidate B against A."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    HIGHER = "higher"
    LOWER = "lower"
    NEGLIGIBLE = "different but negligible"
    UNDECIDED = "undecided"


DIFFERENT = frozenset({Call.BETTER, Call.WORSE, Call.HIGHER, Call.LOWER, Call.NEGLIGIBLE})
"""The calls that claim a difference."""


@dataclass(frozen=True)
class Verdict:
    """The call on B against A after `blocks` blocks; `because` is set where it is undecided.

    `margin_share`: what counts as negligible, as a share of A. `negligible`: the same in the unit
    of a metric that is compared as a difference, which then counts.
    """

    call: Call
    blocks: int
    margin_share: float
    because: str | None = None
    negligible: float | None = None

    @property
    def decided(self) -> bool:
        """Whether more blocks are not needed."""
        return self.call is not Call.UNDECIDED


def decide(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    *,
    better: Better | None = "higher",
    among: int = 1,
    b_later: Sequence[bool] = (),
    negligible: float | None = None,
    bounds: Sequence[Bound] = (),
) -> Verdict:
    """The verdict on B against A from the log ratios `ln(b/a)` of their blocks.

    `better`: `lower` for what should be small, such as a response time; None where neither is good
    nor bad, and the verdict only tells which is higher. `among`: from how
    many comparisons this one was chosen after all were measured; a difference is then claimed
    only if it is so rare that one among them would be. `b_later`: for each block whether B came
    after A; empty where that is not known. `negligible`: given, blocks are differences `b - a` and
    not log ratios, and so much of their unit is the margin. `bounds`: as `interval` has them, so
    that the verdict holds even if disturbances count against it.
    Edge cases: fewer than four blocks are undecided, whatever they show; so are blocks of a single
    order, in which the effect of the order is part of each ratio and cannot be taken out.
    Differences that are all the same, such as 0 lost in each window, do not tell what chance does.
    Source: docs/explanation/verdicts.md.
    """
    count = len(logs)
    known = estimate_interval(logs, bounds)
    if known is None or not known.decides:
        blocks = "no block" if not count else "1 block" if count == 1 else f"{count} blocks"
        because = f"{blocks}, at least {BLOCKS_LEAST} are needed"
        return Verdict(Call.UNDECIDED, count, margin_share, because, negligible)
    if negligible is not None and not known.error:
        return Verdict(Call.UNDECIDED, count, margin_share, NO_SCATTER, negligible)
    call = _call(known, _convert_margin(margin_share, negligible), better)
    none = 1 if negligible is None else 0
    both = f"the interval contains both {none} and differences beyond the margin"
    if call is Call.UNDECIDED and is_bounded(bounds):
        both = f"{both}, as far as disturbances may have moved the blocks"
    open_because = both if call is Call.UNDECIDED else None
    verdict = Verdict(call, count, margin_share, open_because, negligible)
    if verdict.decided and is_one_order(b_later):
        return replace(verdict, call=Call.UNDECIDED, because=ONE_ORDER)
    if among > 1 and (bound_repeated_chance(logs, bounds) or 0.0) * among > WRONG_SHARE:
        because = f"the difference is too small for a pair chosen among {among}"
        return drop_claim(verdict, because)
    return verdict


def drop_claim(verdict: Verdict, because: str) -> Verdict:
    """The verdict without a difference that is not rare enough to be claimed, for this reason.

    Own: where the interval lies within the margin it still tells that they are equivalent.
    """
    if verdict.call not in DIFFERENT:
        return verdict
    if verdict.call is Call.NEGLIGIBLE:
        return replace(verdict, call=Call.EQUIVALENT)
    return replace(verdict, call=Call.UNDECIDED, because=because)


ONE_ORDER = (
    "every valid block has the same order of candidates, which may cause the difference; "
    "measure more blocks"
)


def is_one_order(b_later: Sequence[bool]) -> bool:
    """Whether all blocks have the candidates in one order; not where no order is known.

    Own: planned orders are balanced, so only lost blocks leave this.
    """
    return len(set(b_later)) == 1


NO_SCATTER = "the difference is the same in every block, which does not show what chance does"


def _convert_margin(margin_share: float, negligible: float | None) -> float:
    """How far from 0 what separates two candidates counts for nothing."""
    return math.log1p(margin_share) if negligible is None else negligible


def _call(known: Interval, margin: float, better: Better | None) -> Call:
    different = known.low > 0 or known.high < 0
    if -margin < known.low and known.high < margin:
        return Call.NEGLIGIBLE if different else Call.EQUIVALENT
    if not different:
        return Call.UNDECIDED
    is_higher = known.low > 0
    if better is None:
        return Call.HIGHER if is_higher else Call.LOWER
    return Call.BETTER if is_higher == (better == "higher") else Call.WORSE


def find_farthest_pair(means: Mapping[str, float]) -> tuple[str, str] | None:
    """The candidates with the least and the most, in this order; None with fewer than two.

    Edge case: the order of `means` decides between equals, so equal results give equal reports.
    Own: a question about several options is first one about the ends.
    """
    if len(means) < 2:
        return None
    least = min(means, key=lambda name: means[name])
    most = max((name for name in means if name != least), key=lambda name: means[name])
    return least, most


def count_pairs_among(candidates: int) -> int:
    """From how many pairs the farthest was chosen after all were measured; at least 1.

    Source: Bonferroni's bound, which needs no law of how pairs depend on each other.
    """
    return max(1, candidates * (candidates - 1) // 2)


@dataclass(frozen=True)
class PrimaryComparison:
    """Which of two candidates is better by `metric` at a level, beyond a margin.

    `users` None: at the highest level at which two can be compared. `pair` None: the two that are
    farthest apart. `blocks_most`: valid blocks after which no further ones are measured.
    `by_search`: nothing of this is asked, but which candidate serves more users within a limit.
    """

    metric: Quantity = TPM
    point: Point | None = None
    pair: tuple[str, str] | None = None
    margin_share: float = MARGIN_SHARE
    blocks_most: int = BLOCKS_MOST
    by_search: bool = False


class Next(Enum):
    """What to do after a block."""

    DECIDED = "decided"
    ANOTHER_BLOCK = "another block"
    LIMIT_REACHED = "limit reached"


@dataclass(frozen=True)
class BlockProgress:
    """What to do next, and the verdict as it stands."""

    step: Next
    verdict: Verdict


def decide_next_step(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    limit: int = BLOCKS_MOST,
    *,
    better: Better | None = "higher",
    among: int = 1,
    b_later: Sequence[bool] = (),
    negligible: float | None = None,
    bounds: Sequence[Bound] = (),
) -> BlockProgress:
    """What to do after the blocks so far, given the log ratios `ln(b/a)` of the valid ones.

    The stopping rule is evaluated at the interim analyses and at the limit, and nowhere else: each
    further analysis is a further chance to be misled. `limit` counts valid blocks; how many invalid
    ones may be measured again is for the caller to say. `among`, `b_later`, `negligible`, `bounds`:
    as `decide` has them.
    Source: the rule of docs/explanation/verdicts.md, put as a step.
    """
    verdict = decide(
        logs, margin_share, better=better, among=among, b_later=b_later, negligible=negligible,
        bounds=bounds,
    )  # fmt: skip
    count = len(logs)
    if verdict.decided and (count in INTERIM_BLOCKS or count >= limit):
        return BlockProgress(Next.DECIDED, verdict)
    return BlockProgress(Next.LIMIT_REACHED if count >= limit else Next.ANOTHER_BLOCK, verdict)


def estimate_blocks_needed(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    limit: int = BLOCKS_MOST,
    negligible: float | None = None,
    bounds: Sequence[Bound] = (),
) -> int | None:
    """About how many blocks decide if mean and spread stay as they are; None if none up to `limit`.

    `bounds`: as `decide` has them; their mean stays, too.

    Edge cases: None with fewer than two blocks. From two or three it is rough.
    It is the first interim analysis after the blocks so far at which the interval would decide.
    """
    known = estimate_interval(logs)
    if known is None:
        return None
    margin, mean = _convert_margin(margin_share, negligible), abs(known.mean)
    wide = estimate_widening(logs)
    spread = known.error * math.sqrt(len(logs))
    off = max((math.fsum(each) for each in zip(*bounds, strict=True)), default=0.0) / len(logs)
    for count in sorted({*INTERIM_BLOCKS, limit}):
        if max(len(logs), INTERIM_BLOCKS[0] - 1) < count <= limit:
            half = find_critical(count) * wide * spread / math.sqrt(count) + off
            if mean > half or mean + half < margin:
                return count
    return None


@dataclass(frozen=True)
class Stage:
    """What was known after `blocks` blocks, of which the last had the log ratio `last`.

    `known`: the interval of their mean, None for one block. `boundary`: how far from 0 their mean
    had to be for a difference to be claimed, None before the first interim analysis. `is_interim`:
    whether the stopping rule was evaluated.
    """

    blocks: int
    last: float
    mean: float
    known: Interval | None
    boundary: float | None
    verdict: Verdict
    is_interim: bool


def list_interim_analyses(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    limit: int = BLOCKS_MOST,
    *,
    better: Better | None = "higher",
    among: int = 1,
    b_later: Sequence[bool] = (),
    bounds: Sequence[Bound] = (),
) -> tuple[Stage, ...]:
    """The stages of a comparison, from one block to all, by the log ratios `ln(b/a)` of its blocks.

    `limit`, `among`, `better`, `b_later`, `bounds`: see `decide_next_step` and `decide`. From four
    blocks on the last stage is an interim analysis, whatever its number: a report has no more.
    """
    interim = {count for count in (*INTERIM_BLOCKS, limit, len(logs)) if count >= BLOCKS_LEAST}
    stages = []
    for count in range(1, len(logs) + 1):
        part, off = logs[:count], bounds[:count]
        verdict = decide(
            part, margin_share, better=better, among=among, b_later=b_later[:count], bounds=off
        )
        known = estimate_interval(part, off)
        boundary = (
            _find_boundary(known, count, among) if known is not None and known.decides else None
        )
        mean = math.fsum(part) / count
        stages.append(Stage(count, part[-1], mean, known, boundary, verdict, count in interim))
    return tuple(stages)


def find_decided_from(stages: Sequence[Stage]) -> Stage | None:
    """The first look from which on every look had the verdict of the last; None if undecided.

    Own: what was decided for a while and given up again was not decided then.
    """
    looks = [stage for stage in stages if stage.is_interim]
    if not looks or not looks[-1].verdict.decided:
        return None
    found = looks[-1]
    for stage in reversed(looks):
        if stage.verdict.call is not found.verdict.call:
            break
        found = stage
    return found


def _find_boundary(known: Interval, blocks: int, among: int) -> float:
    """Where the interval just excludes 0; for a pair chosen among several where chance is rarer."""
    half = known.high - known.mean
    if among == 1:
        return half
    rare = WRONG_SHARE / (count_analyses(blocks) * among)
    return max(half, find_critical_t(blocks - 1, 1.0 - rare) * known.widened * known.error)


@dataclass(frozen=True)
class Certainty:
    """What else the blocks of a comparison tell; None where there are too few for it.

    `lag_1`: correlation of neighbouring blocks. `widened`: by which factor the interval is wider
    than for independent normal blocks. `sign_flip_share`: how often random signs give as much.
    `low`, `high`: the bootstrap's interval of the ratio, or of the difference. `blocks_needed`:
    about how many blocks will decide, where it is undecided.
    """

    lag_1: float | None
    widened: float | None
    sign_flip_share: float | None
    low: float | None
    high: float | None
    blocks_needed: int | None


def cross_check(
    logs: Sequence[float],
    seed: int,
    margin_share: float = MARGIN_SHARE,
    *,
    decided: bool = False,
    negligible: float | None = None,
) -> Certainty:
    """The cross-checks on the log ratios of a comparison; `seed` is that of the study.

    `decided`: there is nothing left to forecast. `negligible`: as `decide` has it.
    Source: docs/explanation/verdicts.md, "How sure".
    """
    known = estimate_interval(logs)
    low, high = sample_bootstrap_interval(logs, seed) or (None, None)
    shown = math.exp if negligible is None else float
    return Certainty(
        correlate_neighbours(logs),
        known.widened if known and known.decides else None,
        sign_flip_chance(logs, seed) if len(logs) > 1 else None,
        None if low is None else shown(low),
        None if high is None else shown(high),
        None if decided else estimate_blocks_needed(logs, margin_share, negligible=negligible),
    )
