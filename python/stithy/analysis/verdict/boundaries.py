"""How many blocks a verdict needs, when it is looked for, and how wide its interval is there.

Who looks after every block and stops when the difference looks large enough is wrong far more often
than once in twenty. The looks and their critical values are therefore chosen together.
"""

from bisect import bisect_right

LOOKS = (4, 6, 8, 10, 12, 16, 20)
"""Blocks at which a verdict is looked for."""

_CRITICAL = (5.54, 3.80, 3.35, 3.11, 3.00, 2.84, 2.77)
"""Of Student's t at each look: exceeded at a look by 1.18 %, and at any of them by 5 %, of studies
in which nothing differs, of independent normal blocks. Own: Monte Carlo over 60,000 of them."""

BLOCKS_LEAST = LOOKS[0]
BLOCKS_MOST = LOOKS[-1]

CAUTION = 1.3
"""By how much every interval is wider than that. Own: chosen by simulation, so that blocks that are
correlated (0.3), or moderately skewed to one side, mislead at most 7 studies in 100; what it does
not cover is told in docs/adr/0007-verdicts-that-expect-bad-noise.md."""


def critical(blocks: int) -> float:
    """The critical value of Student's t after so many blocks.

    Between two looks that of the look before holds, which is the stricter one; after the last look
    that of the last. Raises ValueError below the first look.
    Source: group-sequential boundaries of equal nominal level, Pocock (1977); own Monte Carlo.
    """
    if blocks < BLOCKS_LEAST:
        raise ValueError(f"{blocks} blocks, at least {BLOCKS_LEAST} are needed")
    return _CRITICAL[bisect_right(LOOKS, blocks) - 1]


def looks_until(blocks: int) -> int:
    """How many looks there were up to so many blocks; at least one from the first look on.

    Own: a count.
    """
    return bisect_right(LOOKS, blocks)
