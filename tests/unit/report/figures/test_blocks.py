"""How the verdict came about: every look worked out again from the windows' files."""

import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.report.figure import Absent, Figure
from stithy.report.figures.blocks import draw
from stithy.results.manifest import QuestionFacts, SearchFacts
from support.drawn import only_drawn
from support.sample_run import Shape, window_id

QUESTION = QuestionFacts(users=4, metric="nopm", margin_share=0.05, blocks_least=4, blocks_most=8)


drawn = partial(only_drawn, draw)


def figure(folder: Path, ratios: list[float], asked: QuestionFacts = QUESTION) -> Figure:
    """The figure of a run in whose blocks memory did so many times what disk did."""
    changes: dict[str, dict[str, Any]] = {}
    for block, ratio in enumerate(ratios):
        changes[window_id("disk", 4, block)] = {"nopm": 1000.0}
        changes[window_id("memory", 4, block)] = {"nopm": 1000.0 * ratio}
    shape = Shape(
        users=(4,), repeat=len(ratios), duration_s=4, series=False, primary=asked, changes=changes
    )
    found = drawn(folder, shape)
    assert isinstance(found, Figure)
    return found


def test_what_was_decided_before_all_blocks_were_there_says_since_when(tmp_path: Path) -> None:
    """Fixed numbers of blocks go on after a verdict."""
    found = figure(tmp_path, [1.10, 1.11] * 4)
    assert found.title == "Decided by 4 of 8 blocks: memory is better than disk"


def test_an_undecided_study_says_what_is_in_the_way(tmp_path: Path) -> None:
    """Neither beyond the boundary nor within the margin."""
    found = figure(tmp_path, [1.3, 0.8, 1.4, 0.9, 1.2])
    assert found.title == "After 5 blocks it is undecided between disk and memory"
    assert "not beyond the boundary of" in found.caption
    assert "not within the margin" in found.caption


def test_a_large_effect_does_not_press_the_boundary_to_the_line_of_1(tmp_path: Path) -> None:
    """The axis is stretched there, and the caption says so; a small effect leaves it as it is."""
    large = figure(tmp_path / "large", [3.0, 3.1, 3.05, 3.1])
    assert "logarithmic axis, stretched near 1" in large.caption
    [scale] = {str(each) for each in scales(large)}
    assert "symlog" in scale
    assert all(low < math.log(1.05) < math.log(3.1) < high for low, high in domains(large))
    small = figure(tmp_path / "small", [1.1, 1.2, 1.05, 1.1])
    assert "stretched" not in small.caption
    assert {each["type"] for each in scales(small)} == {"linear"}


def scales(found: Figure) -> list[dict[str, Any]]:
    """The scales of the vertical axis, of each layer that tells one."""
    axes = (each["encoding"]["y"] for each in found.spec["layer"])
    return [axis["scale"] for axis in axes if "scale" in axis]


def domains(found: Figure) -> list[list[float]]:
    """The ends of these, as log ratios."""
    return [each["domain"] for each in scales(found)]


def test_of_several_candidates_the_pair_was_chosen_and_the_boundary_is_stricter(
    tmp_path: Path,
) -> None:
    """The caption says among how many."""
    shape = Shape(
        candidates=tuple("abcdefg"), users=(4,), repeat=4, duration_s=4, series=False,
        primary=QUESTION,
    )  # fmt: skip
    found = drawn(tmp_path, shape)
    assert isinstance(found, Figure)
    assert "(of a pair chosen among 21)" in found.caption
    [look] = found.table.frame.filter(pl.col("interim")).to_dicts()
    assert look["boundary_high"] > look["high"] / look["value"]


SEARCH = SearchFacts(
    percentile="p95", transaction="all", limit_s=1.0, users_least=1, users_most=4, alone=True
)


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (Shape(candidates=("disk",), users=(1,), duration_s=4), "there is no second candidate"),
        (Shape(users=(1,), duration_s=4, search=SEARCH), "a search has no intervals"),
        (
            Shape(users=(1,), duration_s=4, changes={"w-disk-u1-b0": {"errors": 5}}),
            "no block has valid windows of two candidates",
        ),
        (
            Shape(users=(1,), repeat=3, duration_s=4),
            "3 blocks cannot give a verdict: at least 4 are needed",
        ),
    ],
    ids=["alone", "searched", "invalid", "few"],
)
def test_where_no_verdict_is_looked_for_it_says_why(
    tmp_path: Path, shape: Shape, because: str
) -> None:
    """No course of nothing."""
    found = drawn(tmp_path, shape)
    assert isinstance(found, Absent)
    assert found.because == because


def test_a_mean_at_its_boundary_is_written_with_the_digits_that_tell_on_which_side(
    tmp_path: Path,
) -> None:
    """1.020 is not beyond 1.020."""
    spread = 0.01
    edge = 5.54 * 1.3 * spread * math.sqrt(4 / 3) / 2
    logs = [edge * 0.9999 + (spread if n % 2 else -spread) for n in range(4)]
    found = figure(tmp_path, [math.exp(each) for each in logs])
    seen = re.search(r"the mean was (\S+), not beyond the boundary of ([\d.]+),", found.caption)
    assert seen is not None
    assert float(seen[1]) < float(seen[2])
