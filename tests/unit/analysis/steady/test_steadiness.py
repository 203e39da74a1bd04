"""Whether a window was steady: its fifths, changes of level, and a late start."""

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.steady.steadiness import (
    Change,
    changes,
    settled_after,
    steadiness,
    steadiness_of_windows,
)
from stithy.results.read import read_run
from support.reported import frames
from support.sample_run import Shape, build_run, window_id


def test_a_slow_start_is_cut_off_in_whole_batches() -> None:
    """Twelve seconds at half the rate: the cut is at fifteen, or a little later."""
    draw, cuts = random.Random(1), []
    for _ in range(50):
        values = [draw.gauss(150 if second < 12 else 300, 10) for second in range(60)]
        cuts.append(settled_after(values, most=30) or 0)
    assert sorted(cuts)[len(cuts) // 2] == 15
    assert all(10 < cut <= 30 and cut % 5 == 0 for cut in cuts)


def test_no_more_is_cut_than_allowed() -> None:
    """Where it rises to its end the cut is as late as it may be, for all windows alike."""
    rising = [float(second) for second in range(60)]
    assert settled_after(rising, most=30) == 30
    assert settled_after(rising, most=12) == 10
    assert settled_after(rising, most=0) == 0


def test_a_step_is_found_at_its_place_with_its_levels() -> None:
    """Thirty seconds at 300, thirty at 200."""
    assert changes([300.0] * 30 + [200.0] * 30) == (Change(30, 300.0, 200.0),)


def test_a_noisy_step_is_found_within_a_second_or_two() -> None:
    """In 100 of 100 series with a noise of a tenth."""
    draw = random.Random(1)
    for _ in range(100):
        values = [draw.gauss(300 if second < 25 else 200, 30) for second in range(60)]
        assert any(abs(each.index - 25) <= 2 for each in changes(values))


def test_a_stall_of_some_seconds_is_left_and_entered() -> None:
    """Two changes: down, and up again."""
    found = changes([300.0] * 20 + [0.0] * 6 + [300.0] * 34)
    assert [(each.index, each.after) for each in found] == [(20, 0.0), (26, 300.0)]


@pytest.mark.parametrize("remembers", [0.0, 0.5])
def test_noise_has_hardly_any_change(remembers: float) -> None:
    """Also where neighbouring seconds resemble each other: in at most 20 of 100 series."""
    draw, changed = random.Random(2), 0
    for _ in range(100):
        values, last = [], 0.0
        for _ in range(60):
            last = remembers * last + draw.gauss(0, 30)
            values.append(300 + last)
        changed += bool(changes(values))
    assert changed <= 20


def test_a_single_second_is_no_other_level() -> None:
    """A checkpoint's dip is a dip."""
    assert changes([300.0] * 30 + [100.0] + [300.0] * 29) == ()


@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=200))
def test_changes_come_in_order_within_the_series(values: list[float]) -> None:
    """Each has two levels that differ."""
    found = changes(values)
    places = [each.index for each in found]
    assert places == sorted(set(places))
    assert all(0 < place < len(values) for place in places)
    assert all(each.before != each.after for each in found)


@pytest.mark.parametrize(("fall", "steady"), [(0.08, True), (0.20, False)])
def test_a_slope_beyond_a_tenth_of_the_mean_is_not_steady(fall: float, steady: bool) -> None:
    """From one end of the fifths to the other; their range allows twice as much."""
    measured = [300 * (1 + fall / 2 - fall * second / 59) for second in range(60)]
    found = steadiness([], measured)
    assert found.steady is steady
    assert found.slope_share == pytest.approx(fall * 0.8, rel=0.05)
    assert found.range_share == pytest.approx(fall * 0.8, rel=0.05)


def test_parts_that_differ_without_a_slope_are_not_steady() -> None:
    """A dip in the middle fifth: the line through them is level."""
    found = steadiness([], [300.0] * 24 + [200.0] * 12 + [300.0] * 24)
    assert found.steady is False
    assert found.slope_share == pytest.approx(0)
    assert found.range_share == pytest.approx(100 / 280)
    assert [each.index for each in found.changes] == [24, 36]


def test_a_ramp_up_that_reaches_into_the_measurement_is_told() -> None:
    """With what it took from the mean; one that ended in time is not."""
    late = steadiness([150.0] * 30, [150.0] * 10 + [300.0] * 50)
    assert (late.steady, late.late_s) == (False, 10)
    assert late.late_share == pytest.approx(300 / 275 - 1)
    assert steadiness([150.0] * 30, [300.0] * 60).late_s == 0


def test_what_cannot_be_told_says_why() -> None:
    """A short window, and one in which hardly anything happens."""
    short = steadiness([], [300.0] * 14)
    assert (short.steady, short.unknown_because) == (None, "it is shorter than 15 s")
    quiet = steadiness([], [2.0] * 60)
    assert quiet.steady is None
    assert quiet.unknown_because == "a fifth of it has fewer than 800 transactions"
    assert steadiness([], [0.0] * 60).steady is None


LONG = Shape(users=(13,), duration_s=40, series=False)


def _frames(root: Path, shape: Shape = LONG) -> dict[str, pl.DataFrame]:
    build_run(root, shape)
    return dict(frames(read_run(root)))


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
