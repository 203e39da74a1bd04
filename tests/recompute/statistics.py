"""Statistics of a verdict by another way: quadrature for Student's t, all signs one by one.

Boundaries and factors are those of docs/explanation/verdicts.md.
"""

import itertools
import math
import random
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist, fmean, stdev

CRITICAL = {4: 5.54, 6: 3.80, 8: 3.35, 10: 3.11, 12: 3.00, 16: 2.84, 20: 2.77}
CAUTION = 1.3

Bounds = tuple[float, float]


@cache
def t_beyond(t: float, degrees: int) -> float:
    """How often |T| exceeds `t`: Simpson's rule over the density, in the angle of t/√n."""
    steps, end = 400, math.atan(abs(t) / math.sqrt(degrees))

    def density(angle: float) -> float:
        return math.cos(angle) ** (degrees - 1)

    def integral(until: float) -> float:
        width = until / steps
        return width / 3 * sum(
            (1 if i in (0, steps) else 4 if i % 2 else 2) * density(i * width)
            for i in range(steps + 1)
        )  # fmt: skip

    return 1 - integral(end) / integral(math.pi / 2)


@cache
def t_critical(degrees: int, share: float = 0.05) -> float:
    """What |T| exceeds in this share of cases, by halving."""
    low, high = NormalDist().inv_cdf(0.975), 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_beyond(middle, degrees) > share else (low, middle)
    return low


def correlation(logs: Sequence[float]) -> float | None:
    """Of each block with the one before it."""
    if len(logs) < 3:
        return None
    mean = fmean(logs)
    whole = sum((x - mean) ** 2 for x in logs)
    pairs = itertools.pairwise(logs)
    return sum((x - mean) * (y - mean) for x, y in pairs) / whole if whole else None


def widening(logs: Sequence[float]) -> float:
    """By how much the interval that decides is wider than for independent normal blocks."""
    seen = min(correlation(logs) or 0.0, 0.6) if len(logs) >= 8 else 0.0
    return max(CAUTION, math.sqrt((1 + seen) / (1 - seen)))


def error(logs: Sequence[float]) -> float:
    """Standard error of the mean."""
    return stdev(logs) / math.sqrt(len(logs))


def plain(logs: Sequence[float]) -> Bounds | None:
    """Student's 95 % interval of a ratio; None of one block."""
    if len(logs) < 2:
        return None
    half = t_critical(len(logs) - 1) * error(logs)
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def around(values: Sequence[float], bounds: Sequence[Bounds] = ()) -> Bounds | None:
    """The interval of a mean that decides, from four blocks on; before that the plain one.

    `bounds`: how far below and above what was seen each of them can be.
    """
    if len(values) < 2:
        return None
    if bounds:
        ends = [around([x + part * by[part > 0] for x, by in zip(values, bounds, strict=True)])
                for part in (-1, 1)]  # fmt: skip
        (low, high), down, up = (each or (0.0, 0.0) for each in (around(values), *ends))
        return min(low, down[0]), max(high, up[1])
    half = t_critical(len(values) - 1) * error(values)
    if len(values) >= min(CRITICAL):
        half = critical(len(values)) * widening(values) * error(values)
    return fmean(values) - half, fmean(values) + half


def interval(logs: Sequence[float], bounds: Sequence[Bounds] = ()) -> Bounds | None:
    """The same of a ratio, by the logarithms."""
    found = around(logs, bounds)
    return None if found is None else (math.exp(found[0]), math.exp(found[1]))


def critical(blocks: int) -> float:
    """Of the last analysis until then."""
    return CRITICAL[max(at for at in CRITICAL if at <= blocks)]


def chance(logs: Sequence[float], among: int = 1, bounds: Sequence[Bounds] = ()) -> float | None:
    """How often chance alone crosses such a boundary until now, at most."""
    if len(logs) < min(CRITICAL):
        return None
    if any(map(any, bounds)):
        sign = 1 if fmean(logs) > 0 else -1
        near = [x - sign * by[sign < 0] for x, by in zip(logs, bounds, strict=True)]
        if sign * fmean(near) <= 0:
            return 1.0
        return max(chance(each, among) or 0.0 for each in (logs, near))
    looks = sum(at <= len(logs) for at in CRITICAL)
    t = abs(fmean(logs)) / (error(logs) * widening(logs))
    return min(1.0, min(1.0, looks * t_beyond(t, len(logs) - 1)) * among)


def sign_flips(logs: Sequence[float]) -> float | None:
    """How often random signs give as much: every choice of signs, up to 16 blocks."""
    if not 2 <= len(logs) <= 16:
        return None
    bar = abs(math.fsum(logs)) - 1e-12 * math.fsum(
        abs(x) for x in logs
    )  # rounding is no difference
    sums = [
        abs(math.fsum(s * x for s, x in zip(signs, logs, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(logs))
    ]
    return sum(each >= bar for each in sums) / len(sums)


def bootstrap(logs: Sequence[float], seed: int) -> Bounds:
    """The middle 95 % of 4,000 means of blocks drawn anew, by the draw that the study's seed fixes.

    The same draws must be made for the same numbers; their arithmetic is our own.
    """
    if not logs:
        return math.nan, math.nan
    drawn = random.Random(f"bootstrap {seed}").choices(logs, k=len(logs) * 4000)
    means = sorted(fmean(each) for each in zip(*[iter(drawn)] * len(logs), strict=True))
    return math.exp(means[100]), math.exp(means[3899])


def blocks_needed(
    logs: Sequence[float], margin_share: float, limit: int, bounds: Sequence[Bounds] = ()
) -> int | None:
    """The first analysis to come at which mean and spread as they are would decide."""
    mean, spread = abs(fmean(logs)), stdev(logs) * widening(logs)
    for count in sorted({*CRITICAL, limit}):
        if max(len(logs), 3) < count <= limit:
            half = critical(count) * spread / math.sqrt(count)
            half += max((fmean(each) for each in zip(*bounds, strict=True)), default=0.0)
            if mean > half or mean + half < math.log(1 + margin_share):
                return count
    return None


def position(logs: Sequence[float], later: Sequence[bool]) -> tuple[float, ...] | None:
    """The later window over the earlier one with its plain interval: least squares of two orders.

    The log ratio of a block is the candidate's effect plus the position's, or minus it.
    """
    groups = [[x for x, is_later in zip(logs, later, strict=True) if is_later is which]
              for which in (True, False)]  # fmt: skip
    if min(map(len, groups)) < 2:
        return None
    middle = (fmean(groups[0]) - fmean(groups[1])) / 2
    degrees = len(logs) - 2
    squares = sum((len(each) - 1) * stdev(each) ** 2 for each in groups)
    half = t_critical(degrees) / 2 * math.sqrt(
        squares / degrees * sum(1 / len(each) for each in groups)
    )  # fmt: skip
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def holm(chances: Sequence[float]) -> list[float]:
    """Adjusted for their number: the smallest by all of them, the next by one less."""
    ordered = sorted(chances)
    steps = [min(1.0, each * (len(ordered) - at)) for at, each in enumerate(ordered)]
    return [max(steps[: ordered.index(each) + 1]) for each in chances]
