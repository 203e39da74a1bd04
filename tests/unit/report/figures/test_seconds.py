"""The figure of a level's seconds."""

from pathlib import Path

import polars as pl

from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.report.figures.seconds import draw
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(13,), duration_s=40, series=False)


def _caption(context: Context) -> str:
    (figure,) = draw(context)
    assert isinstance(figure, Figure)
    return figure.caption


def test_changes_of_level_are_marked_and_explained(tmp_path: Path) -> None:
    """Where there are none, nothing is said of them."""
    run = build_run(tmp_path, SHAPE)
    assert "Dotted vertical lines" not in _caption(context_of(read_run(tmp_path)))
    path = run.window(window_id("memory", 13, 0)).table("seconds")
    halved = pl.when(pl.col("second") >= 25).then(pl.col("committed") // 2)
    frame = pl.read_parquet(path)
    frame.with_columns(committed=halved.otherwise(pl.col("committed"))).write_parquet(path)
    context = context_of(read_run(tmp_path))
    assert "Dotted vertical lines mark where the level of a window's throughput" in _caption(
        context
    )
    (figure,) = draw(context)
    assert isinstance(figure, Figure)
    marked = str(figure.spec["datasets"])
    assert "'second': 25.0, 'what': 'the level of throughput changed'" in marked
