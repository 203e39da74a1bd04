"""How a comparison came to its verdict: what was known after each block, and what was waited for.

All numbers are natural logarithms of ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stithy.analysis.verdict.boundaries import BLOCKS_LEAST, BLOCKS_MOST, LOOKS, looks_until
from stithy.analysis.verdict.decide import MARGIN_SHARE, WRONG_SHARE, Verdict, decide
from stithy.analysis.verdict.interval import Interval, interval
from stithy.analysis.verdict.student import t_critical
from stithy.metrics import Better


@dataclass(frozen=True)
class Stage:
    """What was known after `blocks` blocks, of which the last had the log ratio `last`.

    `known`: the interval of their mean, None for one block. `boundary`: how far from 0 their mean
    had to be for a difference to be claimed, None before the first look. `is_look`: whether a
    verdict was looked for.
    """

    blocks: int
    last: float
    mean: float
    known: Interval | None
    boundary: float | None
    verdict: Verdict
    is_look: bool


def course(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    limit: int = BLOCKS_MOST,
    *,
    better: Better | None = "higher",
    among: int = 1,
) -> tuple[Stage, ...]:
    """The stages of a comparison, from one block to all, by the log ratios `ln(b/a)` of its blocks.

    `limit`, `among`, `better`: as `next_step` and `decide` have them. The last stage is a look from
    four blocks on, whatever their number: a report looks at what there is.
    Own: `decide` of the first blocks, of one more, and so on.
    """
    return tuple(
        _stage(
            logs[:count],
            decide(logs[:count], margin_share, better=better, among=among),
            among,
            is_look=count >= BLOCKS_LEAST and (count in LOOKS or count in (limit, len(logs))),
        )
        for count in range(1, len(logs) + 1)
    )


def decided_from(stages: Sequence[Stage]) -> Stage | None:
    """The first look from which on every look had the verdict of the last; None if undecided.

    Own: what was decided for a while and given up again was not decided then.
    """
    looks = [stage for stage in stages if stage.is_look]
    if not looks or not looks[-1].verdict.decided:
        return None
    found = looks[-1]
    for stage in reversed(looks):
        if stage.verdict.call is not found.verdict.call:
            break
        found = stage
    return found


def _stage(logs: Sequence[float], verdict: Verdict, among: int, *, is_look: bool) -> Stage:
    known = interval(logs)
    mean = math.fsum(logs) / len(logs)
    boundary = _boundary(known, len(logs), among) if known is not None and known.decides else None
    return Stage(len(logs), logs[-1], mean, known, boundary, verdict, is_look)


def _boundary(known: Interval, blocks: int, among: int) -> float:
    """Where the interval just excludes 0; for a pair chosen among several where chance is rarer."""
    half = known.high - known.mean
    if among == 1:
        return half
    rare = WRONG_SHARE / (looks_until(blocks) * among)
    return max(half, t_critical(blocks - 1, 1.0 - rare) * known.widened * known.error)
