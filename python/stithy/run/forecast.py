"""How long steps take: the plan's estimates, corrected by what steps really took, now and before.

Own: a step that is like one that was done (same kind, same candidate, or else same kind) is
expected to miss its estimate by the same factor; before any was, steps of its kind in earlier runs
on this machine say by how much. A window's measured time is fixed by the study, so only what is
around it is scaled.

What runs on this machine have shown is kept beside the register: those factors, how many
transactions a second windows did, how much blocks varied, and by how much emulated drives missed
their profiles. A convenience: lost or damaged it costs nothing but worse forecasts.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from stithy.environment import state_home
from stithy.errors import InfrastructureError
from stithy.plan.steps import Plan, Step
from stithy.results.layout import write_durably

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
        fixed_s = _find_fixed_s(step)
        if step.cost.time_s <= fixed_s:
            return
        factor = max(0.0, duration_s - fixed_s) / (step.cost.time_s - fixed_s)
        kept = min(FACTOR_MAX, max(FACTOR_MIN, factor))
        for key in ((step.sort, step.candidate), (step.sort, None)):
            self._factors.setdefault(key, []).append(kept)

    def left_s(self, steps: Sequence[Step]) -> float:
        """Seconds that these steps are expected to take."""
        return sum(self.expected_s(step) for step in steps)

    def expected_s(self, step: Step) -> float:
        """Seconds that this step is expected to take."""
        fixed_s = _find_fixed_s(step)
        known = (
            self._factors.get((step.sort, step.candidate))
            or self._factors.get((step.sort, None))
            or self._earlier.get(step.sort, [1.0])
        )
        return fixed_s + (step.cost.time_s - fixed_s) * median(known)


def correct_plan(plan: Plan, forecast: Forecast) -> Plan:
    """The plan with the times that its steps are expected to take."""
    return replace(plan, steps=correct_steps(plan.steps, forecast))


def correct_steps(steps: Iterable[Step], forecast: Forecast) -> tuple[Step, ...]:
    """The steps with the times that they are expected to take."""
    corrected = []
    for step in steps:
        time_s = forecast.expected_s(step)
        most_s = max(time_s, step.cost.time_s_max)
        corrected.append(replace(step, cost=replace(step.cost, time_s=time_s, time_s_max=most_s)))
    return tuple(corrected)


def _find_fixed_s(step: Step) -> float:
    if step.kind != "window" or step.window is None:
        return 0.0
    return step.window.ramp_up_s + step.window.duration_s


T = TypeVar("T")

VERSION = 1
"""1: factors by kind of step and noise by metric, oldest first; rates by level, newest last."""

KEPT = 40
"""Numbers a kind or metric: some runs, so that a machine that was changed is known again soon."""

RATES_KEPT = 400
"""Levels of candidates: of many studies."""

Factors = Mapping[str, Sequence[float]]
"""By kind of step: by how much steps of that kind missed their estimates, oldest first."""


def read_factors() -> Factors:
    """What is known of this machine; empty where nothing is, or what is there cannot be read."""
    return _read("factors", lambda known: [float(entry) for entry in known])


def read_rates() -> Mapping[str, float]:
    """Transactions a second of earlier windows, by `make_rate_key`; empty as above."""
    return _read("rates", float)


def read_noise(metric: str) -> Sequence[float]:
    """How much blocks varied by this metric in each earlier run, oldest first; empty as above.

    The standard deviation of a block's log ratio.
    """
    return _parse_noise().get(metric, [])


def read_added_s() -> Mapping[str, float]:
    """By how much emulated drives missed their profiles in the last run with each, seconds.

    By profile and operation, such as `generic-nvme flush`; empty as above.
    """
    return _read("added_s", float)


def _parse_noise() -> dict[str, list[float]]:
    return _read("noise", lambda known: [float(entry) for entry in known])


def _read(section: str, value: Callable[[Any], T]) -> dict[str, T]:
    try:
        shown = json.loads(_make_path().read_bytes())
        if shown["version"] != VERSION:
            return {}
        return {str(key): value(known) for key, known in shown.get(section, {}).items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def keep_learned(learned: Factors, rates: Mapping[str, float] | None = None) -> None:
    """Add what a run has learned; where it cannot be written, it is forgotten."""
    known_rates = dict(read_rates())
    for key, rate in (rates or {}).items():  # the newest last
        known_rates.pop(key, None)
        known_rates[key] = rate
    newest = dict(list(known_rates.items())[-RATES_KEPT:])
    _write(factors=_lengthen(read_factors(), learned), rates=newest)


def keep_noise(metric: str, noise_share: float) -> None:
    """Add how much the blocks of a run varied; where it cannot be written, it is forgotten."""
    _write(noise=_lengthen(_parse_noise(), {metric: [noise_share]}))


def keep_added_s(added_s: Mapping[str, float]) -> None:
    """Keep by how much drives missed their profiles; if it cannot be written, it is forgotten."""
    _write(added_s={**read_added_s(), **added_s})


def _lengthen(known: Factors, learned: Factors) -> Factors:
    kinds = sorted({*known, *learned})
    return {kind: [*known.get(kind, ()), *learned.get(kind, ())][-KEPT:] for kind in kinds}


def _write(**changed: Mapping[str, object]) -> None:
    known = {
        "factors": read_factors(),
        "rates": read_rates(),
        "noise": _parse_noise(),
        "added_s": read_added_s(),
    }
    shown = {"version": VERSION, **known, **changed}
    text = json.dumps(shown, indent=1)
    with suppress(InfrastructureError):
        write_durably(_make_path(), text.encode())


def _make_path() -> Path:
    return state_home() / "durations.json"
