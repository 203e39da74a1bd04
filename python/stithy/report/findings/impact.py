"""What users lost to what was beside them, such as backups or a neighbour, by candidate."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.words.wording import capital, listing, value

NAME = "impact"


@dataclass(frozen=True)
class Impact:
    """A paired metric at a point: of each candidate its value and the bounds of its interval."""

    kind: ClassVar[str] = "impact"
    metric: Quantity
    point: Point
    of: tuple[tuple[str, float, float | None, float | None], ...]


def find(context: Context) -> Iterator[Impact]:
    """One of each metric that any candidate has, where the question is asked.

    Own: of percentiles the highest that is known there.
    """
    found = {quantity: each for quantity in context.evidence.paired
             if (each := _impact(context, quantity)) is not None}  # fmt: skip
    highest = max((_percent(each) for each in found), default=0.0)
    for quantity, impact in found.items():
        if _percent(quantity) in (0.0, highest):
            yield impact


def _percent(quantity: Quantity) -> float:
    """Of a percentile's ratio which percentile it is; 0 of all else."""
    column = quantity.known.column
    return (Quantity(column).known.percent or 0.0) if column else 0.0


def _impact(context: Context, quantity: Quantity) -> Impact | None:
    cells, evidence = context.evidence.paired[quantity], context.evidence
    there = {point for _, point in cells}
    point = context.asked_of([each for each in evidence.points if each in there])
    if point is None:
        return None
    effects = {name: cells[name, point].effect for name in evidence.candidates
               if (name, point) in cells}  # fmt: skip
    of = tuple((name, each.value, each.low, each.high) for name, each in effects.items()
               if each.value is not None)  # fmt: skip
    return Impact(quantity, point, of) if of else None


def say(finding: Impact, unit: str) -> str:
    """The metric at the point, of each candidate with its interval."""
    each = listing([_of(finding.metric, *of) for of in finding.of])
    return f"{capital(finding.point.at(unit))}, the {finding.metric.noun} was {each}."


def _of(metric: Quantity, name: str, number: float, low: float | None, high: float | None) -> str:
    ends = (
        "" if low is None or high is None else f" ({value(metric, low)} to {value(metric, high)})"
    )
    return f"{value(metric, number)}{ends} on {name}"
