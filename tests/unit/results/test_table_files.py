"""Many files of a table are read at once, and one by one where one is not as it should be."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.frames import empty_frame
from stithy.results.table_files import Problem, read_tables
from stithy.results.tables import SURROUNDINGS, WINDOW
from support.sample_run import Shape, build_run


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """The rows of four windows."""
    run = build_run(tmp_path / "run", Shape(users=(1, 4), duration_s=3, series=False))
    return sorted(each / "window.parquet" for each in run.windows.iterdir())


def test_rows_come_in_the_order_of_the_files(paths: list[Path]) -> None:
    """Read at once, or one by one because the last is damaged."""
    problems: list[Problem] = []
    whole = read_tables(WINDOW, paths, problems)
    assert whole["window_id"].to_list() == [path.parent.name for path in paths]
    paths[-1].write_bytes(b"")
    assert read_tables(WINDOW, paths, problems).equals(whole.head(3))
    assert [each.path for each in problems] == [paths[-1]]


def test_a_directory_in_the_place_of_a_file_is_a_problem(paths: list[Path]) -> None:
    """Nothing that lies in it is taken for the table."""
    paths[0].rename(paths[0].with_name("kept"))
    paths[0].mkdir()
    paths[0].with_name("kept").rename(paths[0] / "window.parquet")
    problems: list[Problem] = []
    assert read_tables(WINDOW, paths, problems).height == 3
    assert [each.path for each in problems] == [paths[0]]


def test_columns_of_an_older_file_get_their_value_from_before(paths: list[Path]) -> None:
    """Beside files that have them."""
    pl.read_parquet(paths[1]).drop("attempt").write_parquet(paths[1])
    problems: list[Problem] = []
    found = read_tables(WINDOW, paths, problems)
    assert found["attempt"].to_list() == [0, 0, 0, 0]
    assert problems == []


def test_a_table_that_came_later_is_missed_only_by_newer_runs(tmp_path: Path) -> None:
    """No file at all: an older run, and no problem; for other tables each is one."""
    problems: list[Problem] = []
    nowhere = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert read_tables(SURROUNDINGS, nowhere, problems).equals(empty_frame(SURROUNDINGS))
    assert problems == []
    assert read_tables(WINDOW, nowhere, problems).is_empty()
    assert [each.text for each in problems] == ["missing", "missing"]
