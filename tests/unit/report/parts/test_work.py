"""What a transaction took, each number worked out again from the samples of the run."""

from pathlib import Path
from statistics import median

import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.parts import transactions
from stithy.report.tables import PageTable
from stithy.results import tables
from stithy.results.read import read_run
from stithy.results.write import write_table
from support.sample_run import Shape, build_run, window_id
from support.server_work import with_server_work

SHAPE = Shape(
    users=(4,), repeat=3, duration_s=5,
    changes={window_id("disk", 4, 2): {"errors": 1, "error_text": "deadlock detected"}},
)  # fmt: skip


def of_run(root: Path) -> PageTable:
    """The table of the run in `root`."""
    return transactions.work_table(context_of(read_run(root)))


def test_the_server_cpu_is_work_and_neither_idle_nor_stolen_time(tmp_path: Path) -> None:
    """Six tenths of one CPU, divided by the transactions a second."""
    root = build_run(tmp_path / "run", SHAPE).root
    with_server_work(root)
    windows = [
        pl.read_parquet(root / "windows" / window_id("disk", 4, block) / "window.parquet")
        for block in range(2)
    ]
    rates = [
        row["transactions"] / (row["measure_to_s"] - row["measure_from_s"])
        for row in (each.row(0, named=True) for each in windows)
    ]
    [disk, _] = of_run(root).frame.to_dicts()
    assert disk["server_cpu_s"] == pytest.approx(median(0.6 / rate for rate in rates))


def test_a_missing_source_is_named_and_never_a_zero(tmp_path: Path) -> None:
    """No CPUs of its own, and a database that did not answer."""
    root = build_run(tmp_path / "run", SHAPE).root
    for block in range(3):
        path = root / "windows" / window_id("disk", 4, block) / "series.parquet"
        rows = pl.read_parquet(path).filter(pl.col("collector") != "database").to_dicts()
        silent = {"collector": "database", "value": None, "missing_because": "no answer: it stalls"}
        write_table(path, tables.SERIES, [*rows, rows[0] | silent])
    disk, memory = of_run(root).frame.to_dicts()
    assert (disk["log_bytes"], disk["server_cpu_s"], disk["hit_share"]) == (None, None, None)
    assert disk["missing_because"] == (
        "log (no answer: it stalls), server CPU (the server is bound to no CPUs of its own) and "
        "buffer hit ratio (no answer: it stalls)."
    )
    assert memory["log_bytes"] > 0
    assert "buffer hit ratio (the collector `database` has no" in memory["missing_because"]
