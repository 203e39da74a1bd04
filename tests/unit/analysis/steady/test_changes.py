"""Where the level of a series changed."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.steady.changes import Change, changes


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


def test_short_and_constant_series_have_none() -> None:
    """There is nothing to tell."""
    assert changes([]) == ()
    assert changes([1.0, 9.0]) == ()
    assert changes([5.0] * 60) == ()
    assert changes([0.0] * 60) == ()


def test_a_long_series_is_looked_at_in_averages() -> None:
    """The place is then known to one of them."""
    (change,) = changes([300.0] * 1800 + [100.0] * 1800)
    assert change == Change(1800, 300.0, 100.0)


@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=200))
def test_changes_come_in_order_within_the_series(values: list[float]) -> None:
    """Each has two levels that differ."""
    found = changes(values)
    places = [each.index for each in found]
    assert places == sorted(set(places))
    assert all(0 < place < len(values) for place in places)
    assert all(each.before != each.after for each in found)
