"""How a quantity of two candidates is said: work is counted, times are long, all else is much.

`3.1 times as many new orders per minute as disk`, `0.48 times as long on nvme as on sata`.
"""

from stithy.metrics import ALL, Metric, Quantity
from stithy.report.words.apart import told_apart
from stithy.report.words.wording import count, measured

MINUS = "\N{MINUS SIGN}"
"""A hyphen would read as a range between two numbers."""


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


def signed(quantity: Quantity, number: float) -> str:
    """A difference with its sign and unit: `+9,585`, `−107 ms`, `+12 percentage points`."""
    sign = MINUS if number < 0 else "+"
    if quantity.known.unit == "share":
        return f"{sign}{100 * abs(number):.3g} percentage points"
    return f"{sign}{value(quantity, abs(number))}"


def brief(quantity: Quantity) -> str:
    """In a short sentence: `new orders per minute`, `p95 response time`, `p95 of new-order`."""
    if quantity.known.source != "transactions":
        return quantity.noun
    of = quantity.of if quantity.of not in (None, ALL) else None
    return f"{quantity.known.label} of {of}" if of else f"{quantity.known.label} response time"


def against(quantity: Quantity, who: str, factor: str, of: str = "") -> str:
    """That `who`, or `it`, has `factor` times what the other has, whose name may be left out."""
    if _is_counted(quantity.known):
        than = f" as {of}" if of else ""
        work = quantity.noun.removesuffix(" per minute")
        return f"{who} completed {factor} times as many {work}{than}"
    whose, verb = "its" if who == "it" else "the", _verb(quantity.known)
    on = "" if who == "it" else f" on {who}"
    much = "long" if quantity.known.unit == "s" else "much"
    than = f" as on {of}" if of else ""
    return f"{whose} {brief(quantity)}{on} {verb} {factor} times as {much}{than}"


def values(quantity: Quantity, of: tuple[str, str], numbers: tuple[float, float]) -> str:
    """What each of two candidates has."""
    first, second = both(quantity, numbers)
    if _is_counted(quantity.known):
        return f"{_the(quantity)} of {of[0]} and {of[1]} were {first} and {second}"
    return f"{_the(quantity)} {_verb(quantity.known)} {first} on {of[0]} and {second} on {of[1]}"


def _is_counted(metric: Metric) -> bool:
    return metric.source == "window"


def _verb(metric: Metric) -> str:
    """Times and shares are one thing; reads per second are many."""
    return "was" if metric.unit in ("s", "share") else "came to"


def _the(quantity: Quantity) -> str:
    return f"the {quantity.noun}"
