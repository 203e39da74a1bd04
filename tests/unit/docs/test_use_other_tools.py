"""The examples of the page on other tools run as they are printed, and agree with each other."""

import re
from collections.abc import Mapping
from pathlib import Path

import duckdb
import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.exports import csv
from stithy.results.convert import bucket_rows, read_histograms
from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from stithy.results.tables import HISTOGRAMS
from stithy.results.write import write_table
from support.sample_run import Shape, build_run, window_id

PAGE = "docs/how-to/use-other-tools.md"
SHAPE = Shape(
    users=(1, 4), repeat=2, ramp_up_s=1, duration_s=3, logs=True,
    changes={window_id("disk", 4, 0): {"errors": 5, "error_text": "no"}},
)  # fmt: skip
Rows = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run where the page has it, with a window that is not valid, and its CSV."""
    folder = tmp_path_factory.mktemp("tools")
    made = build_run(folder / "runs" / "demo", SHAPE)
    read = read_run(made.root)
    for row in read.window.iter_rows(named=True):
        window = made.window(row["window_id"])
        log = window.hlog_stem.with_name(f"{window.hlog_stem.name}.response.hlog")
        measured = read_hlog(log, row["measure_from_s"], row["measure_to_s"])
        rows = list(bucket_rows(row["window_id"], "response", measured))
        write_table(window.table("histograms"), HISTOGRAMS, rows)
    (folder / "demo.csv").write_text("".join(csv.export(context_of(read)).pieces))
    return made


@pytest.fixture
def run(made: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    """The same, in its place; nothing of it is changed."""
    monkeypatch.chdir(made.root.parents[1])
    return made


def blocks(root: Path, language: str) -> list[str]:
    """The examples in a language, in the order of the page."""
    section = (root / PAGE).read_text().partition("## DuckDB and Polars")[2]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def of_duckdb(root: Path) -> list[Rows]:
    """What each SQL example answers; no rows for one that writes a file."""
    with duckdb.connect() as connection:
        return [connection.execute(each).fetchall() for each in blocks(root, "sql")]


def of_polars(root: Path) -> list[Rows]:
    """The table that each Python example prints."""
    printed: list[pl.DataFrame] = []
    for each in blocks(root, "python"):
        exec(each, {"print": printed.append})
    return [frame.rows() for frame in printed]


def test_both_languages_answer_the_same(root: Path, run: RunDirectory) -> None:
    """Windows, valid windows, samples, percentiles: as many examples in each, none empty."""
    *first, _, last = of_duckdb(root)
    in_python = of_polars(root)
    assert len(in_python) == 4
    assert all(in_python)
    for ours, theirs in zip(in_python, [*first, last], strict=True):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert mine == pytest.approx(other)


def test_windows_are_means_of_a_level_with_the_invalid_ones_and_without(
    root: Path, run: RunDirectory
) -> None:
    """The one that is not valid is in the first example, and not in the second."""
    whole, valid, *_ = of_duckdb(root)
    nopm = {row["window_id"]: row["nopm"] for row in read_run(run.root).window.to_dicts()}
    disk = [nopm[window_id("disk", 4, block)] for block in range(2)]
    by_level: Mapping[object, object] = {users: first for users, first, *_ in whole}
    assert by_level[4] == pytest.approx(sum(disk) / 2)
    by_candidate = {(candidate, users): mean for candidate, users, mean in valid}
    assert by_candidate["disk", 4] == pytest.approx(disk[1])


def test_samples_are_those_of_the_measurement(root: Path, run: RunDirectory) -> None:
    """Those of the ramp-up count in no mean."""
    series = read_run(run.root).series
    names = [window_id("disk", 1, block) for block in range(2)]
    reads = series.filter(
        pl.col("window_id").is_in(names), collector="block", metric="reads_per_s"
    ).filter(pl.col("second") > SHAPE.ramp_up_s)
    means = {tuple(row[:4]): row[4] for row in of_duckdb(root)[2]}
    assert reads.height == 2 * SHAPE.duration_s
    assert means["disk", 1, "vda", "reads_per_s"] == pytest.approx(reads["value"].mean())


def test_all_samples_go_into_the_file(root: Path, run: RunDirectory) -> None:
    """With every column, and a line for each sample."""
    of_duckdb(root)
    written = pl.read_csv("series.csv", infer_schema_length=None)
    series = read_run(run.root).series
    assert (written.columns, written.height) == (series.columns, series.height)


def test_percentiles_are_those_of_the_merged_histograms(root: Path, run: RunDirectory) -> None:
    """By transaction type, of both windows of a level."""
    paths = [run.window(window_id("disk", 1, block)).table("histograms") for block in range(2)]
    merged = read_histograms(paths, "response")
    told = {
        kind: p99 for name, users, kind, p99 in of_duckdb(root)[4] if (name, users) == ("disk", 1)
    }
    assert told == {kind: each.percentile_s(99) for kind, each in merged.items()}
