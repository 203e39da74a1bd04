"""How figures are read is said once, and only of what they show."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.report.parts.guide import words
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


def told(folder: Path, shape: Shape) -> str:
    """What is said of a run of this shape."""
    build_run(folder, shape)
    return words(context_of(read_run(folder)))


def test_of_single_windows_neither_bars_nor_levels_are_spoken_of(tmp_path: Path) -> None:
    """A mark is a window, for there is one of each."""
    said = told(tmp_path, Shape(users=(1, 4), duration_s=4, series=False))
    assert "each mark is a window" in said
    assert "Bars" not in said
    assert "Hollow" not in said


def test_bars_and_both_sizes_of_marks_are_explained_where_blocks_are_repeated(
    tmp_path: Path,
) -> None:
    """With what the bars are not."""
    said = told(tmp_path, Shape(users=(1, 4), repeat=3, duration_s=4, series=False))
    assert "a large mark is a level of a candidate over all its valid windows" in said
    assert "Bars are plain 95 % t intervals" in said
    assert "decides nothing" in said


def test_invalid_windows_are_explained_where_there_are_some(tmp_path: Path) -> None:
    """They are hollow."""
    bad = {window_id("disk", 1, 0): {"errors": 5}}
    said = told(tmp_path, Shape(users=(1, 4), duration_s=4, series=False, changes=bad))
    assert "Hollow windows are invalid and support no claim." in said


def test_one_candidate_stands_on_its_level(tmp_path: Path) -> None:
    """There is none to stand apart from."""
    said = told(tmp_path, Shape(candidates=("disk",), users=(1, 4), duration_s=4, series=False))
    assert "apart" not in said


def test_without_windows_nothing_is_said(tmp_path: Path) -> None:
    """There is no figure to read."""
    gone = frozenset({window_id("disk", 1, 0), window_id("memory", 1, 0)})
    assert told(tmp_path, Shape(users=(1,), left_out=gone)) == ""
