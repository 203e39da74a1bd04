"""Is the question of a run answered, is another block needed, and are its thresholds met?

A threshold compares what was measured, and nothing more: it is no verdict and has no interval. Only
of what is paired by blocks it is judged by the interval: it is met if that holds at either end.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from stithy.analysis.capacity import find_capacities
from stithy.analysis.comparisons import ComparedPair, count_pairs
from stithy.analysis.effect import Effect, Paired
from stithy.analysis.evidence import Evidence
from stithy.analysis.findings import answer_question
from stithy.analysis.statistics import BLOCKS_LEAST, INTERIM_BLOCKS, estimate_interval
from stithy.analysis.verdict import (
    DIFFERENT,
    BlockProgress,
    Call,
    Next,
    Verdict,
    decide,
    decide_next_step,
    estimate_blocks_needed,
)
from stithy.registry import Family, Plugin, plugins
from stithy.thresholds import Constant, Side, Threshold


@dataclass(frozen=True)
class DecisionStatus:
    """What to do next; `compared` None while no valid block answers the question.

    `blocks_needed`: about how many blocks will decide; None where it is decided, where too few tell
    anything, or where the limit will not be enough.
    """

    progress: BlockProgress
    compared: ComparedPair | None
    blocks_needed: int | None

    @property
    def is_interim(self) -> bool:
        """Whether a verdict is looked for after so many blocks, or would be but for invalid ones.

        Own: the looks of `find_critical`, and the limit.
        """
        ended = self.progress.step is not Next.ANOTHER_BLOCK
        return ended or self.blocks < INTERIM_BLOCKS[0] or self.blocks in INTERIM_BLOCKS

    @property
    def blocks(self) -> int:
        """Valid blocks so far."""
        return self.progress.verdict.blocks


def judge_question(evidence: Evidence) -> DecisionStatus:
    """How the question stands after the blocks so far, by what the report will say of them.

    Edge cases: where the level that is asked about has no valid block yet, another is needed.
    """
    asked, compared = evidence.primary, answer_question(evidence)
    if compared is not None and asked.point not in (None, compared.point):
        compared = None
    apart, negligible = compared.effect.apart if compared else (), asked.metric.known.negligible
    bounds = compared.effect.bounds if compared else ()
    progress = decide_next_step(
        apart,
        asked.margin_share,
        asked.blocks_most,
        better=asked.metric.known.better,
        among=count_pairs(evidence),
        b_later=compared.effect.b_later if compared else (),
        negligible=negligible,
        bounds=bounds,
    )
    needed = estimate_blocks_needed(
        apart, asked.margin_share, asked.blocks_most, negligible, bounds
    )
    return DecisionStatus(progress, compared, None if progress.verdict.decided else needed)


class Ruling(Plugin):
    """What only a scenario knows of whether its question is answered."""

    family = Family(stage="judge")

    def rule(self, evidence: Evidence, *, answered: bool) -> bool:
        """Say whether it is; `answered`: whether any other study's would be."""
        raise NotImplementedError


def is_answered(evidence: Evidence, *, is_null: bool = False) -> bool:
    """Whether the measurement supports what it was made for.

    A comparison needs a block in which both are valid, at the level that is asked about; a single
    candidate a valid window; a search alone a level of each candidate that says something; and a
    null study must not find a difference. A scenario may rule otherwise.
    """
    answered = _is_answered(evidence, is_null=is_null)
    for ruling in plugins(Ruling).values():
        answered = ruling.rule(evidence, answered=answered)
    return answered


def _is_answered(evidence: Evidence, *, is_null: bool) -> bool:
    found = find_capacities(evidence) if evidence.primary.by_search else ()
    if found:
        return all(of.low or of.high for finding in found for of in finding.of)
    if len(evidence.candidates) < 2:
        return any(window.valid for window in evidence.windows)
    status = judge_question(evidence)
    if is_null and status.progress.verdict.call in DIFFERENT:
        return False
    return status.blocks > 0


class Outcome(Enum):
    """What became of a threshold."""

    MET = "met"
    NOT_MET = "not met"
    NOT_JUDGED = "cannot be judged"


@dataclass(frozen=True)
class ThresholdJudgement:
    """A threshold with the values of its sides, factors included; one per minute or seconds.

    `because` is set where it could not be judged; then a value is None, or an interval holds what
    it is compared with. `met`: what intervals say, where a side has one.
    """

    threshold: Threshold
    left: float | None
    right: float | None
    because: str | None = None
    met: bool | None = None

    @property
    def outcome(self) -> Outcome:
        """Whether it was met.

        Own: without a valid window nothing is met, and nothing has failed.
        """
        if self.left is None or self.right is None or self.because is not None:
            return Outcome.NOT_JUDGED
        met = self.met if self.met is not None else self.threshold.holds(self.left, self.right)
        return Outcome.MET if met else Outcome.NOT_MET


def judge_thresholds(
    thresholds: Sequence[Threshold], evidence: Evidence
) -> tuple[ThresholdJudgement, ...]:
    """Each threshold judged, in their order; `evidence` has the measures that they need.

    Own: rates are means and percentiles are of the merged windows, as in the report.
    """
    return tuple(_judge_plain(threshold, evidence) for threshold in thresholds)


def _judge_plain(threshold: Threshold, evidence: Evidence) -> ThresholdJudgement:
    left, right = _find_value(threshold.left, evidence), _find_value(threshold.right, evidence)
    reasons = dict.fromkeys(each for each in (left, right) if isinstance(each, str))
    if isinstance(left, float) and isinstance(right, float):
        pairs = [
            None if isinstance(side, Constant)
            else evidence.paired_of(side.candidate, side.point, side.quantity)
            for side in (threshold.left, threshold.right)
        ]  # fmt: skip
        if any(pairs):
            return _judge_intervals(threshold, (left, right), pairs)
    return ThresholdJudgement(
        threshold,
        left if isinstance(left, float) else None,
        right if isinstance(right, float) else None,
        "; ".join(reasons) or None,
    )


Bounds = tuple[float, float]


def _judge_intervals(
    threshold: Threshold, values: tuple[float, float], pairs: Sequence[Paired | None]
) -> ThresholdJudgement:
    """Met if it holds at every end of the intervals, not met if at none, else not decided.

    Own: a plain interval, or a doubt, takes a claim away and gives none, as everywhere.
    """
    left = _find_bounds(threshold.left, values[0], pairs[0])
    right = _find_bounds(threshold.right, values[1], pairs[1])
    if isinstance(left, str) or isinstance(right, str):
        missing = left if isinstance(left, str) else str(right)
        return ThresholdJudgement(threshold, *values, because=missing)
    held = {threshold.holds(x, y) for x in left for y in right}
    if held == {False}:
        return ThresholdJudgement(threshold, *values, met=False)
    doubts = [
        f"{_explain_few(pair.effect)}, at least {BLOCKS_LEAST} are needed"
        if pair.effect.plain
        else pair.doubted_because
        for pair in pairs
        if pair is not None
    ]
    because = "its 95 % interval holds both" if len(held) > 1 else next(filter(None, doubts), None)
    return ThresholdJudgement(threshold, *values, because=because, met=True)


def _find_bounds(side: Side, value: float, paired: Paired | None) -> Bounds | str:
    if paired is None or isinstance(side, Constant):
        return value, value
    effect = paired.effect
    low, high = effect.low, effect.high
    if low is None and not effect.plain and len(set(effect.apart)) == 1:
        low = high = effect.value  # of blocks that are all the same, and enough
    if low is None or high is None:
        return f"{_explain_few(effect)}, so there is no interval"
    return side.factor * low, side.factor * high


def _explain_few(effect: Effect) -> str:
    return f"{effect.pairs} block{'' if effect.pairs == 1 else 's'} of pairs"


def _find_value(side: Side, evidence: Evidence) -> float | str:
    if isinstance(side, Constant):
        return side.value
    valid = evidence.valid_at(side.candidate, side.point)
    if not valid:
        place = f"of {side.candidate} {side.point.at()}"
        there = evidence.at(side.candidate, side.point)
        return f"no window {place} is valid" if there else f"there is no window {place}"
    value = evidence.level_of(side.candidate, side.point, side.quantity)
    if value is not None:
        return side.factor * value
    paired = evidence.paired_of(side.candidate, side.point, side.quantity)
    why = evidence.value_of(valid[0], side.quantity).missing_because
    why = paired.effect.missing_because if paired is not None else why
    return f"{side.candidate} {side.point.at()}: {why}"


STUDIES = 500
"""Own: a share of a half is then known to 4.4 points (95 %), in a few tenths of a second."""

ASSUMED_NOISE_SHARE = 0.02
"""Own: of the log ratio of a block, on a quiet machine with windows of a minute."""

LIKELY_SHARE = 0.8
"""Own: an answer that so many studies would give can be had."""

MARGIN_STEP_SHARE = 0.005
"""Own: a margin that a person would write."""


@dataclass(frozen=True)
class Prospect:
    """The answers of simulated studies whose true ratio is known; shares of all of them."""

    ratio: float
    shares: dict[Call, float]
    blocks_mean: float


def simulate_prospects(
    ratios: Sequence[float],
    noise_share: float,
    margin_share: float,
    limit: int,
    *,
    fixed: bool = False,
    among: int = 1,
    seed: int = 0,
    studies: int = STUDIES,
) -> tuple[Prospect, ...]:
    """For each true ratio of B to A the answers of `studies` studies with normal noise.

    `noise_share`: standard deviation of a block's log ratio. `limit`: valid blocks at most, or with
    `fixed` their number. `among`: as `decide` has it; that the pair was chosen for its difference
    is not simulated. More is better here. The same seed gives the same studies.
    Own: the stopping rule of real studies (`decide_next_step`) on made-up blocks.
    """
    found = []
    for ratio in ratios:
        draw, ends = random.Random(f"prospects {seed} {ratio}"), []
        for _ in range(studies):
            logs = [math.log(ratio) + draw.gauss(0, noise_share) for _ in range(limit)]
            whole = decide(logs, margin_share, among=among) if fixed else None
            ends.append(whole or _end_study(logs, margin_share, limit, among))
        calls = Counter(end.call for end in ends)
        shares = {call: calls[call] / studies for call in Call}
        found.append(Prospect(ratio, shares, sum(each.blocks for each in ends) / studies))
    return tuple(found)


def _end_study(logs: Sequence[float], margin_share: float, limit: int, among: int) -> Verdict:
    for count in range(BLOCKS_LEAST, limit + 1):
        progress = decide_next_step(logs[:count], margin_share, limit, among=among)
        if progress.step is not Next.ANOTHER_BLOCK:
            return progress.verdict
    return decide(logs, margin_share, among=among)


def estimate_margin_needed(noise_share: float, limit: int, seed: int = 0) -> float | None:
    """About the margin with which equals are called equivalent by 80 of 100 studies.

    None with fewer blocks than a verdict needs.
    In whole steps of half a per cent.
    Own: the end of the interval after `limit` blocks that 80 of 100 simulated studies stay within.
    """
    if limit < BLOCKS_LEAST:
        return None
    draw, ends = random.Random(f"margin {seed}"), []
    for _ in range(STUDIES):
        known = estimate_interval([draw.gauss(0, noise_share) for _ in range(limit)])
        assert known is not None  # there are enough blocks
        ends.append(max(known.high, -known.low))
    margin = math.expm1(sorted(ends)[round(LIKELY_SHARE * STUDIES)])
    return math.ceil(margin / MARGIN_STEP_SHARE) * MARGIN_STEP_SHARE
