"""A second kind of finding beside those that are made here: who was measured first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.analysis.evidence import Evidence
from stithy.report.findings import FindingKind


@dataclass(frozen=True)
class First:
    """The candidate of the first window."""

    kind: ClassVar[str] = "first"
    candidate: str


def _find(evidence: Evidence) -> Iterator[First]:
    for window in evidence.windows[:1]:
        yield First(window.candidate)


def _describe(finding: First, unit: str) -> str:
    del unit
    return f"{finding.candidate} was measured first."


PLUGINS = (FindingKind("first", _describe, find=_find),)
