"""What changed: throughput over the levels, and users beside backups or a neighbour."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.analysis.evidence import Evidence
from stithy.metrics import ALL, TPM, Quantity
from stithy.point import Point
from stithy.report.findings import FindingKind
from stithy.report.words.wording import format_quantity, format_times
from stithy.statements import Statement, Styled, join_list
from stithy.units import format_list


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


def find_growth(evidence: Evidence) -> Growth | None:
    """From the lowest to the highest of the listed levels; None where nobody has valid windows at
    both.
    """
    levels = [point for point in evidence.levels if point in evidence.listed]
    if len(levels) < 2:
        return None
    low, high, factors = levels[0], levels[-1], []
    for name in evidence.candidates:
        start, end = (evidence.level_of(name, at, evidence.throughput) for at in (low, high))
        factors.append((name, None if not start or end is None else end / start))
    if all(factor is None for _, factor in factors):
        return None
    return Growth(low, high, tuple(factors), evidence.throughput.noun)


GROWTHS_DETAILED = 4
"""Own: of more candidates a sentence tells the least and the most; the table has all."""


def _describe_factor(name: str, factor: float) -> Statement:
    if format_times(factor) == format_times(1):
        return Statement("{candidate} stayed within 0.5 %", candidate=name)
    return Statement(
        f"{{candidate}} {'grew' if factor > 1 else 'fell'} to {{growth}} times",
        candidate=name,
        growth=Styled(factor, format_times(factor)),
    )


@dataclass(frozen=True)
class Impact:
    """A paired metric at a point: of each candidate its value and the bounds of its interval."""

    kind: ClassVar[str] = "impact"
    metric: Quantity
    point: Point
    of: tuple[tuple[str, float, float | None, float | None], ...]


def _find_percent(quantity: Quantity) -> float:
    """Of a percentile's ratio which percentile it is; 0 of all else."""
    column = quantity.known.column
    return (Quantity(column).known.percent or 0.0) if column else 0.0


def _find_impact(evidence: Evidence, quantity: Quantity) -> Impact | None:
    cells = evidence.paired[quantity]
    there = {point for _, point in cells}
    point = evidence.choose_asked([each for each in evidence.points if each in there])
    if point is None:
        return None
    effects = {name: cells[name, point].effect for name in evidence.candidates
               if (name, point) in cells}  # fmt: skip
    of = tuple((name, each.value, each.low, each.high) for name, each in effects.items()
               if each.value is not None)  # fmt: skip
    return Impact(quantity, point, of) if of else None


def _describe_growth(finding: Growth, unit: str) -> str:
    known = [(name, factor) for name, factor in finding.factors if factor is not None]
    if len(known) > GROWTHS_DETAILED:
        ordered = sorted(known, key=lambda each: each[1])
        ends = join_list([_describe_factor(*each) for each in (ordered[0], ordered[-1])])
        shown = Statement("{ends}, and those of the other {others} between them", ends=ends,
                          others=len(known) - 2)  # fmt: skip
    else:
        shown = join_list([_describe_factor(*each) for each in known])
    missing = [name for name, factor in finding.factors if factor is None]
    unknown = "; the growth of {missing} is not known, as valid windows are missing"
    low, high = finding.lowest, finding.highest
    least = f"{low.level:,}" if low.others == high.others else low.in_words(unit)
    return Statement(
        "From {span}, the {noun} of {shown}" + (unknown if missing else "") + ".",
        span=f"{least} to {high.in_words(unit)}", noun=finding.noun, shown=shown,
        missing=format_list(missing),
    )  # fmt: skip


def _find_every_impact(evidence: Evidence) -> Iterator[Impact]:
    whole = (quantity for quantity in evidence.paired if quantity.of in (None, ALL))
    found = {quantity: each for quantity in whole
             if (each := _find_impact(evidence, quantity)) is not None}  # fmt: skip
    highest = max((_find_percent(each) for each in found), default=0.0)
    for quantity, impact in found.items():
        if _find_percent(quantity) in (0.0, highest):
            yield impact


def _describe_impact(finding: Impact, unit: str) -> str:
    values = []
    for name, *numbers in finding.of:
        ends = dict(zip(("value", "low", "high"), numbers, strict=True))
        known = {key: Styled(end, format_quantity(finding.metric, end))
                 for key, end in ends.items() if end is not None}  # fmt: skip
        interval = " ({low} to {high})" if len(known) == len(ends) else ""
        values.append(Statement(f"{{value}}{interval} on {{candidate}}", candidate=name, **known))
    return Statement("{at:sentence}, the {noun} was {values}.", at=finding.point.at(unit),
                     noun=finding.metric.noun, values=join_list(values))  # fmt: skip


PLUGINS = (
    FindingKind(
        "growth", _describe_growth, find=lambda evidence: filter(None, [find_growth(evidence)])
    ),
    FindingKind("impact", _describe_impact, find=_find_every_impact),
)
