"""How often p99 under a fault is called different: in simulated studies on recorded windows."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.analysis.effect import Effect
from stithy.analysis.instruments import Delayed
from stithy.metrics import P99
from stithy.results.hlog import LoggedHistogram, read_hlog
from stithy.results.phases import PhaseResult
from stithy.scenarios.failure.impact import PhasePair, compare_phase
from support.hlog import index_of

RECORDED = Path(__file__).parents[2] / "data/hammer/steady.response.hlog"
STUDIES, BLOCKS, SECONDS = 100, 6, 40
"""Six blocks are what docs/how-to/measure-a-failure.md recommends for p99."""

Seconds = Sequence[LoggedHistogram]


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Seconds]]:
    """Windows of each candidate: the response times of each second, of four windows each."""
    found: dict[str, dict[str, list[LoggedHistogram]]] = {}
    for line in read_hlog(RECORDED):
        windows = found.setdefault(line.tag.partition("-")[0], {})
        windows.setdefault(line.tag, []).append(line.histogram)
    return {name: [*windows.values()] for name, windows in found.items()}


def stretch(seconds: Seconds, factor: float) -> Seconds:
    """The same seconds, with all times so many times as long."""
    found = []
    for second in seconds:
        counts: Counter[int] = Counter()
        for bucket in second.buckets():
            counts[index_of(round(1e6 * factor * bucket.lowest_s))] += bucket.count
        found.append(LoggedHistogram(counts, second.half_magnitude, second.unit_magnitude))
    return found


def draw_phase(draw: random.Random, window: Seconds) -> PhaseResult:
    """A phase of seconds of a window, each as often as chance has it."""
    counts: dict[int, int] = {}
    for second, times in Counter(draw.choices(range(len(window)), k=SECONDS)).items():
        for index, count in window[second].counts.items():
            counts[index] = counts.get(index, 0) + times * count
    times_s = LoggedHistogram(counts, window[0].half_magnitude, window[0].unit_magnitude)
    return PhaseResult(times_s.count, SECONDS, times_s)


def simulate(draw: random.Random, alone: list[Seconds], beside: list[Seconds]) -> Effect:
    """A study: in each block one window without the fault, and one of other seconds with it."""
    pairs = []
    for block in range(BLOCKS):
        first, second = draw.sample(range(len(alone)), 2)
        undelayed: Any = SimpleNamespace(
            id=str(block), block=block, delayed=lambda: Delayed(0, 0, 1)
        )
        results = draw_phase(draw, alone[first]), draw_phase(draw, beside[second])
        pairs.append(PhasePair((undelayed, undelayed), results, 1.0))
    return compare_phase(pairs, P99).effect


def test_alarms_are_mostly_true(recorded: dict[str, list[Seconds]]) -> None:
    """Of studies of nothing at most 9 of 100 see a difference; 90 see a p99 of 1.5 times."""
    draw = random.Random("p99 gate")
    pools = [(windows, [stretch(each, 1.5) for each in windows]) for windows in recorded.values()]
    chosen = [pools[number % len(pools)] for number in range(STUDIES)]
    nothing = [simulate(draw, windows, windows) for windows, _ in chosen]
    longer = [simulate(draw, windows, stretched) for windows, stretched in chosen]
    assert sum(effect.distinguishable is True for effect in nothing) <= 9
    assert sum(effect.low is not None and effect.low > 1 for effect in longer) >= 90
