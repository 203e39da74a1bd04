"""Made-up runs as the report reads them, and the rows that are in a drawing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from stithy.analysis.evidence import Window
from stithy.metrics import ALL
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.blocks import Drawn, Figure, FigureKind, SectionKind
from stithy.report.context import Context, make_context
from stithy.report.page import Page
from stithy.results.files import read_run
from support.sample_run import Shape, build_run


def context_built(folder: Path, shape: Shape | None = None) -> Context:
    """The context of the run that lies there; of one of this shape, which is built first."""
    if shape is not None:
        build_run(folder, shape)
    return make_context(read_run(folder))


def at_points(
    context: Context,
    points: Mapping[int, Point],
    values: Callable[[dict[str, Any]], Mapping[str, float]],
    **changed: Any,
) -> Context:
    """The run as if windows of so many users were those of a point, by the number.

    `values`: what an activity measured in a window, by metric. `changed`: of all rows of windows.
    """
    run = context.run
    rows = [{**row, "point": str(points[row["users"]]), **changed} for row in run.window.to_dicts()]
    found = [
        {"window_id": row["window_id"], "activity": "backup", "metric": metric, "of": ALL,
         "count": 1, "value": value, "missing_because": None}
        for row in rows for metric, value in values(row).items()
    ]  # fmt: skip
    window = pl.DataFrame(rows, schema=run.window.schema)
    frame = pl.DataFrame(found, schema=run.values.schema)
    # Its baseline checks were made at the points that it had.
    return make_context(replace(run, window=window, values=frame, baseline=run.baseline.clear()))


def at_point(context: Context, point: Point, of: Callable[[Window], Mapping[str, Any]]) -> Context:
    """The run as if all of its windows were at this point, and had what `of` says of each."""
    windows = tuple(
        replace(window, row={**window.row, "point": str(point)}, **of(window))
        for window in context.evidence.windows
    )
    evidence = replace(context.evidence, windows=windows, points=(point,))
    return replace(context, evidence=evidence)


def draw_all(name: str, context: Context) -> list[Drawn]:
    """What a family of figures of this name is in a run, or those that a section draws itself."""
    kinds = plugins(FigureKind)
    if name in kinds:
        return kinds[name].draw(context)
    return [*plugins(SectionKind)[name].draw_figures(Page(context))]


def draw_one(name: str, context: Context) -> Figure:
    """The only figure that it is."""
    [figure] = draw_all(name, context)
    assert isinstance(figure, Figure)
    return figure


def rows_in(figure: Figure) -> Iterator[dict[str, Any]]:
    """Every row that the drawing holds, of all of its data."""
    return (row for rows in figure.spec["datasets"].values() for row in rows)
