"""How far the mean of a few windows may be from that of many."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from stithy.analysis.verdict.student import t_critical


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of values that cannot be negative, as rates cannot.

    Raises ValueError for fewer than two values, of which nothing is known.
    Source: Student (1908); docs/explanation/method.md, "Intervals".
    """
    if len(values) < 2:
        raise ValueError("an interval needs two values or more")
    mean, half = fmean(values), t_critical(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return max(0.0, mean - half), mean + half


def factor_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the geometric mean of values greater than 0, as times are.

    Raises ValueError for fewer than two values, of which nothing is known.
    Source: Student (1908), of the logarithms.
    """
    if len(values) < 2:
        raise ValueError("an interval needs two values or more")
    logs = [math.log(value) for value in values]
    half = t_critical(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)
