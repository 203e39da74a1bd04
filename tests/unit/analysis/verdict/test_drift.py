"""A machine that changes under a study: what the order of the windows is for."""

import math
import random

import pytest

from stithy.analysis.verdict.decide import Call, decide
from stithy.analysis.verdict.effect import paired_ratio
from stithy.plan.order import blocks

BLOCKS = 12
DRIFT_SHARE = 0.20
"""A background load that grows: the last window does a fifth less than the first."""


def _machine(seed: int) -> list[float]:
    """What the machine gives at each of 24 turns, whichever candidate has it."""
    draw, turns = random.Random(seed), 2 * BLOCKS
    return [
        (1 - DRIFT_SHARE * turn / (turns - 1)) * math.exp(draw.gauss(0, 0.01))
        for turn in range(turns)
    ]


def _measured(order: list[str], machine: list[float], better: float) -> Call:
    """The verdict on B where the candidates take their turns in this order."""
    done: dict[str, list[float]] = {"a": [], "b": []}
    for name, given in zip(order, machine, strict=True):
        done[name].append(1000 * given * (better if name == "b" else 1.0))
    return decide(paired_ratio(done["a"], done["b"]).logs).call


def _interleaved(seed: int) -> list[str]:
    """The order of a plan: blocks, each in its own random order."""
    return [name for block in blocks("ab", [(8, BLOCKS)], seed) for name in block.candidates]


ONE_AFTER_THE_OTHER = ["a"] * BLOCKS + ["b"] * BLOCKS


@pytest.mark.parametrize("seed", range(20))
def test_drift_flips_no_verdict_of_interleaved_blocks(seed: int) -> None:
    """B is better by 5 %, and is found so; as AAAA…BBBB the same machine makes it worse."""
    machine = _machine(seed)
    assert _measured(_interleaved(seed), machine, 1.05) is Call.BETTER
    assert _measured(ONE_AFTER_THE_OTHER, machine, 1.05) is Call.WORSE


@pytest.mark.parametrize("seed", range(20))
def test_drift_makes_no_difference_of_interleaved_equals(seed: int) -> None:
    """Equal candidates stay equal or undecided; as AAAA…BBBB one is worse."""
    machine = _machine(seed)
    interleaved = _measured(_interleaved(seed), machine, 1.0)
    assert interleaved in (Call.EQUIVALENT, Call.UNDECIDED)
    assert _measured(ONE_AFTER_THE_OTHER, machine, 1.0) is Call.WORSE
