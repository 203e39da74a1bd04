"""What a transaction took, each number worked out again from the samples of the run."""

from pathlib import Path
from statistics import fmean, median

import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.formats import json, md
from stithy.report.page import build
from stithy.report.parts import work
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
    return work.table(context_of(read_run(root)))


def per_transaction(root: Path, metric: str, blocks: int) -> float:
    """Median of the disk's windows of a mean over their measurement, by their rate."""
    found = []
    for block in range(blocks):
        where = root / "windows" / window_id("disk", 4, block)
        window = pl.read_parquet(where / "window.parquet").row(0, named=True)
        begin, end = window["measure_from_s"], window["measure_to_s"]
        values = [
            row["value"]
            for row in pl.read_parquet(where / "series.parquet").to_dicts()
            if row["metric"] == metric and begin <= row["at_s"] - 0.5 < end
        ]
        found.append(fmean(values) * (end - begin) / window["transactions"])
    return float(median(found))


def test_the_work_of_a_transaction_is_told_of_each_candidate_and_level(tmp_path: Path) -> None:
    """Medians over the valid windows: the third one of the disk is not."""
    root = build_run(tmp_path / "run", SHAPE).root
    with_server_work(root)
    disk, memory = of_run(root).frame.to_dicts()
    assert (disk["candidate"], disk["users"], disk["windows"]) == ("disk", 4, 2)
    assert disk["log_bytes"] == pytest.approx(per_transaction(root, "wal_bytes_per_s", 2))
    assert disk["device_reads"] == pytest.approx(per_transaction(root, "reads_per_s", 2))
    assert disk["hit_share"] == pytest.approx(0.95)
    assert disk["missing_because"] is None
    assert memory["device_reads"] is None
    assert memory["missing_because"] == (
        "device reads (no block device under its volumes was sampled)."
    )


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


def test_a_level_without_a_valid_window_has_no_numbers(tmp_path: Path) -> None:
    """But a row, and the reason."""
    changes = {window_id("disk", 4, 0): {"errors": 1, "error_text": "deadlock detected"}}
    root = build_run(tmp_path / "run", Shape(users=(4,), duration_s=2, changes=changes)).root
    disk, _ = of_run(root).frame.to_dicts()
    assert (disk["windows"], disk["log_bytes"]) == (0, None)
    assert disk["missing_because"] == "a level without a valid window."


def test_it_stands_in_the_page_the_summary_and_the_data(tmp_path: Path) -> None:
    """With what its columns are, and why there are dashes."""
    page = build(context_of(read_run(build_run(tmp_path / "run", SHAPE).root)))
    text = md.make(page, {}).decode()
    assert "Work per transaction:\n\n| Candidate | Users | Windows | Log |" in text
    assert "Not told of disk: server CPU (the server is bound to no CPUs of its own)" in text
    assert '"work": [\n    {\n      "candidate": "disk"' in json.make(page, {}).decode()
