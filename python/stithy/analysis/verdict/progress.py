"""Whether a comparison needs another block, and about how many it will need in all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean

from stithy.analysis.effect import paired_ratio
from stithy.analysis.verdict.boundaries import BLOCKS_MOST, LOOKS, critical
from stithy.analysis.verdict.decide import MARGIN_SHARE, Verdict, decide
from stithy.analysis.verdict.interval import interval, widening
from stithy.analysis.verdict.pair import farthest_pair, pairs_among


class Next(Enum):
    """What to do after a block."""

    DECIDED = "decided"
    ANOTHER_BLOCK = "another block"
    LIMIT_REACHED = "limit reached"


@dataclass(frozen=True)
class Progress:
    """What to do next, and the verdict as it stands."""

    step: Next
    verdict: Verdict


def next_step(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    limit: int = BLOCKS_MOST,
    *,
    more_is_better: bool = True,
    among: int = 1,
) -> Progress:
    """What to do after the blocks so far, given the log ratios `ln(b/a)` of the valid ones.

    A verdict is looked for at the looks of `boundaries` and at the limit, and nowhere else: each
    look more is a chance more to be misled. `limit` counts valid blocks; how many invalid ones
    may be measured again is for the caller to say. `among`: as `decide` has it.
    Own: the rule of docs/explanation/verdicts.md, put as a step.
    """
    verdict = decide(logs, margin_share, more_is_better=more_is_better, among=among)
    count = len(logs)
    if verdict.decided and (count in LOOKS or count >= limit):
        return Progress(Next.DECIDED, verdict)
    return Progress(Next.LIMIT_REACHED if count >= limit else Next.ANOTHER_BLOCK, verdict)


def next_step_of_level(
    values: Mapping[str, Mapping[int, float]],
    margin_share: float = MARGIN_SHARE,
    limit: int = BLOCKS_MOST,
) -> Progress:
    """What to do after the blocks so far of a level, as the report will answer its question.

    Shapes: `values` holds for every candidate of the study, in its order, the new orders per minute
    of its valid windows by block. Judged are the blocks that both of the farthest pair have.
    Edge cases: where no two pair, another block is asked for; how often is for the caller to say.
    Own: `next_step` for the pair that `findings.question` chooses.
    """
    means = {name: fmean(blocks.values()) for name, blocks in values.items() if blocks}
    pair = farthest_pair(means)
    if pair is None:
        return next_step((), margin_share, limit)
    a, b = (values[name] for name in pair)
    shared = sorted(a.keys() & b.keys())
    effect = paired_ratio([a[block] for block in shared], [b[block] for block in shared])
    return next_step(effect.logs, margin_share, limit, among=pairs_among(len(values)))


def forecast(
    logs: Sequence[float], margin_share: float = MARGIN_SHARE, limit: int = BLOCKS_MOST
) -> int | None:
    """About how many blocks decide if mean and spread stay as they are; None if none up to `limit`.

    Edge cases: None with fewer than two blocks. From two or three it is rough.
    Own: the first look after the blocks so far at which the interval would decide.
    """
    known = interval(logs)
    if known is None:
        return None
    margin, mean, wide = math.log1p(margin_share), abs(known.mean), widening(logs)
    spread = known.error * math.sqrt(len(logs))
    for count in sorted({*LOOKS, limit}):
        if max(len(logs), LOOKS[0] - 1) < count <= limit:
            half = critical(count) * wide * spread / math.sqrt(count)
            if mean > half or mean + half < margin:
                return count
    return None
