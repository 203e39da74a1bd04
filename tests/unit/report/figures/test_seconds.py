"""The figure of a level's seconds."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.report.figures.seconds import draw
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(13,), duration_s=40, series=False)
KEYS = ("block", "again", "second")
"""What tells the points of a line apart from those of another."""


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


def test_both_attempts_of_a_block_have_a_line_of_their_own(tmp_path: Path) -> None:
    """Also where both are invalid: joined, they would jump from one to the other."""
    name = window_id("disk", 13, 0)
    late = {each: {"lateness_p99_s": 1.0} for each in (name, f"{name}-again")}
    build_run(tmp_path, replace(SHAPE, changes=late, again=frozenset({(13, 0)})))
    (figure,) = draw(context_of(read_run(tmp_path)))
    assert isinstance(figure, Figure)
    for rows in figure.spec["datasets"].values():
        points = [tuple(row.get(key) for key in KEYS) for row in rows if "block" in row]
        assert len(points) == len(set(points))
