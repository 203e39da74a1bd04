"""Devices against users: percentiles of emulated drives are those of their own logs."""

from pathlib import Path

import polars as pl

from stithy.report.context import context_of
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.figures.device import draw
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

SHAPE = Shape(users=(1, 13), repeat=2, drives={"disk": 0.0})


def _drawn(root: Path, name: str) -> Drawn:
    (found,) = [each for each in draw(context_of(read_run(root))) if each.name == name]
    return found


def test_the_99th_percentile_of_a_drive_is_that_of_its_table(tmp_path: Path) -> None:
    """Of every window and operation, and never of a block device, of which only means are known."""
    run = build_run(tmp_path, SHAPE)
    figure = _drawn(tmp_path, "device-latency-p99")
    assert isinstance(figure, Figure)
    stored = pl.concat([pl.read_parquet(path) for path in run.windows.glob("*/drives.parquet")])
    expected = stored.filter(pl.col("operation") != "all")["latency_p99_s"].sort().to_list()
    assert figure.table.frame["value"].sort().to_list() == expected
    assert "There is no emulated drive under memory." in figure.caption


def test_without_emulated_drives_there_is_no_percentile(tmp_path: Path) -> None:
    """And it is told why."""
    build_run(tmp_path, Shape(users=(1,)))
    absent = _drawn(tmp_path, "device-latency-p99")
    assert isinstance(absent, Absent)
    assert "only mean times" in absent.because


def test_the_queue_is_the_mean_of_its_samples(tmp_path: Path) -> None:
    """Over the measurement, from the table of samples."""
    run = build_run(tmp_path, SHAPE)
    figure = _drawn(tmp_path, "device-queue")
    assert isinstance(figure, Figure)
    for row in figure.table.frame.to_dicts():
        where = run.window(f"w-{row['candidate']}-u{row['users']}-b{row['block']}")
        samples = pl.read_parquet(where.table("series")).filter(
            collector="block", metric="queue_length"
        )
        inside = samples.filter(pl.col("second") > SHAPE.ramp_up_s)["value"].to_list()
        assert abs(row["value"] - sum(inside) / len(inside)) < 1e-9
