"""Which windows a run lost, and which of those that it has are typical."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

from stithy.analysis.evidence import Evidence, Window
from stithy.metrics import TPM, Quantity
from stithy.point import Point
from stithy.validity import Flag


@dataclass(frozen=True)
class Lost:
    """How many of a candidate's `windows` were `invalid`, and how many of these by which flag.

    `flags`: the most frequent first; a window may have several. Windows that were dropped with
    their block alone, for another one's failure, are not among the invalid ones.
    """

    candidate: str
    windows: int
    invalid: int
    flags: tuple[tuple[Flag, int], ...]


@dataclass(frozen=True)
class MeasuredAgain:
    """A block that was measured once more; `valid`: whether all windows of that are valid."""

    point: Point
    block: int
    valid: bool


def list_lost(evidence: Evidence) -> tuple[Lost, ...]:
    """Each candidate with what it lost, in the order of the study.

    Own: a count over all windows, of first and second measurements alike.
    """
    return tuple(_count_lost(name, evidence.windows) for name in evidence.candidates)


def _count_lost(candidate: str, windows: Iterable[Window]) -> Lost:
    own = [window for window in windows if window.candidate == candidate]
    failed = [window for window in own if window.failures]
    flags = Counter(flag for window in failed for flag in dict.fromkeys(window.failures))
    return Lost(candidate, len(own), len(failed), tuple(flags.most_common()))


def list_measured_again(evidence: Evidence) -> tuple[MeasuredAgain, ...]:
    """The blocks that were measured once more, by level and block."""
    valid: dict[tuple[Point, int], bool] = {}
    for window in evidence.windows:
        if window.attempt:
            key = (window.point, window.block)
            valid[key] = valid.get(key, True) and window.valid
    return tuple(MeasuredAgain(*key, valid=valid[key]) for key in sorted(valid))


@dataclass(frozen=True)
class Block:
    """A block of a level: its windows by candidate.

    `value`: geometric mean over these by `metric`, None where one of them has none. `among`: how
    many blocks it was chosen from.
    """

    point: Point
    number: int
    attempt: int
    windows: Mapping[str, Window]
    metric: Quantity = TPM
    value: float | None = None
    among: int = 1


def find_median_block(evidence: Evidence, point: Point) -> Block | None:
    """The block in the middle by the metric asked, of those with most valid candidates.

    Of an even number it is the lower one. Where not every window has a value of the metric asked
    (a percentile of too few values), throughput decides. Edge cases: a level without any valid
    window gives the first block that has numbers at all; None where there is none.
    Own: a block is typical by what the study asks about, over all its candidates alike.
    """
    # Those with most valid candidates, in their order; without any valid one, with numbers.
    there = [window for name in evidence.candidates for window in evidence.at(name, point)]
    shown = [each for each in there if each.valid] or [each for each in there if each.measured]
    found: dict[tuple[int, int], dict[str, Window]] = {}
    for window in shown:
        found.setdefault((window.block, window.attempt), {})[window.candidate] = window
    most = max(map(len, found.values()), default=0)
    blocks = [Block(point, *key, each) for key, each in sorted(found.items()) if len(each) == most]
    if not blocks:
        return None
    for metric in (evidence.primary.metric, evidence.throughput):
        values = [_find_value(evidence, block, metric) for block in blocks]
        known = [(each, block) for each, block in zip(values, blocks, strict=True) if each]
        if len(known) == len(blocks):
            known.sort(key=lambda pair: (pair[0], pair[1].number, pair[1].attempt))
            value, block = known[(len(known) - 1) // 2]
            chosen = (block.point, block.number, block.attempt, block.windows)
            return Block(*chosen, metric=metric, value=value, among=len(known))
    return blocks[0]


def _find_value(evidence: Evidence, block: Block, metric: Quantity) -> float | None:
    values = [evidence.value_of(each, metric).number for each in block.windows.values()]
    known = [each for each in values if each is not None and each > 0]
    return exp(fmean(map(log, known))) if len(known) == len(values) else None
