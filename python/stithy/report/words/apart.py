"""Two numbers that differ, with as many digits as tell them apart."""

from stithy.metrics import Unit
from stithy.thresholds import decimal

DIGITS_MOST = 17
"""Own: as many as tell any two numbers apart."""


def told_apart(left: float, right: float, unit: Unit) -> tuple[str, str]:
    """Both in the unit itself, with the fewest digits from four on with which they differ.

    They must differ; a share stays a share of 1.
    """
    digits = range(4, DIGITS_MOST + 1)
    both = ((_exact(left, unit, each), _exact(right, unit, each)) for each in digits)
    return next(each for each in both if each[0] != each[1])


def _exact(value: float, unit: Unit, digits: int) -> str:
    short = decimal(float(f"{value:.{digits}g}"))
    if unit in ("1/min", "1/s"):
        return f"{short}{unit.removeprefix('1')}"
    return f"{short} {unit}" if unit in ("s", "B", "B/s") else short
