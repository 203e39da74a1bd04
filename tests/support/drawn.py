"""Made-up runs as the report reads them, and the rows that are in a drawing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def context_built(folder: Path, shape: Shape | None = None) -> Context:
    """The context of the run that lies there; of one of this shape, which is built first."""
    if shape is not None:
        build_run(folder, shape)
    return context_of(read_run(folder))


def rows_in(figure: Figure) -> Iterator[dict[str, Any]]:
    """Every row that the drawing holds, of all of its data."""
    return (row for rows in figure.spec["datasets"].values() for row in rows)
