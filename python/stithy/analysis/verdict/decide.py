"""The verdict on two candidates: better, worse, equivalent, negligibly different, or undecided.

Of what is neither good nor bad it says higher or lower.

It follows from the interval alone, so that nobody can read one thing from the interval and another
from the verdict.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from stithy.analysis.verdict.boundaries import BLOCKS_LEAST
from stithy.analysis.verdict.chance import repeated_chance
from stithy.analysis.verdict.interval import Interval, interval
from stithy.metrics import Better

MARGIN_SHARE = 0.02
"""Own: a fiftieth; who buys storage for less is not known to us."""

WRONG_SHARE = 0.05
"""How often a difference may be claimed where there is none."""


class Call(Enum):
    """What is said of candidate B against A."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    HIGHER = "higher"
    LOWER = "lower"
    NEGLIGIBLE = "different but negligible"
    UNDECIDED = "undecided"


DIFFERENT = frozenset({Call.BETTER, Call.WORSE, Call.HIGHER, Call.LOWER, Call.NEGLIGIBLE})
"""The calls that claim a difference."""


@dataclass(frozen=True)
class Verdict:
    """The call on B against A after `blocks` blocks; `because` is set where it is undecided.

    `margin_share`: what counts as negligible, as a share of A.
    """

    call: Call
    blocks: int
    margin_share: float
    because: str | None = None

    @property
    def decided(self) -> bool:
        """Whether more blocks are not needed."""
        return self.call is not Call.UNDECIDED


def decide(
    logs: Sequence[float],
    margin_share: float = MARGIN_SHARE,
    *,
    better: Better | None = "higher",
    among: int = 1,
) -> Verdict:
    """The verdict on B against A from the log ratios `ln(b/a)` of their blocks.

    `better`: `lower` for what should be small, such as a response time; None where neither is good
    nor bad, and the verdict only tells which is higher. `among`: from how
    many comparisons this one was chosen after all were measured; a difference is then claimed
    only if it is so rare that one among them would be.
    Edge cases: fewer than four blocks are undecided, whatever they show.
    Source: docs/explanation/verdicts.md.
    """
    count = len(logs)
    known = interval(logs)
    if known is None or not known.decides:
        blocks = "no block" if not count else "1 block" if count == 1 else f"{count} blocks"
        because = f"{blocks}, at least {BLOCKS_LEAST} are needed"
        return Verdict(Call.UNDECIDED, count, margin_share, because)
    call = _call(known, math.log1p(margin_share), better)
    verdict = Verdict(call, count, margin_share, _NOT_TOLD if call is Call.UNDECIDED else None)
    if among > 1 and (repeated_chance(logs) or 0.0) * among > WRONG_SHARE:
        return not_borne(verdict, f"the difference is too small for one chosen among {among}")
    return verdict


def not_borne(verdict: Verdict, because: str) -> Verdict:
    """The verdict without a difference that is not rare enough to be claimed, for this reason.

    Own: where the interval lies within the margin it still tells that they are equivalent.
    """
    if verdict.call not in DIFFERENT:
        return verdict
    if verdict.call is Call.NEGLIGIBLE:
        return replace(verdict, call=Call.EQUIVALENT)
    return replace(verdict, call=Call.UNDECIDED, because=because)


_NOT_TOLD = "the interval holds both 1 and differences beyond the margin"


def _call(known: Interval, margin: float, better: Better | None) -> Call:
    different = known.low > 0 or known.high < 0
    if -margin < known.low and known.high < margin:
        return Call.NEGLIGIBLE if different else Call.EQUIVALENT
    if not different:
        return Call.UNDECIDED
    is_higher = known.low > 0
    if better is None:
        return Call.HIGHER if is_higher else Call.LOWER
    return Call.BETTER if is_higher == (better == "higher") else Call.WORSE
