"""What a family of figures draws of a made-up run, and the rows that are in a drawing."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stithy.report.context import Context, context_of
from stithy.report.figure import Drawn, Figure
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

Family = Callable[[Context], Sequence[Drawn]]
"""The `draw` of a family."""


def context_built(folder: Path, shape: Shape | None = None) -> Context:
    """The context of a run of this shape, which is built there."""
    return context_of(read_run(build_run(folder, shape).root))


def all_drawn(draw: Family, folder: Path, shape: Shape) -> Sequence[Drawn]:
    """What is drawn of a run of this shape."""
    return draw(context_built(folder, shape))


def only_drawn(draw: Family, folder: Path, shape: Shape) -> Drawn:
    """The one thing that is drawn of it, be it that there is nothing to draw."""
    [only] = all_drawn(draw, folder, shape)
    return only


def only_figure(draw: Family, folder: Path, shape: Shape) -> Figure:
    """The one figure that is drawn of it."""
    return figure_in(draw, context_built(folder, shape))


def figure_in(draw: Family, context: Context) -> Figure:
    """The one figure that is drawn of a context."""
    [only] = draw(context)
    assert isinstance(only, Figure)
    return only


def rows_in(figure: Figure) -> Iterator[dict[str, Any]]:
    """Every row that the drawing holds, of all of its data."""
    return (row for rows in figure.spec["datasets"].values() for row in rows)
