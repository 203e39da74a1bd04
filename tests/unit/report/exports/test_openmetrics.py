"""OpenMetrics text of a run: by the grammar, every number there, invalid windows marked."""

from pathlib import Path

import polars as pl

from stithy.report.context import context_of
from stithy.report.exports.openmetrics import export
from stithy.results.read import read_run
from support.openmetrics import read
from support.sample_run import Shape, build_run


def text_of(root: Path) -> str:
    """The whole document."""
    return "".join(export(context_of(read_run(root))).pieces)


def test_windows_seconds_and_samples_are_there_with_their_numbers(tmp_path: Path) -> None:
    """As many samples as values in the tables, each with its number, unit and instant."""
    build_run(tmp_path, Shape(users=(1, 4), duration_s=3))
    run = read_run(tmp_path)
    families = read(text_of(tmp_path))
    tpm = families["stithy_window_transactions_per_minute"]
    assert tpm.unit == "per_minute"
    by_window = {labels["window"]: (value, at_s) for labels, value, at_s in tpm.samples}
    for row in run.window.iter_rows(named=True):
        assert by_window[row["window_id"]] == (row["tpm"], round(row["measure_to_s"], 3))
    done = pl.col("committed") + pl.col("rolled_back")
    p50 = families["stithy_second_response_p50_seconds"].samples
    assert len(p50) == run.seconds_by_type.filter(done >= 200)["response_p50_s"].count() > 0
    assert run.seconds_by_type.filter(done >= 2_000).is_empty()
    assert "stithy_second_response_p95_seconds" not in families
    writes = families["stithy_block_write_latency_seconds"].samples
    told = run.series.filter(collector="block", metric="write_latency_s")
    assert len(writes) == told["value"].count()
    assert {labels["phase"] for labels, _, _ in writes} >= {"ramp-up", "measure"}


def test_names_of_any_kind_stay_within_their_quotes(tmp_path: Path) -> None:
    """Quotes, backslashes, line breaks, emoji: what is read is what was written."""
    name = 'a"b\\c\nd {x="1"} 😀'
    build_run(tmp_path, Shape(candidates=(name, "other"), users=(1,), duration_s=2, series=False))
    tpm = read(text_of(tmp_path))["stithy_window_transactions_per_minute"]
    assert {labels["candidate"] for labels, _, _ in tpm.samples} == {name, "other"}


def test_what_must_stand_beside_every_number_is_a_label(tmp_path: Path) -> None:
    """Of an emulated drive, and of a profile that is not the specification's."""
    build_run(tmp_path, Shape(users=(1,), duration_s=2, series=False, drives={"disk": 0.0}))
    tpm = read(text_of(tmp_path))["stithy_window_transactions_per_minute"]
    notes = {labels["candidate"]: labels["note"] for labels, _, _ in tpm.samples}
    assert notes == {"disk": "EMULATED drive", "memory": ""}
