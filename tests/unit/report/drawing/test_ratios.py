"""Axes of ratios."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.report.drawing.ratios import domain, ticks

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
