"""The heat map counts every transaction of the windows it shows, once."""

from pathlib import Path

from recompute.hlog import buckets
from stithy.report.context import context_of
from stithy.report.figure import Absent, Figure
from stithy.report.figures.heat import draw
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.drawn import figure_in
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(13,), repeat=3, logs=True)


def _figure(root: Path) -> Figure:
    return figure_in(draw, context_of(read_run(root)))


def _log(run: RunDirectory, name: str, block: int) -> Path:
    return run.window(window_id(name, 13, block)).root / "hammer.response.hlog"


def _shown(figure: Figure) -> int:
    (block,) = set(figure.table.frame["block"])
    return int(block)


def test_rows_are_few_and_hold_the_values_between_their_edges(tmp_path: Path) -> None:
    """A second's transactions in each row are those of the log, buckets on an edge apart."""
    run = build_run(tmp_path, SHAPE)
    figure = _figure(tmp_path)
    frame = figure.table.frame
    assert frame["from_s"].n_unique() <= 40
    for name in SHAPE.candidates:
        found = list(buckets(_log(run, name, _shown(figure))))
        start_s = min(bucket.at_s for bucket in found)
        for row in frame.filter(candidate=name).to_dicts():
            inside = sum(
                bucket.count
                for bucket in found
                if round(bucket.at_s - start_s) == row["second"]
                and row["from_s"] * 1e6 <= (bucket.low_us + bucket.high_us) / 2 < row["to_s"] * 1e6
            )
            assert abs(inside - row["transactions"]) <= 1


def test_without_a_log_it_is_told_why_there_is_no_figure(tmp_path: Path) -> None:
    """Missing for one candidate, the other is drawn and the missing one named."""
    run = build_run(tmp_path, SHAPE)
    figure = _figure(tmp_path)
    _log(run, "disk", _shown(figure)).unlink()
    assert "No log of disk." in _figure(tmp_path).caption
    _log(run, "memory", _shown(figure)).unlink()
    (absent,) = draw(context_of(read_run(tmp_path)))
    assert isinstance(absent, Absent)
