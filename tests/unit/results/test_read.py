"""A run directory is read back, as much of it as there is."""

import json
from pathlib import Path

import polars as pl
import pytest

from stithy.errors import UserError
from stithy.results.frames import empty_frame
from stithy.results.read import read_run
from stithy.results.tables import SERIES, WINDOW
from support.older import as_version_1
from support.sample_run import Shape, build_run, window_id


def test_a_whole_run_is_read_without_a_problem(tmp_path: Path) -> None:
    """Every table holds the rows of all windows; conditions those of load and end too."""
    build_run(tmp_path / "run", Shape(users=(1, 4)))
    run = read_run(tmp_path / "run")
    assert run.problems == ()
    assert run.manifest is not None
    assert run.manifest.end == "finished"
    assert run.study is not None
    assert run.window.height == 4
    assert run.window["started_at_s"].is_sorted()
    assert set(run.conditions["moment"]) == {"load", "window", "end"}
    assert run.seconds["window_id"].n_unique() == 4


def test_of_seconds_the_rows_of_all_types_together_are_kept(tmp_path: Path) -> None:
    """Those of single types are read when somebody asks for them."""
    directory = build_run(tmp_path / "run", Shape(users=(1,), duration_s=3))
    run = read_run(tmp_path / "run")
    written = pl.read_parquet(sorted(directory.windows.glob("*/seconds.parquet")))
    assert run.seconds.equals(written.filter(transaction="all"))
    assert run.seconds_by_type.sort(pl.all()).equals(written.sort(pl.all()))
    assert run.seconds_by_type.height > run.seconds.height > 0


def test_missing_and_damaged_pieces_are_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    """A killed run has half of everything."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    first, second = sorted(directory.windows.iterdir())
    (first / "series.parquet").write_bytes(b"PAR1 not really")
    (second / "seconds.parquet").unlink()
    directory.manifest.write_text("{")
    directory.study.unlink()
    run = read_run(tmp_path / "run")
    assert {problem.path.name for problem in run.problems} == {
        "series.parquet", "seconds.parquet", "manifest.json", "study.yaml",
    }  # fmt: skip
    assert run.manifest is None
    assert run.study is None
    assert run.window.height == 2
    assert run.seconds["window_id"].n_unique() == 1
    assert run.series["window_id"].unique().to_list() == [second.name]


def test_a_table_with_other_columns_is_a_problem(tmp_path: Path) -> None:
    """It is left out, and named."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    path = next(directory.windows.iterdir()) / "window.parquet"
    pl.read_parquet(path).drop("nopm").write_parquet(path)
    run = read_run(tmp_path / "run")
    assert [problem.path for problem in run.problems] == [path]
    assert run.window.height == 1


def test_a_run_that_has_only_begun_gives_empty_tables(tmp_path: Path) -> None:
    """Each has its declared columns."""
    build_run(tmp_path / "run", Shape(users=(1,), left_out=frozenset()))
    for window in (tmp_path / "run" / "windows").iterdir():
        for file in window.iterdir():
            file.unlink()
        window.rmdir()
    run = read_run(tmp_path / "run")
    assert run.window.schema == empty_frame(WINDOW).schema
    assert run.series.schema == empty_frame(SERIES).schema


@pytest.mark.parametrize("make", [False, True])
def test_what_is_no_run_directory_is_refused(tmp_path: Path, make: bool) -> None:
    """A missing directory, or one with other things in it."""
    root = tmp_path / "elsewhere"
    if make:
        root.mkdir()
    with pytest.raises(UserError, match="name a directory that `stithy run` wrote"):
        read_run(root)


def test_results_of_a_newer_stithy_are_refused(tmp_path: Path) -> None:
    """Half-understood numbers would be worse than none."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    document = json.loads(directory.manifest.read_text())
    directory.manifest.write_text(json.dumps({**document, "schema_version": 99}))
    with pytest.raises(UserError, match="schema version 99"):
        read_run(tmp_path / "run")


def test_a_column_that_older_results_do_not_have_is_filled_in(tmp_path: Path) -> None:
    """By what was so before there was the column."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    as_version_1(directory.root)
    for path in directory.windows.glob("*/window.parquet"):
        pl.read_parquet(path).drop("attempt", "tried").write_parquet(path)
    run = read_run(tmp_path / "run")
    assert run.problems == ()
    assert run.window["attempt"].to_list() == [0, 0]
    assert run.window["tried"].to_list() == [False, False]


def test_single_windows_are_read_without_the_others(tmp_path: Path) -> None:
    """Those that are named; one that is not there is nobody's problem."""
    directory = build_run(tmp_path / "run", Shape(users=(1, 4)))
    name = sorted(each.name for each in directory.windows.iterdir())[0]
    run = read_run(tmp_path / "run", [name, "w-none-u1-b0"])
    assert run.problems == ()
    assert run.window["window_id"].to_list() == [name]
    assert set(run.seconds["window_id"]) == {name}


def test_a_run_from_before_there_was_a_table_is_whole(tmp_path: Path) -> None:
    """A run that has the table in some windows has lost it in the others."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    as_version_1(directory.root)
    directory.table("canary").unlink()
    first, *others = sorted(directory.windows.glob("*/surroundings.parquet"))
    first.unlink()
    assert [problem.path for problem in read_run(tmp_path / "run").problems] == [first]
    for path in others:
        path.unlink()
    run = read_run(tmp_path / "run")
    assert run.problems == ()
    assert run.canary.is_empty()
    assert run.surroundings.is_empty()


def test_a_table_of_this_version_that_is_gone_is_missing(tmp_path: Path) -> None:
    """A run that tells its version has every table, with or without rows."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    gone = [directory.table("canary"), *sorted(directory.windows.glob("*/surroundings.parquet"))]
    for path in gone:
        path.unlink()
    problems = read_run(tmp_path / "run").problems
    assert [(each.path, each.text) for each in problems] == [(path, "missing") for path in gone]


def test_a_study_that_is_not_the_one_that_was_run_is_a_problem(tmp_path: Path) -> None:
    """Whoever repeats a run from its report must repeat that run."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    directory.study.write_text(directory.study.read_text().replace("seed: 1", "seed: 2"))
    run = read_run(tmp_path / "run")
    assert run.study is None
    assert [(each.path, each.text) for each in run.problems] == [
        (directory.study, "not the study that was run (SHA-256)")
    ]


def test_a_window_with_a_file_that_could_invalidate_it_is_named(tmp_path: Path) -> None:
    """So that what is not known is not taken for good."""
    directory = build_run(tmp_path / "run", Shape(users=(1,)))
    name = window_id("disk", 1, 0)
    for table in ("conditions", "ledger", "seconds"):
        directory.window(name).table(table).write_bytes(b"")
    directory.window(window_id("memory", 1, 0)).table("window").unlink()
    run = read_run(tmp_path / "run")
    assert run.damaged == {name: ["conditions.parquet", "ledger.parquet"]}
    assert run.unread == [window_id("memory", 1, 0)]
