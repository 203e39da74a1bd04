"""Ratios against users: by the metric that the question asks, and by NOPM."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.report.figure import Figure
from stithy.report.figures.effect import draw
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


def test_a_title_claims_no_difference_that_the_verdict_of_its_level_does_not(
    tmp_path: Path,
) -> None:
    """Each level by itself shows one; adjusted for six levels none is borne."""
    slight = (1.030, 1.046, 1.016, 1.024, 1.040, 1.020)
    nothing = (1.03, 0.97, 1.02, 0.98, 1.04, 0.96)
    levels = (1, 2, 3, 4, 5, 6, 7)
    changes = {
        window_id(name, users, block): {"nopm": 1000.0 * (ratio if name == "memory" else 1.0)}
        for users in levels
        for block, ratio in enumerate(slight if users == 1 else nothing)
        for name in ("disk", "memory")
    }
    shape = Shape(users=levels, repeat=6, duration_s=4, series=False, changes=changes)
    build_run(tmp_path, shape)
    [only] = draw(context_of(read_run(tmp_path)))
    assert isinstance(only, Figure)
    [first] = only.table.frame.filter(users=1).to_dicts()
    assert first["low"] > 1
    assert only.title == "memory and disk are not distinguishable at any level"


def test_single_windows_that_are_nearly_alike_are_close(tmp_path: Path) -> None:
    """A title of 1.00 times would claim what one window cannot."""
    changes = {
        window_id(name, users, 0): {"nopm": 1000.0 * (1.004 if name == "memory" else 1.0)}
        for users in (1, 4)
        for name in ("disk", "memory")
    }
    build_run(tmp_path, Shape(users=(1, 4), duration_s=4, series=False, changes=changes))
    [only] = draw(context_of(read_run(tmp_path)))
    assert isinstance(only, Figure)
    assert only.title == "memory and disk are close at every level"
