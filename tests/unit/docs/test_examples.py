"""The examples of the documents run as they are printed, and agree with the results."""

import re
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from stithy.analysis.bottlenecks.rules import RULES
from stithy.report.context import make_context
from stithy.report.exports.csv import CsvExport
from stithy.results.convert import make_bucket_rows, read_histograms
from stithy.results.files import read_run, write_table
from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from stithy.results.tables import HISTOGRAMS
from support.captured import DATA
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(
    users=(1, 4), repeat=2, ramp_up_s=1, duration_s=3, logs=True,
    changes={window_id("disk", 4, 0): {"errors": 5, "error_text": "no"}},
)  # fmt: skip


def _examples(root: Path, page: str, language: str) -> list[str]:
    """The examples in a language, in the order of the page."""
    text = (root / "docs/how-to" / page).read_text().partition("## DuckDB and Polars")
    return re.findall(rf"```{language}\n(.*?)```", text[2] or text[0], re.DOTALL)


def test_examples_on_reading_results_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a run at the place that the page names; every limit has its letter and words there."""
    run = build_run(tmp_path / "runs/demo", Shape(users=(1, 4), duration_s=2))
    for window in run.windows.iterdir():
        shutil.copy(DATA / "hammer/run.response.hlog", window / "hammer.response.hlog")
    monkeypatch.chdir(tmp_path)
    examples = _examples(root, "read-the-results.md", "python")
    for example in examples:
        exec(example, {})
        assert capsys.readouterr().out
    assert len(examples) == 2
    (example,) = _examples(root, "read-the-results.md", "sql")
    with duckdb.connect() as connection:
        rows = connection.execute(example).fetchall()
    levels = [("disk", 1), ("memory", 1), ("disk", 4), ("memory", 4)]
    assert [tuple(row[:2]) for row in rows] == levels
    page = (root / "docs/how-to/read-the-results.md").read_text()
    assert [r for r in RULES.values() if f"| {r.letter} | {r.words} |" not in page] == []


def _run_with_histograms(folder: Path) -> RunDirectory:
    """A run where the page has it, with a window that is not valid, and its CSV."""
    made = build_run(folder / "runs/demo", SHAPE)
    read = read_run(made.root)
    for row in read.window.iter_rows(named=True):
        window = made.window(row["window_id"])
        log = window.hlog_stem.with_name(f"{window.hlog_stem.name}.response.hlog")
        measured = read_hlog(log, row["measure_from_s"], row["measure_to_s"])
        rows = list(make_bucket_rows(row["window_id"], "response", measured))
        write_table(window.table("histograms"), HISTOGRAMS, rows)
    (folder / "demo.csv").write_text("".join(CsvExport().export(make_context(read)).pieces))
    return made


def test_examples_on_other_tools_agree(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows with the invalid one and without, samples of the measurement, merged percentiles."""
    run = _run_with_histograms(tmp_path)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        examples = _examples(root, "use-other-tools.md", "sql")
        whole, valid, samples, _, percentiles = (
            connection.execute(each).fetchall() for each in examples
        )
    printed: list[pl.DataFrame] = []
    for each in _examples(root, "use-other-tools.md", "python"):
        exec(each, {"print": printed.append})
    for frame, theirs in zip(printed, [whole, valid, samples, percentiles], strict=True):
        assert frame.rows()
        for mine, other in zip(frame.rows(), theirs, strict=True):
            assert mine == pytest.approx(other)
    read = read_run(run.root)
    nopm = {row["window_id"]: row["headline_per_min"] for row in read.window.to_dicts()}
    disk = [nopm[window_id("disk", 4, block)] for block in range(2)]
    assert {users: first for users, first, *_ in whole}[4] == pytest.approx(sum(disk) / 2)
    assert {tuple(row[:2]): row[2] for row in valid}["disk", 4] == pytest.approx(disk[1])
    names = [window_id("disk", 1, block) for block in range(2)]
    inside = pl.col("window_id").is_in(names) & (pl.col("second") > SHAPE.ramp_up_s)
    reads = read.series.filter(inside, collector="block", metric="reads_per_s")["value"]
    means = {tuple(row[:4]): row[4] for row in samples}
    assert means["disk", 1, "vda", "reads_per_s"] == pytest.approx(reads.mean())
    written = pl.read_csv("series.csv", infer_schema_length=None)
    assert (written.columns, written.height) == (read.series.columns, read.series.height)
    merged = read_histograms([run.window(name).table("histograms") for name in names], "response")
    shown = {kind: p99 for name, users, kind, p99 in percentiles if (name, users) == ("disk", 1)}
    assert shown == {kind: each.percentile_s(99) for kind, each in merged.items()}
