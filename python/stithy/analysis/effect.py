"""How much more does one candidate do than another, and how sure is that?

A ratio of paired windows: the same level, the same block, the same seed. One pair gives a ratio and
no interval; two or more give a t interval of the mean log ratio.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Effect:
    """The ratio of B to A with its interval; `missing_because` is set where `ratio` is None.

    `low`, `high`: bounds of the 95 % interval, None with fewer than two pairs.
    """

    ratio: float | None
    low: float | None
    high: float | None
    pairs: int
    missing_because: str | None = None

    @property
    def distinguishable(self) -> bool | None:
        """Whether the interval excludes 1; None without an interval.

        Own: the reading of an interval of a ratio.
        """
        if self.low is None or self.high is None:
            return None
        return self.low > 1 or self.high < 1


def no_effect(reason: str) -> Effect:
    """The effect that could not be formed.

    Own: missing is None with a reason, never 0 or 1.
    """
    return Effect(None, None, None, 0, reason)


def paired_ratio(a: Sequence[float], b: Sequence[float]) -> Effect:
    """Effect of candidate B against A over blocks that contain both.

    Shapes: `a` and `b` are (pairs,), same order, equal units, all greater than 0.
    Edge cases: no pair, or a value of 0, gives an effect with a reason; one pair gives no interval.
    Source: docs/explanation/method.md, "Intervals".
    """
    if len(a) != len(b):
        raise ValueError(f"{len(a)} windows of A do not pair with {len(b)} of B")
    if not a:
        return no_effect("no block has a valid window of both candidates")
    if min(*a, *b) <= 0:
        return no_effect("a window completed nothing")
    logs = [math.log(y / x) for x, y in zip(a, b, strict=True)]
    mean = math.fsum(logs) / len(logs)
    if len(logs) == 1:
        return Effect(math.exp(mean), None, None, 1)
    spread = math.sqrt(math.fsum((d - mean) ** 2 for d in logs) / (len(logs) - 1))
    half = t_critical(len(logs) - 1) * spread / math.sqrt(len(logs))
    return Effect(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def t_critical(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The two-sided critical value of Student's t: 95 % of the mass lies within it of 0.

    Found by bisection of the distribution function; exact to nine digits.
    Source: Student (1908); the incomplete beta function as in Abramowitz and Stegun, 26.7.1.
    """
    if degrees < 1:
        raise ValueError("a t distribution needs at least one degree of freedom")
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if _within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _within(t: float, degrees: int) -> float:
    """Probability that |T| stays below `t`: 1 - I_x(n/2, 1/2) at x = n/(n + t²)."""
    return 1.0 - _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    front = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction 26.5.8 of Abramowitz and Stegun."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0), tiny)
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1.0 / _away(1.0 + even * d, tiny), _away(1.0 + even / c, tiny)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / _away(1.0 + odd * d, tiny), _away(1.0 + odd / c, tiny)
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


def _away(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
