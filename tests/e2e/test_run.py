"""A study from its file to its report, with all that it leaves, and nothing else."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recompute.hlog import buckets
from stithy.results.layout import RunDirectory
from support.finished import Finished
from support.running import left_by, manifest, window_row

pytestmark = pytest.mark.needs_postgresql


def times_in_table(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """How often which response time was measured, by type and microseconds."""
    table = pl.read_parquet(RunDirectory(out).window(row["window_id"]).table("histograms"))
    rows = table.filter(pl.col("kind") == "response").iter_rows(named=True)
    return {(each["transaction"], round(each["lowest_s"] * 1e6)): each["count"] for each in rows}


def times_in_log(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """The same as another reader finds it in the hammer's own log."""
    stem = RunDirectory(out).window(row["window_id"]).hlog_stem
    found: Counter[tuple[str, int]] = Counter()
    for each in buckets(stem.with_name(f"{stem.name}.response.hlog")):
        if row["measure_from_s"] - 0.001 <= each.at_s < row["measure_to_s"] - 0.001:
            found[each.tag, each.low_us] += each.count
    return dict(found)


def test_a_small_study_goes_from_its_file_to_its_report(finished: Finished) -> None:
    """Every window is there, every restore is proven, all conditions hold, nothing is left."""
    out = finished.out
    assert finished.code == 0, finished.stderr
    assert str(out / "report.html") in finished.stdout
    assert RunDirectory(out).study.read_bytes() == finished.study.read_bytes()
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["window_id"].n_unique() == 4
    assert restores["identical"].all()
    conditions = pl.read_parquet(RunDirectory(out).table("conditions"))
    assert set(conditions["moment"]) == {"load", "end"}
    assert conditions["holds"].all()
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        assert row["complete"], row["missing_because"]
        assert row["new_orders"] > 0
        grown = row["order_numbers_after"] - row["order_numbers_before"]
        assert grown == row["new_orders_acknowledged"]
        assert times_in_table(out, row) == times_in_log(out, row) != {}
    assert manifest(out)["end"] == "finished"
    assert left_by(out) == []
    assert finished.registered == ()
    assert not finished.a.exists()
    assert list(finished.b.iterdir()) == []
