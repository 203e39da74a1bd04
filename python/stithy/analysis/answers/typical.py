"""Which block of a level is shown where not all can be: the median one.

A choice that rests on the numbers alone, so that nobody picks the handsome ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from stithy.analysis.evidence import Evidence, Window
from stithy.metrics import NOPM, Quantity


@dataclass(frozen=True)
class Block:
    """A block of a level: its windows by candidate.

    `value`: geometric mean over these by `metric`, None where one of them has none. `among`: how
    many blocks it was chosen from.
    """

    users: int
    number: int
    attempt: int
    windows: Mapping[str, Window]
    metric: Quantity = NOPM
    value: float | None = None
    among: int = 1


def median_block(evidence: Evidence, users: int) -> Block | None:
    """The block in the middle by the metric asked, of those with most valid candidates.

    Of an even number it is the lower one. Where not every window has a value of the metric asked
    (a percentile of too few values), NOPM decides. Edge cases: a level without any valid window
    gives the first block that has numbers at all; None where there is none.
    Own: a block is typical by what the study asks about, over all its candidates alike.
    """
    blocks = _blocks(evidence, users)
    if not blocks:
        return None
    for metric in (evidence.asked.metric, NOPM):
        values = [_value(evidence, block, metric) for block in blocks]
        known = [(each, block) for each, block in zip(values, blocks, strict=True) if each]
        if len(known) == len(blocks):
            known.sort(key=lambda pair: (pair[0], pair[1].number, pair[1].attempt))
            value, block = known[(len(known) - 1) // 2]
            chosen = (block.users, block.number, block.attempt, block.windows)
            return Block(*chosen, metric=metric, value=value, among=len(known))
    return blocks[0]


def _blocks(evidence: Evidence, users: int) -> list[Block]:
    """Those with most valid candidates, in their order; without any valid one, with numbers."""
    there = [window for name in evidence.candidates for window in evidence.at(name, users)]
    shown = [each for each in there if each.valid] or [each for each in there if each.measured]
    found: dict[tuple[int, int], dict[str, Window]] = {}
    for window in shown:
        found.setdefault((window.block, window.attempt), {})[window.candidate] = window
    most = max(map(len, found.values()), default=0)
    return [Block(users, *key, each) for key, each in sorted(found.items()) if len(each) == most]


def _value(evidence: Evidence, block: Block, metric: Quantity) -> float | None:
    values = [evidence.value_of(each, metric).number for each in block.windows.values()]
    known = [each for each in values if each is not None and each > 0]
    return exp(fmean(map(log, known))) if len(known) == len(values) else None
