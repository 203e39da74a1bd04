"""A second kind of finding beside those that are made here: who was measured first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from stithy.report.context import Context

NAME = "first"


@dataclass(frozen=True)
class First:
    """The candidate of the first window."""

    kind: ClassVar[str] = NAME
    candidate: str


def find(context: Context) -> Iterator[First]:
    """Where there is a window."""
    for window in context.evidence.windows[:1]:
        yield First(window.candidate)


def say(finding: First, unit: str) -> str:
    """In one sentence."""
    del unit  # it speaks of no level
    return f"{finding.candidate} was measured first."
