"""Whether the thresholds of a study were met, by the valid windows of its run.

A threshold compares what was measured, and nothing more: it is no verdict and has no interval. Only
of what is paired by blocks it is judged by the interval: it is met if that holds at either end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from stithy.analysis.effect import Effect, Paired
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.thresholds import Constant, MeasuredValue, Side, Threshold


class Outcome(Enum):
    """What became of a threshold."""

    MET = "met"
    NOT_MET = "not met"
    NOT_JUDGED = "cannot be judged"


@dataclass(frozen=True)
class Judgement:
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


def judge_thresholds(thresholds: Sequence[Threshold], evidence: Evidence) -> tuple[Judgement, ...]:
    """Each threshold judged, in their order; `evidence` has the measures that they need.

    Own: rates are means and percentiles are of the merged windows, as in the report.
    """
    return tuple(_judge_plain(each, evidence) for each in thresholds)


def list_windows(threshold: Threshold, evidence: Evidence) -> tuple[Window, ...]:
    """All windows on which a threshold rests, invalid ones too, each once."""
    sides = (each for each in (threshold.left, threshold.right) if isinstance(each, MeasuredValue))
    found = (window for side in sides for window in evidence.at(side.candidate, side.point))
    return tuple({window.id: window for window in found}.values())


def _judge_plain(threshold: Threshold, evidence: Evidence) -> Judgement:
    left, right = _find_value(threshold.left, evidence), _find_value(threshold.right, evidence)
    reasons = dict.fromkeys(each for each in (left, right) if isinstance(each, str))
    if isinstance(left, float) and isinstance(right, float):
        pairs = [_list_paired(side, evidence) for side in (threshold.left, threshold.right)]
        if any(pairs):
            return _judge_intervals(threshold, (left, right), pairs)
    return Judgement(
        threshold,
        left if isinstance(left, float) else None,
        right if isinstance(right, float) else None,
        "; ".join(reasons) or None,
    )


def _list_paired(side: Side, evidence: Evidence) -> Paired | None:
    if isinstance(side, Constant):
        return None
    return evidence.paired_of(side.candidate, side.point, side.quantity)


Bounds = tuple[float, float]


def _judge_intervals(
    threshold: Threshold, values: tuple[float, float], pairs: Sequence[Paired | None]
) -> Judgement:
    """Met if it holds at every end of the intervals, not met if at none, else not decided.

    Own: a plain interval, or a doubt, takes a claim away and gives none, as everywhere.
    """
    left = _find_bounds(threshold.left, values[0], pairs[0])
    right = _find_bounds(threshold.right, values[1], pairs[1])
    if isinstance(left, str) or isinstance(right, str):
        missing = left if isinstance(left, str) else str(right)
        return Judgement(threshold, *values, because=missing)
    held = {threshold.holds(x, y) for x in left for y in right}
    if held == {False}:
        return Judgement(threshold, *values, met=False)
    doubts = (_explain_doubt(each) for each in pairs if each is not None)
    because = "its 95 % interval holds both" if len(held) > 1 else next(filter(None, doubts), None)
    return Judgement(threshold, *values, because=because, met=True)


def _find_bounds(side: Side, value: float, paired: Paired | None) -> Bounds | str:
    if paired is None or isinstance(side, Constant):
        return value, value
    effect = paired.effect
    low, high = _list_ends(effect)
    if low is None or high is None:
        return f"{_explain_few(effect)}, so there is no interval"
    return side.factor * low, side.factor * high


def _list_ends(effect: Effect) -> tuple[float | None, float | None]:
    """Those of its interval; of blocks that are all the same, and enough, what they are."""
    if effect.low is None and not effect.plain and len(set(effect.apart)) == 1:
        return effect.value, effect.value
    return effect.low, effect.high


def _explain_doubt(paired: Paired) -> str | None:
    """Why an interval gives no claim, though all of it is as it must be."""
    if paired.effect.plain:
        return f"{_explain_few(paired.effect)}, at least {BLOCKS_LEAST} are needed"
    return paired.doubted_because


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
