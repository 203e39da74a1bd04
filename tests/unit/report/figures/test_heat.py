"""The heat map counts every transaction of the windows it shows, once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recompute.hlog import at_most_us, buckets
from stithy.report.context import context_of
from stithy.report.figure import Absent, Figure
from stithy.report.figures import heat
from stithy.report.figures.heat import draw
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.workload.workloads.order_entry import WORKLOAD
from support.drawn import figure_in, rows_in
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(13,), repeat=3, logs=True)


def _figure(root: Path) -> Figure:
    return figure_in(draw, context_of(read_run(root)))


def _log(run: RunDirectory, name: str, block: int) -> Path:
    return run.window(window_id(name, 13, block)).root / "hammer.response.hlog"


def _shown(figure: Figure) -> int:
    (block,) = set(figure.table.frame["block"])
    return int(block)


def _cells(figure: Figure) -> list[dict[str, Any]]:
    return [row for row in rows_in(figure) if "rate" in row]


@pytest.mark.parametrize("duration_s", [20, 300], ids=["a second", "several seconds"])
def test_the_cells_hold_as_many_transactions_as_the_logs(tmp_path: Path, duration_s: int) -> None:
    """In the table, and in what is drawn, also where a column has several seconds."""
    candidates = ("disk",)
    run = build_run(
        tmp_path,
        replace(SHAPE, candidates=candidates, repeat=1, duration_s=duration_s, mix=WORKLOAD.shares),
    )
    figure = _figure(tmp_path)
    logged = sum(bucket.count for bucket in buckets(_log(run, "disk", 0)))
    assert figure.table.frame["transactions"].sum() == logged
    seconds = duration_s + SHAPE.ramp_up_s
    columns = sorted({second for row in _cells(figure) for second in row["second"]})
    wide = columns[1] - columns[0]
    assert len(columns) <= 200
    drawn = sum(
        rate * min(wide, seconds - second)
        for row in _cells(figure)
        for second, rate in zip(row["second"], row["count"], strict=True)
    )
    assert drawn == pytest.approx(logged, rel=1e-3)


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


def test_the_title_tells_the_slowest_measured_second_of_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ramp-up does not count; nor does a second of which too few transactions are known."""
    run = build_run(tmp_path, SHAPE)
    assert _figure(tmp_path).title == "Response times of each second at 13 users"
    monkeypatch.setattr(heat, "values_needed", lambda percent: 20)
    figure = _figure(tmp_path)
    told = []
    for name in SHAPE.candidates:
        found = list(buckets(_log(run, name, _shown(figure))))
        start_s = min(bucket.at_s for bucket in found)
        seconds = {bucket.at_s for bucket in found if bucket.at_s >= start_s + SHAPE.ramp_up_s}
        slowest = max(at_most_us([b for b in found if b.at_s == at_s], 0.95) for at_s in seconds)
        told.append(f"{slowest / 1000:.3g} ms on {name}")
    ends = " and ".join(told)
    assert figure.title == f"At 13 users, the 95th percentile of the slowest second was {ends}"


def test_the_median_block_is_shown_and_named(tmp_path: Path) -> None:
    """With what it is the median of, and its checkpoints."""
    build_run(tmp_path, SHAPE)
    figure = _figure(tmp_path)
    shown = f"Shown is block {_shown(figure)}, the median of 3 by new orders per minute."
    assert shown in figure.caption
    assert "Broken vertical lines mark where a checkpoint began." in figure.caption


def test_without_a_log_it_is_told_why_there_is_no_figure(tmp_path: Path) -> None:
    """Missing for one candidate, the other is drawn and the missing one named."""
    run = build_run(tmp_path, SHAPE)
    figure = _figure(tmp_path)
    _log(run, "disk", _shown(figure)).unlink()
    assert "No log of disk." in _figure(tmp_path).caption
    _log(run, "memory", _shown(figure)).unlink()
    (absent,) = draw(context_of(read_run(tmp_path)))
    assert isinstance(absent, Absent)
