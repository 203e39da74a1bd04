"""The table for a spreadsheet: joined, marked, and without formulas."""

import io
from pathlib import Path

import polars as pl

from stithy.report.context import context_of
from stithy.report.exports.csv import FIRST, export
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

FORMULA = '=HYPERLINK("http://x")'
CHANGES = {"w-disk-u4-b0": {"errors": 5, "error_text": FORMULA}}


def table_of(root: Path) -> pl.DataFrame:
    """The table as a program reads it again."""
    text = "".join(export(context_of(read_run(root))).pieces)
    return pl.read_csv(io.StringIO(text), infer_schema_length=None)


def test_each_window_has_a_row_for_each_of_its_types(tmp_path: Path) -> None:
    """What people look for comes first; the row of all types is that of the window."""
    build_run(tmp_path, Shape(users=(1, 4), duration_s=3, series=False))
    run, table = read_run(tmp_path), table_of(tmp_path)
    assert tuple(table.columns[: len(FIRST)]) == FIRST
    assert table.height == run.transactions.height
    whole = table.filter(transaction="all")
    assert whole.height == run.window.height
    told = dict(zip(whole["window_id"], whole["nopm"], strict=True))
    assert told == dict(run.window.select("window_id", "nopm").iter_rows())


def test_a_percentile_of_too_few_values_is_an_empty_cell(tmp_path: Path) -> None:
    """By what each type completed: 2,000 for the 95th percentile, whatever it is of."""
    build_run(tmp_path, Shape(users=(4,), duration_s=40, series=False))
    table = table_of(tmp_path).with_columns(done=pl.col("committed") + pl.col("rolled_back"))
    assert {True, False} == set(table["done"] >= 2_000)
    for name in ("response_p95_s", "service_p95_s"):
        assert table.filter(pl.col(name).is_not_null() != (pl.col("done") >= 2_000)).is_empty()


def test_a_window_that_is_not_valid_says_why_and_computes_nothing(tmp_path: Path) -> None:
    """A server's message that looks like a formula is a text in a spreadsheet."""
    build_run(tmp_path, Shape(users=(1, 4), duration_s=3, series=False, changes=CHANGES))
    table = table_of(tmp_path)
    invalid = table.filter(~pl.col("valid"))
    assert set(invalid["window_id"]) == {"w-disk-u4-b0"}
    assert invalid["invalid_because"].null_count() == 0
    assert set(invalid["error_text"]) == {f"'{FORMULA}"}
    assert table.filter("valid")["invalid_because"].null_count() == table.filter("valid").height
