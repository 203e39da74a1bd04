"""Whether a comparison needs another block, and about how many it will need in all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from stithy.analysis.verdict.boundaries import BLOCKS_MOST, LOOKS, critical
from stithy.analysis.verdict.decide import MARGIN_SHARE, Verdict, decide
from stithy.analysis.verdict.interval import interval, widening
from stithy.metrics import Better


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
    better: Better | None = "higher",
    among: int = 1,
) -> Progress:
    """What to do after the blocks so far, given the log ratios `ln(b/a)` of the valid ones.

    A verdict is looked for at the looks of `boundaries` and at the limit, and nowhere else: each
    look more is a chance more to be misled. `limit` counts valid blocks; how many invalid ones
    may be measured again is for the caller to say. `among`: as `decide` has it.
    Own: the rule of docs/explanation/verdicts.md, put as a step.
    """
    verdict = decide(logs, margin_share, better=better, among=among)
    count = len(logs)
    if verdict.decided and (count in LOOKS or count >= limit):
        return Progress(Next.DECIDED, verdict)
    return Progress(Next.LIMIT_REACHED if count >= limit else Next.ANOTHER_BLOCK, verdict)


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
