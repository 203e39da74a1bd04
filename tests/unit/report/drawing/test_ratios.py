"""Axes of ratios."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.report.drawing.ratios import Scale, domain, ticks

RATIOS = st.floats(min_value=0.02, max_value=50)


@given(st.lists(RATIOS | st.none(), max_size=9))
def test_an_axis_holds_1_and_every_ratio_and_a_tick_at_1(values: list[float | None]) -> None:
    """Whatever was measured."""
    ends = domain(values)
    assert ends[0] < 1 < ends[1]
    assert all(ends[0] < value < ends[1] for value in values if value is not None)
    assert 1.0 in ticks(ends)
    assert all(ends[0] <= tick <= ends[1] for tick in ticks(ends))


@pytest.mark.parametrize(("ends", "count"), [((0.97, 1.04), 3), ((0.7, 1.5), 7), ((0.1, 20), 9)])
def test_ticks_are_as_many_as_can_be_read(ends: tuple[float, float], count: int) -> None:
    """Fine ones near 1, coarse ones over decades."""
    assert len(ticks(ends)) == count


@given(st.floats(min_value=0.001, max_value=0.2), st.lists(RATIOS, min_size=1, max_size=9))
def test_a_stretched_axis_keeps_the_order_and_has_a_tick_at_1(
    near: float, values: list[float]
) -> None:
    """What is farther from 1 stands farther from it; what is inverse, as far on the other side."""
    scale = Scale(domain(values, 1.01), near)
    places = [scale.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert [-scale.place(value) for value in values] == pytest.approx(
        [scale.place(1 / value) for value in values]
    )
    assert 1.0 in scale.ticks()
    assert len(scale.ticks()) <= 14


def test_a_stretched_axis_gives_what_is_near_1_room() -> None:
    """A boundary of 1.05 under an effect of 3, which takes 4 % of an axis that is not stretched."""
    plain, stretched = Scale((1.0, 3.0)), Scale((1.0, 3.0), math.log(1.05))
    assert plain.place(1.05) / plain.place(3.0) < 0.05
    assert stretched.place(1.05) / stretched.place(3.0) > 0.2


@pytest.mark.parametrize("near", [None, 0.05])
def test_room_is_a_share_of_the_axis_as_it_is_drawn(near: float | None) -> None:
    """A tenth at each end."""
    scale = Scale((0.9, 3.0), near)
    low, high = (scale.place(end) for end in scale.ends)
    wider = [scale.place(end) for end in scale.roomier(0.1).ends]
    assert wider == pytest.approx([low - 0.1 * (high - low), high + 0.1 * (high - low)])


def test_extreme_ratios_have_ticks_at_powers_of_ten() -> None:
    """A thousandfold difference lies within its ticks."""
    assert ticks((0.0005, 2000.0)) == [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
