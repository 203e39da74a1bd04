"""The statistics of a comparison: Student's t, boundaries, intervals, chance.

Who looks after every block and stops when the difference looks large enough is wrong far more often
than once in twenty. The interim analyses and their critical values are therefore chosen together.
All numbers of blocks are natural logarithms of ratios.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

CONFIDENCE = 0.95


@lru_cache(maxsize=256)
def find_critical_t(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The two-sided critical value of Student's t: 95 % of the mass lies within it of 0.

    Found by bisection of the distribution function; exact to nine digits.
    Source: Student (1908); the incomplete beta function as in Abramowitz and Stegun, 26.7.1.
    """
    if degrees < 1:
        raise ValueError("a t distribution needs at least one degree of freedom")
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if 1.0 - find_tail_chance(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def find_tail_chance(t: float, degrees: int) -> float:
    """Probability that |T| exceeds `t` by chance: I_x(n/2, 1/2) at x = n/(n + t²).

    Source: Abramowitz and Stegun, 26.7.1.
    """
    if math.isinf(t):
        return 0.0
    return _compute_incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _compute_incomplete_beta(x: float, a: float, b: float) -> float:
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    front = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _evaluate_fraction(x, a, b) / a
    return 1.0 - front * _evaluate_fraction(1 - x, b, a) / b


def _evaluate_fraction(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction 26.5.8 of Abramowitz and Stegun."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _keep_from_zero(1.0 - (a + b) * x / (a + 1.0), tiny)
    value = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1.0 / _keep_from_zero(1.0 + even * d, tiny), _keep_from_zero(1.0 + even / c, tiny)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1.0 / _keep_from_zero(1.0 + odd * d, tiny), _keep_from_zero(1.0 + odd / c, tiny)
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


def _keep_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny


INTERIM_BLOCKS = (4, 6, 8, 10, 12, 16, 20)
"""Blocks at which a verdict is looked for."""

_CRITICAL = (5.54, 3.80, 3.35, 3.11, 3.00, 2.84, 2.77)
"""Of Student's t at each look: exceeded at a look by 1.18 %, and at any of them by 5 %, of studies
in which nothing differs, of independent normal blocks. Own: Monte Carlo over 60,000 of them."""

BLOCKS_LEAST = INTERIM_BLOCKS[0]
BLOCKS_MOST = INTERIM_BLOCKS[-1]

CAUTION = 1.3
"""By how much every interval is wider than that. Own: chosen by simulation, so that blocks that are
correlated (0.3), or moderately skewed to one side, mislead at most 7 studies in 100; what it does
not cover is reported in docs/adr/0007-verdicts-that-expect-bad-noise.md."""


def find_critical(blocks: int) -> float:
    """The critical value of Student's t after so many blocks.

    Between two looks that of the look before holds, which is the stricter one; after the last look
    that of the last. Raises ValueError below the first look.
    Source: group-sequential boundaries of equal nominal level, Pocock (1977); own Monte Carlo.
    """
    if blocks < BLOCKS_LEAST:
        raise ValueError(f"{blocks} blocks, at least {BLOCKS_LEAST} are needed")
    return _CRITICAL[bisect_right(INTERIM_BLOCKS, blocks) - 1]


def count_analyses(blocks: int) -> int:
    """How many looks there were up to so many blocks; at least one from the first look on."""
    return bisect_right(INTERIM_BLOCKS, blocks)


CORRELATION_BLOCKS_LEAST = 8
"""Own: a correlation of neighbours that is reported from fewer blocks is mostly chance."""

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


Bound = tuple[float, float]
"""By how much a block can be below and above what was seen of it, for disturbances of its windows.
"""


def estimate_interval(logs: Sequence[float], bounds: Sequence[Bound] = ()) -> Interval | None:
    """The interval of the mean of the log ratios of a comparison; None with fewer than two.

    With `bounds` its ends are those of all blocks moved down, and up, where these are farther out.
    So it holds whatever part of its bound each block took.

    With two or three blocks it is the plain 95 % t interval. From four blocks on it is mean ±
    critical value × widening × standard error, and holds the truth at all looks together in at
    least 95 of 100 studies: the conservative 95 % interval. A single one holds it in 99.4 of 100
    studies of independent normal blocks.
    Source: repeated confidence intervals, Jennison and Turnbull (1989), with `find_critical`.
    """
    if len(logs) < 2:
        return None
    known = _compute_interval(logs)
    if not is_bounded(bounds):
        return known
    down, up = map(_compute_interval, move_to_bounds(logs, bounds))
    return replace(known, low=min(known.low, down.low), high=max(known.high, up.high))


def _compute_interval(logs: Sequence[float]) -> Interval:
    count = len(logs)
    mean = math.fsum(logs) / count
    error = math.sqrt(math.fsum((d - mean) ** 2 for d in logs) / (count - 1) / count)
    if count < BLOCKS_LEAST:
        return Interval(
            mean, *_compute_plain_interval(mean, error, count), error, 1.0, decides=False
        )
    widened = estimate_widening(logs)
    half = find_critical(count) * widened * error
    return Interval(mean, mean - half, mean + half, error, widened, decides=True)


def is_bounded(bounds: Sequence[Bound]) -> bool:
    """Whether a disturbance can have changed any block."""
    return any(map(any, bounds))


def move_to_bounds(
    logs: Sequence[float], bounds: Sequence[Bound]
) -> tuple[list[float], list[float]]:
    """All blocks as far below what was seen as they can be, and as far above."""
    pairs = list(zip(logs, bounds, strict=True))
    return [log - down for log, (down, _) in pairs], [log + up for log, (_, up) in pairs]


def estimate_plain_interval(logs: Sequence[float]) -> tuple[float, float] | None:
    """The plain 95 % t interval of the mean of the log ratios; None with fewer than two.

    Right for independent normal blocks and someone who looks once; whoever looks more often must
    not decide by it.
    Source: Student (1908).
    """
    known = estimate_interval(logs)
    return None if known is None else _compute_plain_interval(known.mean, known.error, len(logs))


def _compute_plain_interval(mean: float, error: float, count: int) -> tuple[float, float]:
    half = find_critical_t(count - 1) * error
    return mean - half, mean + half


def correlate_neighbours(logs: Sequence[float]) -> float | None:
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


def estimate_widening(logs: Sequence[float]) -> float:
    """By which factor the interval is wider than for independent normal blocks.

    At least `CAUTION`; more where neighbouring blocks are visibly correlated, by the factor with
    which correlation ρ widens the error of a mean: √((1 + ρ)/(1 − ρ)).
    Source: the variance of the mean of an AR(1) series; `CAUTION` is our own.
    """
    if len(logs) < CORRELATION_BLOCKS_LEAST:
        return CAUTION
    seen = min(correlate_neighbours(logs) or 0.0, CORRELATION_MOST)
    return max(CAUTION, math.sqrt((1 + seen) / (1 - seen)))


def estimate_mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of values that cannot be negative, as rates cannot.

    Raises ValueError for fewer than two values, of which nothing is known.
    Source: Student (1908); docs/explanation/method.md, "Intervals".
    """
    if (known := estimate_plain_interval(values)) is None:
        raise ValueError("an interval needs two values or more")
    return max(0.0, known[0]), known[1]


def estimate_factor_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the geometric mean of values greater than 0, as times are.

    Raises ValueError for fewer than two values, of which nothing is known.
    Source: Student (1908), of the logarithms.
    """
    if (known := estimate_plain_interval([math.log(value) for value in values])) is None:
        raise ValueError("an interval needs two values or more")
    return math.exp(known[0]), math.exp(known[1])


EXACT_BLOCKS_MOST = 32
"""Own: two halves of 65,536 sums; beyond, signs are drawn."""

DRAWS = 20_000


def bound_repeated_chance(logs: Sequence[float], bounds: Sequence[Bound] = ()) -> float | None:
    """At most this often chance crosses such a boundary at this look or before; None without one.

    The nominal level of the boundary that the mean would just reach, times the looks so far
    (Bonferroni), so it is rather too large. At the boundary itself it is 1.18 % times the looks.
    With `bounds` (see `estimate_interval`) all are moved towards 0; it is 1 where they cross it.
    Source: repeated p-values, Jennison and Turnbull (1984); the bound is Bonferroni's.
    """
    known = estimate_interval(logs)
    if known is None or not known.decides:
        return None
    if is_bounded(bounds):
        nearer = move_to_bounds(logs, bounds)[known.mean < 0]
        chances = [bound_repeated_chance(each) or 0.0 for each in (logs, nearer)]
        return max(chances) if known.mean * math.fsum(nearer) > 0 else 1.0
    if known.error == 0:
        return 1.0 if known.mean == 0 else 0.0
    t = abs(known.mean) / (known.error * known.widened)
    return min(1.0, count_analyses(len(logs)) * find_tail_chance(t, len(logs) - 1))


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
        draw = random.Random(f"sign flip {seed}")
        beyond = sum(
            abs(math.fsum(d if draw.random() < 0.5 else -d for d in logs)) >= bar
            for _ in range(DRAWS)
        )
        return (beyond + 1) / (DRAWS + 1)
    left, right = _list_sums(logs[::2]), _list_sums(logs[1::2])
    count = len(right)
    beyond = sum(
        count - bisect_left(right, bar - each) + bisect_right(right, -bar - each) for each in left
    )
    return min(1.0, beyond / (len(left) * count))


def _list_sums(parts: Sequence[float]) -> list[float]:
    sums = [0.0]
    for part in parts:
        sums = [each + part for each in sums] + [each - part for each in sums]
    return sorted(sums)


def adjust_by_holm(chances: Sequence[float | None]) -> tuple[float | None, ...]:
    """Each chance adjusted for the number of comparisons, in the order given; at most 1.

    Where there is None it stays, and counts for none. The smallest is multiplied by their number,
    the next by one less, and none falls below the one before it. Whoever claims those of at most
    5 % is wrong about any of them in 5 % at most.
    Source: Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    known = sorted((each, index) for index, each in enumerate(chances) if each is not None)
    adjusted: list[float | None] = [None] * len(chances)
    floor = 0.0
    for rank, (chance, index) in enumerate(known):
        adjusted[index] = floor = max(floor, min(1.0, chance * (len(known) - rank)))
    return tuple(adjusted)


BOOTSTRAPS = 4000
"""Own: the bounds of two seeds then differ by a few hundredths of the interval."""


def sample_bootstrap_interval(logs: Sequence[float], seed: int) -> tuple[float, float] | None:
    """The middle 95 % of means of blocks drawn anew with replacement; None with fewer than two.

    Shapes: natural logarithms, like `logs`. From few blocks it is too narrow, and it knows nothing
    of repeated looks: it checks the shape of an interval, not its width.
    Source: Efron (1979), the percentile bootstrap.
    """
    if len(logs) < 2:
        return None
    draw, count = random.Random(f"bootstrap {seed}"), len(logs)
    drawn = draw.choices(logs, k=count * BOOTSTRAPS)
    means = sorted(math.fsum(drawn[i : i + count]) / count for i in range(0, len(drawn), count))
    return means[round(0.025 * BOOTSTRAPS)], means[round(0.975 * BOOTSTRAPS) - 1]
