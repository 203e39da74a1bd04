"""How long the rest of a run takes: the plan's estimates, mended by what the steps really took.

Own: a step that is like one that was done (same kind, same candidate, or else same kind) is
expected to miss its estimate by the same factor. A window's measured time is fixed by the study, so
only what is around it is scaled.
"""

from collections.abc import Sequence
from statistics import median

from stithy.plan.steps import Step

FACTOR_MIN = 0.05
FACTOR_MAX = 20.0
"""A step of milliseconds says nothing about one of minutes."""


class Forecast:
    """Learns from each step that was done."""

    def __init__(self) -> None:
        """Nothing is known but the plan."""
        self._factors: dict[tuple[str, str | None], list[float]] = {}

    def learn(self, step: Step, duration_s: float) -> None:
        """A step took so long."""
        fixed_s = _fixed_s(step)
        if step.cost.time_s <= fixed_s:
            return
        factor = max(0.0, duration_s - fixed_s) / (step.cost.time_s - fixed_s)
        kept = min(FACTOR_MAX, max(FACTOR_MIN, factor))
        for key in ((step.kind, step.candidate), (step.kind, None)):
            self._factors.setdefault(key, []).append(kept)

    def left_s(self, steps: Sequence[Step]) -> float:
        """Seconds that these steps are expected to take."""
        return sum(self._expected_s(step) for step in steps)

    def _expected_s(self, step: Step) -> float:
        fixed_s = _fixed_s(step)
        known = self._factors.get((step.kind, step.candidate)) or self._factors.get(
            (step.kind, None), [1.0]
        )
        return fixed_s + (step.cost.time_s - fixed_s) * median(known)


def _fixed_s(step: Step) -> float:
    """The part of a step that the study fixes."""
    if step.kind != "window" or step.window is None:
        return 0.0
    return step.window.ramp_up_s + step.window.duration_s
