"""How often chance alone shows as much: by the boundaries, by flipping signs, and among several.

These stand beside an interval and never alone: none of them says how large a difference is.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from stithy.analysis.verdict.boundaries import looks_until
from stithy.analysis.verdict.interval import interval
from stithy.analysis.verdict.student import t_beyond

EXACT_BLOCKS_MOST = 32
"""Own: two halves of 65,536 sums; beyond, signs are drawn."""

DRAWS = 20_000


def repeated_chance(logs: Sequence[float]) -> float | None:
    """At most this often chance crosses such a boundary at this look or before; None without one.

    The nominal level of the boundary that the mean would just reach, times the looks so far
    (Bonferroni), so it is rather too large. At the boundary itself it is 1.18 % times the looks.
    Source: repeated p-values, Jennison and Turnbull (1984); the bound is Bonferroni's.
    """
    known = interval(logs)
    if known is None or not known.decides:
        return None
    if known.error == 0:
        return 1.0 if known.mean == 0 else 0.0
    t = abs(known.mean) / (known.error * known.widened)
    return min(1.0, looks_until(len(logs)) * t_beyond(t, len(logs) - 1))


def sign_flip_chance(logs: Sequence[float], seed: int) -> float | None:
    """How often random signs give a mean as far from 0 as the measured one; None without blocks.

    It needs no law of the noise, but differences that are independent and as likely with either
    sign: orders are balanced within pairs of blocks, so signs are not drawn one by one. What the
    place in a block does cancels in the mean, so on its account the chance is too large. All signs
    are tried up to 32 blocks; with more, 20,000 draws of the seed tell. It never falls below 2/2ⁿ:
    12.5 % with four blocks.
    Source: Fisher, The Design of Experiments (1935), the randomisation test of paired differences.
    """
    if not logs:
        return None
    # What differs by rounding alone counts as equal.
    bar = abs(math.fsum(logs)) - 1e-12 * math.fsum(map(abs, logs))
    if len(logs) > EXACT_BLOCKS_MOST:
        return _drawn_chance(logs, bar, seed)
    left, right = _sums(logs[::2]), _sums(logs[1::2])
    count = len(right)
    beyond = sum(
        count - bisect_left(right, bar - each) + bisect_right(right, -bar - each) for each in left
    )
    return min(1.0, beyond / (len(left) * count))


def _sums(parts: Sequence[float]) -> list[float]:
    """The sums of all choices of signs, in order."""
    sums = [0.0]
    for part in parts:
        sums = [each + part for each in sums] + [each - part for each in sums]
    return sorted(sums)


def _drawn_chance(logs: Sequence[float], bar: float, seed: int) -> float:
    draw = random.Random(f"sign flip {seed}")
    beyond = sum(
        abs(math.fsum(d if draw.random() < 0.5 else -d for d in logs)) >= bar for _ in range(DRAWS)
    )
    return (beyond + 1) / (DRAWS + 1)


def holm(chances: Sequence[float]) -> tuple[float, ...]:
    """Each chance adjusted for the number of comparisons, in the order given; at most 1.

    The smallest is multiplied by their number, the next by one less, and none falls below the one
    before it. Whoever claims those of at most 5 % is wrong about any of them in 5 % at most.
    Source: Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    adjusted = [1.0] * len(chances)
    floor = 0.0
    for rank, index in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        floor = max(floor, min(1.0, chances[index] * (len(chances) - rank)))
        adjusted[index] = floor
    return tuple(adjusted)
