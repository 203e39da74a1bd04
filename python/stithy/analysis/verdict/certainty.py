"""How sure a comparison is, beside its interval: cross-checks that decide nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stithy.analysis.verdict.bootstrap import bootstrap_interval
from stithy.analysis.verdict.chance import sign_flip_chance
from stithy.analysis.verdict.decide import MARGIN_SHARE
from stithy.analysis.verdict.interval import interval, lag_1
from stithy.analysis.verdict.progress import forecast


@dataclass(frozen=True)
class Certainty:
    """What else the blocks of a comparison tell; None where there are too few for it.

    `lag_1`: correlation of neighbouring blocks. `widened`: by which factor the interval is wider
    than for independent normal blocks. `sign_flip_share`: how often random signs give as much.
    `low`, `high`: the bootstrap's interval of the ratio. `blocks_needed`: about how many blocks
    will decide, where it is undecided.
    """

    lag_1: float | None
    widened: float | None
    sign_flip_share: float | None
    low: float | None
    high: float | None
    blocks_needed: int | None


def certainty(
    logs: Sequence[float], seed: int, margin_share: float = MARGIN_SHARE, *, decided: bool = False
) -> Certainty:
    """The cross-checks on the log ratios of a comparison; `seed` is that of the study.

    `decided`: there is nothing left to forecast.
    Source: docs/explanation/verdicts.md, "How sure".
    """
    known = interval(logs)
    low, high = bootstrap_interval(logs, seed) or (None, None)
    return Certainty(
        lag_1(logs),
        known.widened if known and known.decides else None,
        sign_flip_chance(logs, seed) if len(logs) > 1 else None,
        None if low is None else math.exp(low),
        None if high is None else math.exp(high),
        None if decided else forecast(logs, margin_share),
    )
