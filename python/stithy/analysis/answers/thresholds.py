"""Whether the thresholds of a study were met, by the valid windows of its run.

A threshold compares what was measured, and nothing more: it is no verdict and has no interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from stithy.analysis.evidence import Evidence, Window
from stithy.thresholds import Constant, MeasuredValue, Side, Threshold


class Outcome(Enum):
    """What became of a threshold."""

    MET = "met"
    NOT_MET = "not met"
    NOT_JUDGED = "cannot be judged"


@dataclass(frozen=True)
class Judgement:
    """A threshold with the values of its sides, factors included; one per minute or seconds.

    `because` is set where it could not be judged; then at least one value is None.
    """

    threshold: Threshold
    left: float | None
    right: float | None
    because: str | None = None

    @property
    def outcome(self) -> Outcome:
        """Whether it was met.

        Own: without a valid window nothing is met, and nothing has failed.
        """
        if self.left is None or self.right is None:
            return Outcome.NOT_JUDGED
        met = self.threshold.holds(self.left, self.right)
        return Outcome.MET if met else Outcome.NOT_MET


def judge_thresholds(thresholds: Sequence[Threshold], evidence: Evidence) -> tuple[Judgement, ...]:
    """Each threshold judged, in their order; `evidence` has the measures that they need.

    Own: rates are means and percentiles are of the merged windows, as in the report.
    """
    return tuple(_judged(each, evidence) for each in thresholds)


def windows_of(threshold: Threshold, evidence: Evidence) -> tuple[Window, ...]:
    """All windows on which a threshold rests, invalid ones too, each once."""
    sides = (each for each in (threshold.left, threshold.right) if isinstance(each, MeasuredValue))
    found = (window for side in sides for window in evidence.at(side.candidate, side.point))
    return tuple({window.id: window for window in found}.values())


def _judged(threshold: Threshold, evidence: Evidence) -> Judgement:
    left, right = _value(threshold.left, evidence), _value(threshold.right, evidence)
    reasons = dict.fromkeys(each for each in (left, right) if isinstance(each, str))
    return Judgement(
        threshold,
        left if isinstance(left, float) else None,
        right if isinstance(right, float) else None,
        "; ".join(reasons) or None,
    )


def _value(side: Side, evidence: Evidence) -> float | str:
    """The value of a side, or why there is none."""
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
    why = evidence.value_of(valid[0], side.quantity).missing_because
    return f"{side.candidate} {side.point.at()}: {why}"
