"""Whether a window was steady: its fifths, changes of level, and a late start."""

import random
from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.steadiness import (
    LevelChange,
    find_changes,
    find_settled_after,
    judge_steadiness,
    judge_steadiness_of_windows,
)
from stithy.results.files import read_run
from support.reported import frames
from support.sample_run import Shape, build_run


def test_a_slow_start_is_cut_off_in_whole_batches() -> None:
    """Twelve seconds at half the rate: the cut is at fifteen, or a little later, or at its end."""
    draw, cuts = random.Random(1), []
    for _ in range(50):
        values = [draw.gauss(150 if second < 12 else 300, 10) for second in range(60)]
        cuts.append(find_settled_after(values, most=30) or 0)
    assert sorted(cuts)[len(cuts) // 2] == 15
    assert all(10 < cut <= 30 and cut % 5 == 0 for cut in cuts)
    rising = [float(second) for second in range(60)]
    assert [find_settled_after(rising, most) for most in (30, 12, 0)] == [30, 10, 0]
    assert find_settled_after(rising[:19], 10) is None


Values = list[float]


@pytest.mark.parametrize(("values", "found"), [
    ([300.0] * 30 + [200.0] * 30, (LevelChange(30, 300.0, 200.0),)),
    ([300.0] * 20 + [0.0] * 6 + [300.0] * 34,
     (LevelChange(20, 300.0, 0.0), LevelChange(26, 0.0, 300.0))),
    ([300.0] * 30 + [100.0] + [300.0] * 29, ()),
    ([300.0] * 30 + [275.0] * 30, ()),
    ([300.0] * 120 + [200.0] * 120, (LevelChange(120, 300.0, 200.0),)),
    ([300.0] * 3 + [100.0] * 4, ()),
], ids=["a step", "a stall", "a second", "under a tenth", "bins of two", "too short"])  # fmt: skip
def test_a_change_is_found_at_its_place(
    values: list[float], found: tuple[LevelChange, ...]
) -> None:
    """A checkpoint's dip is a dip, and no other level."""
    assert find_changes(values) == found


DIP = [300.0] * 24 + [200.0] * 12 + [300.0] * 24


@pytest.mark.parametrize(("measured", "steady", "slope", "spread"), [
    ([300 * (1.04 - 0.08 * s / 59) for s in range(60)], True, 0.064, 0.064),
    ([300 * (1.1 - 0.2 * s / 59) for s in range(60)], False, 0.16, 0.16),
    ([300 * (0.9 + 0.2 * s / 59) for s in range(60)], False, 0.16, 0.16),
    (DIP, False, 0.0, 100 / 280), ([300.0] * 60, True, 0.0, 0.0),
], ids=["little", "falls", "rises", "dips", "level"])  # fmt: skip
def test_fifths_that_differ_are_not_steady(
    measured: Values, steady: bool, slope: float, spread: float
) -> None:
    """More than a tenth of the mean from end to end, or a fifth between any two."""
    found = judge_steadiness([], measured)
    assert found.steady is steady
    assert found.slope_share == pytest.approx(slope, rel=0.05, abs=1e-9)
    assert found.range_share == pytest.approx(spread, rel=0.05)


def test_a_ramp_up_that_reaches_into_the_measurement_is_told_and_what_is_not_known() -> None:
    """With what it took from the mean; of a short window, or one that hardly did anything, why."""
    late = judge_steadiness([150.0] * 30, [150.0] * 10 + [300.0] * 50)
    assert (late.steady, late.late_s) == (False, 10)
    assert late.late_share == pytest.approx(300 / 275 - 1)
    assert judge_steadiness([150.0] * 30, [300.0] * 60).late_s == 0
    short, few = "it is shorter than 15 s", "a fifth of it has fewer than 800 transactions"
    cases = (([300.0] * 14, short), ([66.6] * 60, few), ([66.7] * 60, None), ([300.0] * 15, None))
    for measured, because in cases:
        found = judge_steadiness([], measured)
        assert (found.steady, found.unknown_because) == (because is None or None, because)


def test_whole_seconds_of_the_measurement_count_and_none_is_missing(tmp_path: Path) -> None:
    """All transaction types together; a second without a row is not one without transactions."""
    build_run(tmp_path, Shape(candidates=("memory",), users=(13,), duration_s=40, series=False))
    read, second = dict(frames(read_run(tmp_path))), pl.col("second")
    whole, count = read["seconds"], pl.col("committed")

    def shown() -> tuple[bool | None, list[int], str | None]:
        [found] = judge_steadiness_of_windows(read).values()
        return found.steady, [each.index for each in found.changes], found.unknown_because

    read["seconds"] = whole.with_columns(committed=pl.when(second < 5).then(0).otherwise(count))
    assert shown() == (True, [], None)
    half = pl.when(second >= 25).then(count // 2).otherwise(count)
    read["seconds"] = whole.with_columns(committed=half)
    assert shown() == (False, [20], None)
    read["seconds"] = whole.filter(second != 30)
    assert shown() == (None, [], "one-second values are missing from it")
    read["seconds"] = whole.clear()
    assert shown() == (None, [], "it has no one-second values")
