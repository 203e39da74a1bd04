"""What a threshold is: two values and what must hold between them, and how it is written.

`nvme.nopm_at_13 >= 1.2 * sata.nopm_at_13`. `study.thresholds` reads such a text and
`analysis.thresholds` judges it. Printed and read again a threshold is the same.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from stithy.units import SECONDS_BY_UNIT

Relation = Literal[">=", "<=", ">", "<"]
Unit = Literal["s", "1/min"]
Source = Literal["window", "transactions", "device", "drive"]

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt,
}  # fmt: skip

OPERATIONS = ("read", "write", "flush")


@dataclass(frozen=True)
class Metric:
    """One thing that a threshold may ask of a candidate at a level.

    `column`: of the tables `window` and `transactions`; of the sources `device` and `drive` it is
    the operation.
    """

    unit: Unit
    source: Source
    column: str
    meaning: str


METRICS: Mapping[str, Metric] = {
    "nopm": Metric("1/min", "window", "nopm", "committed new orders per minute"),
    "tpm": Metric("1/min", "window", "tpm", "completed transactions per minute"),
    **{
        name: Metric("s", "transactions", f"response_{name}_s", f"{text} of response time")
        for name, text in (
            ("p50", "median"), ("p90", "90th percentile"),
            ("p95", "95th percentile"), ("p99", "99th percentile"),
        )
    },
    **{
        f"device_{each}_mean": Metric(
            "s", "device", each, f"mean time of a {each} on the block device, queue included"
        )
        for each in OPERATIONS
    },
    **{
        f"device_{each}_p99": Metric(
            "s", "drive", each, f"99th percentile of a {each}'s time in an emulated drive"
        )
        for each in OPERATIONS
    },
}  # fmt: skip
"""What can be asked, by the word that asks for it."""


@dataclass(frozen=True)
class Measured:
    """`factor` times what `candidate` did at a level.

    `transaction`: whose response time, `all` for all types together; None is the workload's own
    headline, and what every metric has that is not of one type.
    """

    candidate: str
    metric: str
    users: int
    transaction: str | None = None
    factor: float = 1.0

    @property
    def unit(self) -> Unit:
        """The unit of its value."""
        return METRICS[self.metric].unit

    @property
    def name(self) -> str:
        """The value without its factor: `nvme.payment.p95_at_4`."""
        owner = f"{self.candidate}.{self.transaction}" if self.transaction else self.candidate
        return f"{owner}.{self.metric}_at_{self.users}"

    def __str__(self) -> str:
        """As it is written in a study."""
        return self.name if self.factor == 1 else f"{decimal(self.factor)} * {self.name}"


@dataclass(frozen=True)
class Constant:
    """A number with its unit; a bare number in a study is one per minute."""

    value: float
    unit: Unit

    def __str__(self) -> str:
        """As it is written in a study."""
        return _duration(self.value) if self.unit == "s" else decimal(self.value)


Side = Measured | Constant


@dataclass(frozen=True)
class Threshold:
    """What must hold of a run; at least one side was measured, and both have one unit."""

    left: Side
    relation: Relation
    right: Side

    @property
    def unit(self) -> Unit:
        """The unit of both sides."""
        return self.left.unit

    def holds(self, left: float, right: float) -> bool:
        """Whether these values of the two sides are as they must be."""
        return RELATIONS[self.relation](left, right)

    def __str__(self) -> str:
        """As it is written in a study."""
        return f"{self.left} {self.relation} {self.right}"


def decimal(value: float) -> str:
    """All digits of a number without an exponent, so that it is read back as the same."""
    return _trimmed(format(Decimal(repr(value)), "f"))


def _duration(value_s: float) -> str:
    """A duration in the unit that fits its size, or in seconds where only these give it exactly."""
    unit = "us" if 0 < value_s < 1e-3 else "ms" if 0 < value_s < 1 else "s"
    size_s = SECONDS_BY_UNIT[unit]
    number = _trimmed(format(Decimal(repr(value_s)) / Decimal(repr(size_s)), "f"))
    exact = float(number) * size_s == value_s
    return f"{number} {unit}" if exact else f"{decimal(value_s)} s"


def _trimmed(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
