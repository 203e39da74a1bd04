"""Many files of a table are read at once, and one by one where one is not as it should be."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results import table_files
from stithy.results.frames import empty_frame
from stithy.results.table_files import Problem, read_tables
from stithy.results.tables import SURROUNDINGS, WINDOW
from stithy.results.write import write_table
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


def test_many_files_are_read_some_at_a_time(
    paths: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same rows and problems, of which some alone may be kept."""
    whole = read_tables(WINDOW, paths, [])
    paths[0].write_bytes(b"")
    monkeypatch.setattr(table_files, "TOGETHER", 3)
    problems: list[Problem] = []
    assert read_tables(WINDOW, paths, problems).equals(whole.tail(3))
    assert [each.path for each in problems] == [paths[0]]
    one = pl.col("users") == 1
    assert read_tables(WINDOW, paths, [], one).equals(whole.tail(3).filter(one))


def test_a_directory_in_the_place_of_a_file_is_a_problem(paths: list[Path]) -> None:
    """Nothing that lies in it is taken for the table."""
    paths[0].rename(paths[0].with_name("kept"))
    paths[0].mkdir()
    paths[0].with_name("kept").rename(paths[0] / "window.parquet")
    problems: list[Problem] = []
    assert read_tables(WINDOW, paths, problems).height == 3
    assert [each.path for each in problems] == [paths[0]]


def test_columns_of_an_older_file_get_their_value_from_before(paths: list[Path]) -> None:
    """Beside files that have them; a file without metadata is an older one."""
    pl.read_parquet(paths[1]).drop("attempt").write_parquet(paths[1])
    problems: list[Problem] = []
    found = read_tables(WINDOW, paths, problems)
    assert found["attempt"].to_list() == [0, 0, 0, 0]
    assert problems == []


def test_files_that_are_missing_are_told_one_by_one(tmp_path: Path) -> None:
    """The table has its columns all the same."""
    problems: list[Problem] = []
    nowhere = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert read_tables(SURROUNDINGS, nowhere, problems).equals(empty_frame(SURROUNDINGS))
    assert problems == [Problem(path, "missing") for path in nowhere]


@pytest.mark.parametrize("damage", ["copied", "doubled", "other"])
def test_what_is_wrong_with_one_of_many_is_found(paths: list[Path], damage: str) -> None:
    """Rows of another window, two of them, or a number that was changed where it lies."""
    content = paths[0].read_bytes()
    if damage == "copied":
        paths[1].write_bytes(content)
    elif damage == "doubled":
        write_table(paths[1], WINDOW, pl.read_parquet(paths[1]).to_dicts() * 2)
    else:
        paths[1].write_bytes(paths[1].read_bytes().replace(b"none", b"nine", 1))
    problems: list[Problem] = []
    assert read_tables(WINDOW, paths, problems)["window_id"].to_list() == [
        path.parent.name for path in (paths[0], *paths[2:])
    ]
    assert [each.path for each in problems] == [paths[1]]
