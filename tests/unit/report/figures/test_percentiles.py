"""Response times by percentile are those of the logs, and end where the values do."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from recompute.hlog import Bucket, at_most_us, buckets
from stithy.report.context import context_of
from stithy.report.figure import Absent
from stithy.report.figures.percentiles import draw, levels_drawn
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.drawn import figure_in
from support.sample_run import Shape, build_run, window_id
from support.worked_out import assert_told

SHAPE = Shape(users=(1, 13), repeat=2, series=False, logs=True)


_figure = partial(figure_in, draw)


def _measured(run: RunDirectory, name: str, what: str = "response") -> list[Bucket]:
    """What the log of a window holds of its measurement."""
    row = pl.read_parquet(run.window(name).table("window")).to_dicts()[0]
    path = run.window(name).root / f"hammer.{what}.hlog"
    return [b for b in buckets(path) if row["measure_from_s"] <= b.at_s < row["measure_to_s"]]


def test_every_point_is_a_value_of_the_merged_logs(tmp_path: Path) -> None:
    """Read a second time from the files, of both windows together and of the measurement alone."""
    run = build_run(tmp_path, SHAPE)
    table = _figure(context_of(read_run(tmp_path))).table.frame
    for (users, name, what), rows in table.group_by("users", "candidate", "what"):
        found = [
            bucket
            for block in range(2)
            for bucket in _measured(run, window_id(str(name), int(str(users)), block), str(what))
        ]
        count = sum(bucket.count for bucket in found)
        for row in rows.to_dicts():
            assert row["values"] == count
            assert row["value"] * 1e6 == pytest.approx(at_most_us(found, row["share"]))
            assert row["beyond"] >= 10
        assert rows["beyond"].min() == 10


def test_the_title_tells_the_rarest_percentile_that_all_reach(tmp_path: Path) -> None:
    """Its numbers are those of the logs."""
    run = build_run(tmp_path, SHAPE)
    title = _figure(context_of(read_run(tmp_path))).title
    told = []
    for name in SHAPE.candidates:
        found = [b for block in range(2) for b in _measured(run, window_id(name, 13, block))]
        told.append(f"{at_most_us(found, 0.99) / 1000:.3g} ms on {name}")
    assert title == f"At 13 users, 99 % of transactions took at most {told[0]} and {told[1]}"


def test_the_caption_tells_how_many_values_the_lines_have(tmp_path: Path) -> None:
    """The fewest and the most of a line, and how many lie beyond its end."""
    run = build_run(tmp_path, SHAPE)
    counts = [
        sum(b.count for block in range(2) for b in _measured(run, window_id(name, users, block)))
        for name in SHAPE.candidates
        for users in SHAPE.users
    ]
    assert_told(_figure(context_of(read_run(tmp_path))).caption, [min(counts), max(counts), 10])


def test_service_times_are_drawn_where_they_differ(tmp_path: Path) -> None:
    """Where nobody waits, they are the same line twice."""
    run = build_run(tmp_path, SHAPE)
    assert "Thin lines are service times" in _figure(context_of(read_run(tmp_path))).caption
    for path in run.windows.glob("*/transactions.parquet"):
        frame = pl.read_parquet(path)
        same = [pl.col(f"response_{each}").alias(f"service_{each}") for each in ("p50_s", "p99_s")]
        frame.with_columns(same).write_parquet(path)
    figure = _figure(context_of(read_run(tmp_path)))
    assert "Thin lines" not in figure.caption
    assert set(figure.table.frame["what"]) == {"response"}


def test_a_candidate_without_a_whole_log_has_no_line(tmp_path: Path) -> None:
    """Part of its windows would be a distribution of something else."""
    run = build_run(tmp_path, SHAPE)
    (run.window(window_id("disk", 13, 0)).root / "hammer.response.hlog").unlink()
    table = _figure(context_of(read_run(tmp_path))).table.frame.filter(pl.col("users") == 13)
    assert set(table.filter(pl.col("what") == "response")["candidate"]) == {"memory"}


def test_without_logs_it_is_told_why_there_is_no_figure(tmp_path: Path) -> None:
    """Percentiles of the table are five points and no distribution."""
    build_run(tmp_path, replace(SHAPE, logs=False))
    (absent,) = draw(context_of(read_run(tmp_path)))
    assert isinstance(absent, Absent)


def test_four_levels_are_drawn_of_many(tmp_path: Path) -> None:
    """The lowest, the highest, that of the question, and one between."""
    build_run(tmp_path, Shape(users=(1, 2, 3, 5, 8, 13, 21), series=False))
    context = context_of(read_run(tmp_path))
    asked = replace(context.evidence.asked, users=13)
    levels = levels_drawn(replace(context, evidence=replace(context.evidence, asked=asked)))
    assert levels == [1, 5, 13, 21]
