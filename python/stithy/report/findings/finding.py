"""The seam of findings: what a run says in a sentence, the most important first.

Those on which verdicts rest `stithy.analysis.findings` makes; others are found here, after them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from stithy.analysis.evidence import Evidence
from stithy.registry import Family, Plugin, plugins


class FindingKind(Plugin):
    """A kind of findings: values whose `kind` is its name."""

    family = Family("report.findings", interface=frozenset({"finding"}))

    def find(self, evidence: Evidence) -> Iterator[Any]:
        """Find those of a run that no verdict rests on."""
        del evidence
        yield from ()

    def describe(self, finding: Any, unit: str) -> str:
        """Say a finding in a sentence, or a few.

        `unit`: one of what levels count: `user`, or in an open loop `connection`.
        """
        raise NotImplementedError


def find_others(evidence: Evidence) -> Iterator[Any]:
    """Find what the kinds of findings find by themselves."""
    for kind in plugins(FindingKind).values():
        yield from kind.find(evidence)


def describe_all(findings: Sequence[Any], unit: str) -> tuple[str, ...]:
    """Say each finding in words."""
    return tuple(plugins(FindingKind)[finding.kind].describe(finding, unit) for finding in findings)
