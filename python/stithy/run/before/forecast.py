"""How long steps take: the plan's estimates, mended by what steps really took, now and before.

Own: a step that is like one that was done (same kind, same candidate, or else same kind) is
expected to miss its estimate by the same factor; before any was, steps of its kind in earlier runs
on this machine say by how much. A window's measured time is fixed by the study, so
only what is around it is scaled.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from stithy.plan.steps import Plan, Step

FACTOR_MIN = 0.05
FACTOR_MAX = 20.0
"""A step of milliseconds says nothing about one of minutes."""


class Forecast:
    """Learns from each step that was done."""

    def __init__(self, earlier: Mapping[str, Sequence[float]] | None = None) -> None:
        """`earlier`: factors of earlier runs, by kind of step."""
        self._earlier = {kind: list(known) for kind, known in (earlier or {}).items() if known}
        self._factors: dict[tuple[str, str | None], list[float]] = {}

    @property
    def learned(self) -> dict[str, list[float]]:
        """The factors that this forecast has learned, by kind of step."""
        return {kind: known for (kind, candidate), known in self._factors.items() if not candidate}

    def knows(self, kind: str) -> bool:
        """Whether steps of this kind were done before, here or in earlier runs."""
        return (kind, None) in self._factors or kind in self._earlier

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
        return sum(self.expected_s(step) for step in steps)

    def expected_s(self, step: Step) -> float:
        """Seconds that this step is expected to take."""
        fixed_s = _fixed_s(step)
        known = (
            self._factors.get((step.kind, step.candidate))
            or self._factors.get((step.kind, None))
            or self._earlier.get(step.kind, [1.0])
        )
        return fixed_s + (step.cost.time_s - fixed_s) * median(known)


def mended(plan: Plan, forecast: Forecast) -> Plan:
    """The plan with the times that its steps are expected to take."""
    return replace(plan, steps=mended_steps(plan.steps, forecast))


def mended_steps(steps: Iterable[Step], forecast: Forecast) -> tuple[Step, ...]:
    """The steps with the times that they are expected to take."""
    return tuple(_mended(step, forecast) for step in steps)


def _mended(step: Step, forecast: Forecast) -> Step:
    time_s = forecast.expected_s(step)
    most_s = max(time_s, step.cost.time_s_max)
    return replace(step, cost=replace(step.cost, time_s=time_s, time_s_max=most_s))


def _fixed_s(step: Step) -> float:
    """The part of a step that the study fixes."""
    if step.kind != "window" or step.window is None:
        return 0.0
    return step.window.ramp_up_s + step.window.duration_s
