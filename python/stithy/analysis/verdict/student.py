"""Student's t distribution: which value is exceeded how often, for small numbers of blocks."""

import math
from functools import lru_cache

CONFIDENCE = 0.95


@lru_cache(maxsize=256)
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
        if 1.0 - t_beyond(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def t_beyond(t: float, degrees: int) -> float:
    """Probability that |T| exceeds `t` by chance: I_x(n/2, 1/2) at x = n/(n + t²).

    Source: Abramowitz and Stegun, 26.7.1.
    """
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


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
