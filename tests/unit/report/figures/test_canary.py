"""The canaries are drawn where the machine did not stay the same, and only there."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.figures.canary import draw
from support.drawn import all_drawn, only_drawn
from support.sample_run import Shape, window_id


def drawn(folder: Path, **changes: Any) -> Sequence[Drawn]:
    """What is drawn of eight blocks of one level; `changes` of the canary before the third."""
    # It goes by the name of the block's first window, whichever candidate that is.
    third = dict.fromkeys((window_id(name, 4, 2) for name in ("disk", "memory")), changes)
    shape = Shape(users=(4,), repeat=8, duration_s=4, series=False, canaries=third)
    return all_drawn(draw, folder, shape)


def test_a_machine_that_stayed_the_same_is_told_by_a_sentence_alone(tmp_path: Path) -> None:
    """Three flat lines would say no more."""
    assert drawn(tmp_path) == []


def test_every_figure_is_its_difference_from_the_median(tmp_path: Path) -> None:
    """Worked out from the file; the one that is off is a mark of its own."""
    [found] = drawn(tmp_path, one_rounds_per_s=90_000.0)
    assert isinstance(found, Figure)
    assert found.title == "1 of 8 blocks met a machine unlike its usual"
    file = pl.read_parquet(tmp_path / "tables/canary.parquet").sort("at_s")
    for what, column in (
        ("one CPU", "one_rounds_per_s"), ("all CPUs", "all_rounds_per_s"), ("reads", "read_p50_s"),
    ):  # fmt: skip
        values = file[column].to_list()
        told = found.table.frame.filter(gauge=what).sort("minutes")
        assert told["value"].to_list() == pytest.approx([v / median(values) - 1 for v in values])
        assert told["measured"].to_list() == values
    off = found.table.frame.filter(pl.col("off")).to_dicts()
    assert [(row["gauge"], row["measured"]) for row in off] == [("one CPU", 90_000.0)]


def test_fewer_than_four_canaries_tell_nothing(tmp_path: Path) -> None:
    """Nobody can say which one is odd."""
    found = only_drawn(draw, tmp_path, Shape(users=(4,), repeat=2, duration_s=4, series=False))
    assert isinstance(found, Absent)
    assert found.because == "there are 2 canaries with numbers, at least 4 are needed"
