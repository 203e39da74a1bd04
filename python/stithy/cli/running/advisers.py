"""What asks for further windows while a run goes on: `analysis` judges, `run` measures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stithy.results.layout import RunDirectory
    from stithy.run.deciding.further import Adviser


def advisers() -> "tuple[Adviser, ...]":
    """All of them, each asked after those before it have what they need."""
    from stithy.cli.running.searching import searched
    from stithy.run.deciding.again import Again

    return (Again(invalid), searched)


def invalid(directory: "RunDirectory", windows: Sequence[str]) -> dict[str, str]:
    """Those of these windows that the report will call invalid, with the flags that make them so.

    A window that was not steady is valid: that is the storage's doing.
    """
    from stithy.report.context import evidence_of
    from stithy.results.read import read_run

    evidence = evidence_of(read_run(directory.root, windows))
    return {
        window.id: ", ".join(flag.value for flag in window.failures)
        for window in evidence.windows
        if window.failures
    }
