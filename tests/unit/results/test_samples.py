"""Samples are read some windows at a time, and are the same as all at once."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results import samples
from stithy.results.read import read_run
from stithy.results.samples import Samples
from support.sample_run import Shape, build_run

SHAPE = Shape(users=(1, 4), repeat=2, duration_s=3)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The samples of eight windows."""
    run = build_run(tmp_path / "run", SHAPE)
    there = sorted(each.name for each in run.windows.iterdir())
    return {name: run.window(name).table("series") for name in there}


def test_parts_are_the_whole(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are read at once."""
    monkeypatch.setattr(samples, "TOGETHER", 3)
    read = Samples(files)
    parts = list(read.parts())
    assert [part["window_id"].n_unique() for part in parts] == [3, 3, 2]
    assert pl.concat(parts).equals(read.whole())
    assert read.problems == ()


def test_those_of_some_metrics_and_windows_are_read_alone(files: dict[str, Path]) -> None:
    """Missing values are left out."""
    found = Samples(files).of("block", ["reads_per_s"], ["w-disk-u4-b0", "w-memory-u4-b0"])
    assert found["window_id"].unique().to_list() == ["w-disk-u4-b0"]
    assert set(found["metric"]) == {"reads_per_s"}
    everywhere = Samples(files).of("cpu", ["idle_share"])
    assert everywhere["window_id"].n_unique() == 8


def test_what_is_damaged_is_told_and_the_rest_is_read(files: dict[str, Path]) -> None:
    """Whether or not anybody read the samples before asking."""
    first, second, *_ = files.values()
    first.unlink()
    second.write_bytes(b"PAR1 not really")
    run = read_run(first.parents[2])
    assert [each.path for each in run.problems] == [first, second]
    assert run.series["window_id"].n_unique() == 6
    assert Samples({}).whole().is_empty()
