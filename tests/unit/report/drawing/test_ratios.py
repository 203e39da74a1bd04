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
