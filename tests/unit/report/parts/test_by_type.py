"""Ratios by transaction type, each number worked out again from the files of the run."""

from pathlib import Path
from statistics import geometric_mean

import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.parts.by_type import table
from stithy.report.tables import PageTable
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def types(folder: Path, shape: Shape) -> PageTable:
    """The table of a run of this shape."""
    build_run(folder, shape)
    return table(context_of(read_run(folder)))


def of_windows(folder: Path, candidate: str, transaction: str, column: str) -> list[float]:
    """A column of a transaction type in each window of a candidate at the top level, by block."""
    found = sorted((folder / "windows").glob(f"w-{candidate}-u13-*/transactions.parquet"))
    rows = (pl.read_parquet(each).filter(transaction=transaction) for each in found)
    return [float(each[column][0]) for each in rows]


def test_each_type_has_its_own_ratio_paired_by_block(tmp_path: Path) -> None:
    """Whoever asks whether it is payment that suffers reads it in a row."""
    found = types(tmp_path, Shape(repeat=4, duration_s=20))
    [payment] = found.frame.filter(transaction="payment", percentile="p50").to_dicts()
    disk, memory = (
        of_windows(tmp_path, name, "payment", "response_p50_s") for name in ("disk", "memory")
    )
    ratios = [b / a for a, b in zip(disk, memory, strict=True)]
    assert payment["ratio"] == pytest.approx(geometric_mean(ratios))
    assert payment["low"] < payment["ratio"] < payment["high"]
    assert payment["blocks"] == 4
    assert found.caption == "Response time by transaction type at 13 users"
    headings = [show.heading for show in found.columns]
    assert headings[:5] == ["Transaction", "Percentile", "disk", "memory", "memory ÷ disk"]
    assert {"new-order", "payment"} <= set(found.frame["transaction"])
    assert "all" not in set(found.frame["transaction"])


def test_a_percentile_of_too_few_values_is_not_printed(tmp_path: Path) -> None:
    """Fewer than 100 beyond it: neither its value nor a ratio."""
    found = types(tmp_path, Shape(duration_s=3))
    counts = {
        name: of_windows(tmp_path, "disk", name, "committed")[0]
        for name in found.frame["transaction"].unique()
    }
    for row in found.frame.to_dicts():
        needed = {"p50": 200, "p95": 2000}[row["percentile"]]
        if counts[row["transaction"]] < needed:
            assert (row["a_s"], row["ratio"]) == (None, None)
            assert "values in a window" in row["missing_because"]


def test_a_single_candidate_has_no_such_table(tmp_path: Path) -> None:
    """There is nothing to compare."""
    assert types(tmp_path, Shape(candidates=("disk",))).frame.is_empty()
