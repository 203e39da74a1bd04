"""The figure of a level's seconds shows its median block and what is flagged."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from stithy.report.context import context_of
from stithy.report.figure import Figure
from stithy.report.figures.seconds import draw
from stithy.results.read import read_run
from support.drawn import figure_in, rows_in
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(13,), duration_s=40, series=False)


_figure = partial(figure_in, draw)


def _lines(figure: Figure) -> list[dict[str, Any]]:
    """What is drawn of each window."""
    return [row for row in rows_in(figure) if "again" in row]


def test_both_attempts_of_a_block_have_a_line_of_their_own(tmp_path: Path) -> None:
    """Also where both are invalid: joined, they would jump from one to the other."""
    name = window_id("disk", 13, 0)
    late = {each: {"lateness_p99_s": 1.0} for each in (name, f"{name}-again")}
    build_run(tmp_path, replace(SHAPE, changes=late, again=frozenset({(13, 0)})))
    lines = _lines(_figure(context_of(read_run(tmp_path))))
    assert {(row["block"], row["again"]) for row in lines} == {(0, False), (0, True)}
    for row in lines:
        assert len(row["second"]) == len(set(row["second"]))


def test_the_median_block_and_flagged_windows_are_drawn(tmp_path: Path) -> None:
    """The others are data alone, and both is told."""
    values = {"b0": 100.0, "b1": 400.0, "b2": 200.0, "b3": 300.0}
    changes: dict[str, dict[str, Any]] = {
        window_id(name, 13, int(block[1:])): {"nopm": value}
        for block, value in values.items()
        for name in ("disk", "memory")
    }
    changes[window_id("memory", 13, 1)]["checkpoints_inside"] = 0
    build_run(tmp_path, replace(SHAPE, repeat=4, changes=changes))
    figure = _figure(context_of(read_run(tmp_path)))
    assert {row["block"] for row in _lines(figure)} == {1, 2}
    assert set(figure.table.frame["block"]) == {0, 1, 2, 3}
    assert "Every second of block 2, the median of 4 by new orders per minute" in figure.caption
    assert "flagged windows: block 1 of memory (too short for a checkpoint)." in figure.caption
    assert "All other windows are in the data of this figure." in figure.caption


def test_a_note_that_all_windows_have_brings_none_of_them(tmp_path: Path) -> None:
    """It tells none of them apart; more flagged ones than can be drawn are counted."""
    names = [window_id(name, 13, block) for name in ("disk", "memory") for block in range(5)]
    build_run(
        tmp_path, replace(SHAPE, repeat=5, changes={name: {"autovacuum_runs": 1} for name in names})
    )
    assert "flagged" not in _figure(context_of(read_run(tmp_path))).caption
    build_run(
        tmp_path / "late",
        replace(SHAPE, repeat=5, changes={name: {"lateness_p99_s": 1.0} for name in names[:9]}),
    )
    figure = _figure(context_of(read_run(tmp_path / "late")))
    assert "; 3 more are in the data alone." in figure.caption
    assert "dotted where invalid" in figure.caption
