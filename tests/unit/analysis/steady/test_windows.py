"""The steadiness of the windows of a run."""

from pathlib import Path

import polars as pl

from stithy.analysis.steady.windows import steadiness_of_windows
from stithy.results.read import read_run
from support.reported import frames
from support.sample_run import Shape, build_run, window_id

LONG = Shape(users=(13,), duration_s=40, series=False)


def _frames(root: Path, shape: Shape = LONG) -> dict[str, pl.DataFrame]:
    build_run(root, shape)
    return dict(frames(read_run(root)))


def test_every_window_is_judged_by_its_seconds(tmp_path: Path) -> None:
    """A dip of one second in forty is nothing."""
    found = steadiness_of_windows(_frames(tmp_path))
    assert set(found) == {window_id("disk", 13, 0), window_id("memory", 13, 0)}
    assert found[window_id("memory", 13, 0)].steady is True
    assert found[window_id("memory", 13, 0)].late_s == 0


def test_a_window_that_halves_is_not_steady(tmp_path: Path) -> None:
    """Only the measurement is judged, and all transaction types together."""
    read = _frames(tmp_path)
    halved = pl.when(pl.col("second") >= 25).then(pl.col("committed") // 2)
    read["seconds"] = read["seconds"].with_columns(committed=halved.otherwise(pl.col("committed")))
    found = steadiness_of_windows(read)[window_id("memory", 13, 0)]
    assert found.steady is False
    assert [each.index for each in found.changes] == [20]


def test_missing_seconds_make_it_unknown(tmp_path: Path) -> None:
    """A second without a row is not one without transactions."""
    read = _frames(tmp_path)
    read["seconds"] = read["seconds"].filter(pl.col("second") != 30)
    found = steadiness_of_windows(read)[window_id("disk", 13, 0)]
    assert found.unknown_because == "one-second values are missing from it"
    read["seconds"] = read["seconds"].clear()
    found = steadiness_of_windows(read)[window_id("disk", 13, 0)]
    assert found.unknown_because == "it has no one-second values"


def test_without_windows_there_is_nothing_to_judge(tmp_path: Path) -> None:
    """A run that was stopped early, and a window without numbers."""
    assert steadiness_of_windows({}) == {}
    lost = {window_id("disk", 13, 0): {"missing_because": "it died", "measure_to_s": None}}
    shape = Shape(users=(13,), candidates=("disk",), changes=lost)
    assert steadiness_of_windows(_frames(tmp_path, shape)) == {}
