"""How the throughput of each candidate grew from the lowest to the highest level."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.analysis.evidence import Evidence
from stithy.metrics import TPM
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.words.wording import (
    listing,
    times,
)

NAME = "growth"


@dataclass(frozen=True)
class Growth:
    """How the throughput of each candidate grew from the lowest to the highest level.

    `factors`: (candidate, throughput there over that here), None without valid windows at both.
    """

    kind: ClassVar[str] = "growth"
    lowest: Point
    highest: Point
    factors: tuple[tuple[str, float | None], ...]
    noun: str = TPM.noun


def find(context: Context) -> Iterator[Growth]:
    """One of all candidates, or nothing."""
    if (found := growth(context.evidence)) is not None:
        yield found


def growth(evidence: Evidence) -> Growth | None:
    """From the lowest to the highest of the listed levels; None where nobody has valid windows at
    both.
    """
    levels = [point for point in evidence.levels if point in evidence.listed]
    if len(levels) < 2:
        return None
    low, high = levels[0], levels[-1]
    factors = tuple((name, _times(evidence, name, low, high)) for name in evidence.candidates)
    if all(factor is None for _, factor in factors):
        return None
    return Growth(low, high, factors, evidence.throughput.noun)


def _times(evidence: Evidence, name: str, low: Point, high: Point) -> float | None:
    start = evidence.level_of(name, low, evidence.throughput)
    end = evidence.level_of(name, high, evidence.throughput)
    return None if not start or end is None else end / start


GROWTHS_DETAILED = 4
"""Own: of more candidates a sentence tells the least and the most; the table has all."""


def say(finding: Growth, unit: str) -> str:
    """The growth of every candidate, or of many the least and the most, in one sentence."""
    known = [(name, factor) for name, factor in finding.factors if factor is not None]
    if len(known) > GROWTHS_DETAILED:
        ordered = sorted(known, key=lambda each: each[1])
        shown = listing([f"{name} {_factor(factor)}" for name, factor in (ordered[0], ordered[-1])])
        shown += f", and those of the other {len(known) - 2} between them"
    else:
        shown = listing([f"{name} {_factor(factor)}" for name, factor in known])
    missing = [name for name, factor in finding.factors if factor is None]
    text = f"From {_span(finding.lowest, finding.highest, unit)}, the {finding.noun} of {shown}"
    if missing:
        text += f"; the growth of {listing(missing)} is not known, as valid windows are missing"
    return text + "."


def _span(lowest: Point, highest: Point, unit: str) -> str:
    """From a level to another: what both have is said once."""
    if lowest.others == highest.others:
        return f"{lowest.level:,} to {highest.in_words(unit)}"
    return f"{lowest.in_words(unit)} to {highest.in_words(unit)}"


def _factor(factor: float) -> str:
    if times(factor) == times(1):
        return "stayed within 0.5 %"
    return f"{'grew' if factor > 1 else 'fell'} to {times(factor)} times"
