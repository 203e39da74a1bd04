"""The numbers that a study writes beside measured values, and whether they are of the same kind."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from stithy.metrics import Unit
from stithy.units import parse_duration, parse_fine_percent, parse_rate, parse_size

Kind = Literal["bare", "time", "rate", "size", "flow", "percent"]

UNITS: Mapping[Unit, str] = {
    "s": "a time", "1/min": "a number per minute", "1/s": "a number per second", "B": "a size",
    "B/s": "a size per second", "share": "a share", "": "a number",
}  # fmt: skip
"""What a metric is, by its unit."""

EXAMPLES: Mapping[Unit, str] = {
    "s": "a duration such as 5 ms", "1/min": "a number such as 5000, or 100/s",
    "1/s": "a number such as 5000, or 100/s", "B": "a size such as 64 MiB",
    "B/s": "a size per second such as 64 MiB/s", "share": "a share such as 90%, or 0.9",
    "": "a number such as 8",
}  # fmt: skip
"""How a number of a unit is written."""

_BARE = re.compile(r"\d+(\.\d+)?", re.ASCII)
_SIZE = re.compile(r"[\d.]+\s*([kKMGT]i?)?[bB]", re.ASCII)


@dataclass(frozen=True)
class Number:
    """A number as it was written; times in seconds, rates per second, sizes in bytes."""

    value: float
    kind: Kind


def read_number(text: str) -> Number:
    """`5000`, `5 ms`, `100/s`, `64 MiB`, `64 MiB/s` or `90%`.

    Raises ValueError, with what would be right, for anything else.
    """
    if _BARE.fullmatch(text):
        return Number(_finite(float(text)), "bare")
    if re.fullmatch(r"[\d.,_]+", text):
        raise ValueError("digits, with a point before decimals: 5000 or 0.5")
    if text.endswith("%"):
        return Number(parse_fine_percent(text) / 100, "percent")
    size, per, unit = text.partition("/")
    if _SIZE.fullmatch(size.strip()):
        return _size(size, unit.strip() if per else None)
    if per:
        return Number(_finite(parse_rate(text)), "rate")
    return Number(_finite(parse_duration(text)), "time")


def _size(size: str, unit: str | None) -> Number:
    if unit not in (None, "s"):
        raise ValueError("a size per second is needed, such as 64 MiB/s")
    return Number(float(parse_size(size)), "size" if unit is None else "flow")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a smaller number is needed")
    return value


def fitted(number: Number, unit: Unit) -> float | None:
    """The number in a unit; None where it is not of its kind.

    A bare one is in the unit itself, but never a time or a size.
    """
    value = number.value
    known: Mapping[Unit, Mapping[Kind, float]] = {
        "s": {"time": value},
        "1/min": {"bare": value, "rate": value * 60},
        "1/s": {"bare": value, "rate": value},
        "B": {"size": value},
        "B/s": {"flow": value},
        "share": {"bare": value, "percent": value},
        "": {"bare": value},
    }
    found = known[unit].get(number.kind)
    return found if found is not None and math.isfinite(found) else None
