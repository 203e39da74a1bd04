"""What a threshold is: two values and what must hold between them, and how it is written.

`nvme.tpm_at_13 >= 1.2 * sata.tpm_at_13`. `study.thresholds` reads such a text and
`analysis.thresholds` judges it. Printed and read again a threshold is the same.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from stithy.errors import TextError
from stithy.metrics import Quantity, Unit
from stithy.point import PointText
from stithy.units import SECONDS_BY_UNIT, parse_duration, parse_fine_percent, parse_rate, parse_size

Kind = Literal["bare", "time", "rate", "size", "flow", "percent"]

UNITS: Mapping[Unit, str] = {
    "s": "a time", "1/min": "a number per minute", "1/s": "a number per second", "B": "a size",
    "B/s": "a size per second", "W": "a number of watts", "J": "a number of joules",
    "share": "a share", "": "a number",
}  # fmt: skip
"""What a metric is, by its unit."""

EXAMPLES: Mapping[Unit, str] = {
    "s": "a duration such as 5 ms", "1/min": "a number such as 5000, or 100/s",
    "1/s": "a number such as 5000, or 100/s", "B": "a size such as 64 MiB",
    "B/s": "a size per second such as 64 MiB/s", "W": "a number such as 250",
    "J": "a number such as 0.5", "share": "a share such as 90%, or 0.9", "": "a number such as 8",
}  # fmt: skip
"""How a number of a unit is written."""

_BARE = re.compile(r"\d+(\.\d+)?", re.ASCII)
_SIZE = re.compile(r"[\d.]+\s*(?:([kKMGT]i?)?[bB]|[KMGT])", re.ASCII)


@dataclass(frozen=True)
class Number:
    """A number as it was written; times in seconds, rates per second, sizes in bytes."""

    value: float
    kind: Kind


def read_number(text: str) -> Number:
    """`5000`, `5 ms`, `100/s`, `64 MiB`, `64 MiB/s` or `90%`.

    Raises TextError, with what would be right, for anything else.
    """
    if _BARE.fullmatch(text):
        return Number(_require_finite(float(text)), "bare")
    if re.fullmatch(r"[\d.,_]+", text):
        raise TextError("digits, with a point before decimals: 5000 or 0.5")
    if text.endswith("%"):
        return Number(parse_fine_percent(text) / 100, "percent")
    size, per, unit = text.partition("/")
    if _SIZE.fullmatch(size.strip()):
        return _read_size(size, unit.strip() if per else None)
    if per:
        return Number(_require_finite(parse_rate(text)), "rate")
    return Number(_require_finite(parse_duration(text)), "time")


def _read_size(size: str, unit: str | None) -> Number:
    if unit not in (None, "s"):
        raise TextError("a size per second is needed, such as 64 MiB/s")
    return Number(float(parse_size(size)), "size" if unit is None else "flow")


def _require_finite(value: float) -> float:
    if not math.isfinite(value):
        raise TextError("a smaller number is needed")
    return value


def convert_fitting(number: Number, unit: Unit) -> float | None:
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
        "W": {"bare": value},
        "J": {"bare": value},
        "share": {"bare": value, "percent": value},
        "": {"bare": value},
    }
    found = known[unit].get(number.kind)
    return found if found is not None and math.isfinite(found) else None


Relation = Literal[">=", "<=", ">", "<"]

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


@dataclass(frozen=True)
class MeasuredSide:
    """`factor` times what `candidate` did at a point.

    `of`: whose, where the metric has several: a transaction type, a device, an operation.
    """

    candidate: str
    metric: str
    point: PointText
    of: str | None = None
    factor: float = 1.0

    @property
    def quantity(self) -> Quantity:
        return Quantity(self.metric, self.of)

    @property
    def unit(self) -> Unit:
        return self.quantity.known.unit

    @property
    def name(self) -> str:
        """The value without its factor: `nvme.payment.p95_at_4`."""
        owner = f"{self.candidate}.{self.of}" if self.of else self.candidate
        return f"{owner}.{self.metric}_at_{self.point.word}"

    def __str__(self) -> str:
        return self.name if self.factor == 1 else f"{format_decimal(self.factor)} * {self.name}"


@dataclass(frozen=True)
class Constant:
    """A number in the unit of what it is held against; shares are parts of 1."""

    value: float
    unit: Unit

    def __str__(self) -> str:
        if self.unit == "s":
            return _format_duration(self.value)
        if self.unit in ("B", "B/s"):
            return f"{_format_size(self.value)}{self.unit.removeprefix('B')}"
        return _percent(self.value) if self.unit == "share" else format_decimal(self.value)


Side = MeasuredSide | Constant


@dataclass(frozen=True)
class Threshold:
    """What must hold of a run; at least one side was measured, and both have one unit."""

    left: Side
    relation: Relation
    right: Side

    @property
    def unit(self) -> Unit:
        return self.left.unit

    def holds(self, left: float, right: float) -> bool:
        """Whether these values of the two sides are as they must be."""
        return RELATIONS[self.relation](left, right)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


def format_decimal(value: float) -> str:
    """All digits of a number without an exponent, so that it is read back as the same."""
    return _trim(format(Decimal(repr(value)), "f"))


def _format_duration(value_s: float) -> str:
    unit = "us" if 0 < value_s < 1e-3 else "ms" if 0 < value_s < 1 else "s"
    number = Decimal(repr(value_s)) / Decimal(repr(SECONDS_BY_UNIT[unit]))
    return f"{_trim(format(number, 'f'))} {unit}"


def _format_size(value_bytes: float) -> str:
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if value_bytes >= 1024**power and (value_bytes / 1024**power).is_integer():
            return f"{value_bytes / 1024**power:.0f} {unit}"
    return f"{format_decimal(value_bytes)} B"


def _percent(value: float) -> str:
    digits = _trim(f"{100 * value:.3f}")
    return (
        f"{digits}%" if 0 <= value <= 1 and float(digits) / 100 == value else format_decimal(value)
    )


def _trim(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
