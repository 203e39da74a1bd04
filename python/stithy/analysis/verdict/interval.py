"""The interval of a mean log ratio: plain for a few blocks, one to decide by from four on.

All numbers are natural logarithms of ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from stithy.analysis.verdict.boundaries import BLOCKS_LEAST, CAUTION, critical
from stithy.analysis.verdict.student import t_critical

CORRELATION_BLOCKS_LEAST = 8
"""Own: a correlation of neighbours that is told from fewer blocks is mostly chance."""

CORRELATION_MOST = 0.6
"""Own: the interval is at most doubled for it; what is correlated more has drifted."""


@dataclass(frozen=True)
class Interval:
    """Around the mean of the log ratios; `decides` is False for a plain t interval.

    `error`: standard error of the mean, as if blocks were independent. `widened`: by which factor
    the interval is wider than the boundaries alone have it; 1 for a plain one.
    """

    mean: float
    low: float
    high: float
    error: float
    widened: float
    decides: bool


def interval(logs: Sequence[float]) -> Interval | None:
    """The interval of the mean of the log ratios of a comparison; None with fewer than two.

    With two or three blocks it is the plain 95 % t interval. From four blocks on it is mean ±
    critical value × widening × standard error, and holds the truth at all looks together in at
    least 95 of 100 studies: the conservative 95 % interval. A single one holds it in 99.4 of 100
    studies of independent normal blocks.
    Source: repeated confidence intervals, Jennison and Turnbull (1989); boundaries: `boundaries`.
    """
    count = len(logs)
    if count < 2:
        return None
    mean = math.fsum(logs) / count
    error = math.sqrt(math.fsum((d - mean) ** 2 for d in logs) / (count - 1) / count)
    if count < BLOCKS_LEAST:
        return Interval(mean, *_plain(mean, error, count), error, 1.0, decides=False)
    widened = widening(logs)
    half = critical(count) * widened * error
    return Interval(mean, mean - half, mean + half, error, widened, decides=True)


def plain_interval(logs: Sequence[float]) -> tuple[float, float] | None:
    """The plain 95 % t interval of the mean of the log ratios; None with fewer than two.

    Right for independent normal blocks and someone who looks once; whoever looks more often must
    not decide by it.
    Source: Student (1908).
    """
    known = interval(logs)
    return None if known is None else _plain(known.mean, known.error, len(logs))


def _plain(mean: float, error: float, count: int) -> tuple[float, float]:
    half = t_critical(count - 1) * error
    return mean - half, mean + half


def lag_1(logs: Sequence[float]) -> float | None:
    """The correlation of each block with the one before it; None where it is not defined.

    Between -1 and 1; from few blocks it is biased downwards by about 1/n.
    Source: Box and Jenkins (1970), the sample autocorrelation.
    """
    if len(logs) < 3:
        return None
    mean = math.fsum(logs) / len(logs)
    away = [d - mean for d in logs]
    whole = math.fsum(d * d for d in away)
    if whole == 0:
        return None
    return math.fsum(x * y for x, y in zip(away, away[1:], strict=False)) / whole


def widening(logs: Sequence[float]) -> float:
    """By which factor the interval is wider than for independent normal blocks.

    At least `CAUTION`; more where neighbouring blocks are visibly correlated, by the factor with
    which correlation ρ widens the error of a mean: √((1 + ρ)/(1 − ρ)).
    Source: the variance of the mean of an AR(1) series; `CAUTION` is our own.
    """
    if len(logs) < CORRELATION_BLOCKS_LEAST:
        return CAUTION
    seen = min(lag_1(logs) or 0.0, CORRELATION_MOST)
    return max(CAUTION, math.sqrt((1 + seen) / (1 - seen)))
