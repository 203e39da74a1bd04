"""A second kind of finding beside those that are made here: who was measured first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.analysis.evidence import Evidence
from stithy.report.findings.finding import FindingKind


@dataclass(frozen=True)
class First:
    """The candidate of the first window."""

    kind: ClassVar[str] = "first"
    candidate: str


class OfFirst(FindingKind):
    """Who was measured first."""

    name = "first"

    def find(self, evidence: Evidence) -> Iterator[First]:
        """Find it where there is a window."""
        for window in evidence.windows[:1]:
            yield First(window.candidate)

    def describe(self, finding: First, unit: str) -> str:
        """Say it in one sentence, which speaks of no level."""
        del unit
        return f"{finding.candidate} was measured first."


PLUGINS = (OfFirst(),)
