"""How a quantity of two candidates is said: work is counted, times are long, all else is much.

`3.1 times as many new orders per minute as disk`, `2.1 times as long on sata as on nvme`.
"""

from stithy.metrics import Metric, Quantity
from stithy.report.words.apart import told_apart
from stithy.report.words.wording import count, measured


def value(quantity: Quantity, number: float) -> str:
    """A number with its unit, which what is counted a minute has in its name."""
    unit = quantity.known.unit
    return count(number) if unit == "1/min" else measured(number, unit)


def both(quantity: Quantity, numbers: tuple[float, float]) -> tuple[str, str]:
    """Two numbers with their unit, and so many digits that those which differ read so."""
    first, second = (value(quantity, number) for number in numbers)
    if first != second or numbers[0] == numbers[1]:
        return first, second
    unit = quantity.known.unit
    if unit == "share":
        first, second = told_apart(100 * numbers[0], 100 * numbers[1], "")
        return f"{first} %", f"{second} %"
    first, second = told_apart(*numbers, unit)
    return first.removesuffix("/min"), second.removesuffix("/min")


def claim(quantity: Quantity, more: str, less: str, factor: str) -> str:
    """That one candidate has `factor` times what the other has."""
    if _is_counted(quantity.known):
        return f"{more} completed {factor} times as many {quantity.noun} as {less}"
    much = "long" if quantity.known.unit == "s" else "much"
    verb = _verb(quantity.known)
    return f"{_the(quantity)} {verb} {factor} times as {much} on {more} as on {less}"


def values(quantity: Quantity, of: tuple[str, str], numbers: tuple[float, float]) -> str:
    """What each of two candidates has."""
    first, second = both(quantity, numbers)
    if _is_counted(quantity.known):
        return f"{_the(quantity)} of {of[0]} and {of[1]} were {first} and {second}"
    return f"{_the(quantity)} {_verb(quantity.known)} {first} on {of[0]} and {second} on {of[1]}"


def alike(quantity: Quantity, of: tuple[str, str], numbers: tuple[float, float], how: str) -> str:
    """That two candidates were `how`, such as `not distinguishable`, with their values."""
    both = f"({value(quantity, numbers[0])} and {value(quantity, numbers[1])})"
    if _is_counted(quantity.known):
        return f"{_the(quantity)} of {of[0]} and {of[1]} were {how} {both}"
    return f"{of[0]} and {of[1]} were {how} by {_the(quantity)} {both}"


def _is_counted(metric: Metric) -> bool:
    return metric.source == "window"


def _verb(metric: Metric) -> str:
    """Times and shares are one thing; reads per second are many."""
    return "was" if metric.unit in ("s", "share") else "came to"


def _the(quantity: Quantity) -> str:
    return f"the {quantity.noun}"
