"""The seam of findings: what a run says in a sentence, the most important first.

Those on which verdicts rest `stithy.analysis.findings` makes; others are found here, after them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from stithy.analysis.analyze import Analysis
from stithy.analysis.evidence import Evidence
from stithy.registry import Family, Plugin, plugins


@dataclass(frozen=True)
class FindingKind(Plugin):
    """A kind of findings: values whose `kind` is its name.

    `describe` says one in a sentence or a few; with it comes one of what levels count: `user`, or
    in an open loop `connection`. `find`: those of a run that no verdict rests on. `lead`: those
    that a person must read before the answer, such as a loss.
    """

    family: ClassVar[Family] = Family("report.findings", stage="report")

    name: str
    describe: Callable[[Any, str], str]
    find: Callable[[Evidence], Iterable[Any]] = lambda of: ()
    lead: Callable[[Analysis], Iterable[Any]] = lambda of: ()


def find_others(evidence: Evidence) -> Iterator[Any]:
    """Find what the kinds of findings find by themselves."""
    for kind in plugins(FindingKind).values():
        yield from kind.find(evidence)


def find_leading(analysis: Analysis) -> Iterator[Any]:
    """Find what stands before the answer."""
    for kind in plugins(FindingKind).values():
        yield from kind.lead(analysis)


def describe_all(findings: Sequence[Any], unit: str) -> tuple[str, ...]:
    """Say each finding in words."""
    return tuple(plugins(FindingKind)[finding.kind].describe(finding, unit) for finding in findings)
