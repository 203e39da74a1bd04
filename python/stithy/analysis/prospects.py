"""How likely each verdict is before anything was measured, for a noise that is known or assumed."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stithy.analysis.statistics import BLOCKS_LEAST, estimate_interval
from stithy.analysis.verdict import Call, Next, Verdict, decide, decide_next_step

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
    Own: the stopping rule of real studies (`next_step`) on made-up blocks.
    """
    found = []
    for ratio in ratios:
        draw, ends = random.Random(f"prospects {seed} {ratio}"), []
        for _ in range(studies):
            logs = [math.log(ratio) + draw.gauss(0, noise_share) for _ in range(limit)]
            whole = decide(logs, margin_share, among=among) if fixed else None
            ends.append(whole or _end_study(logs, margin_share, limit, among))
        calls = Counter(each.call for each in ends)
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
