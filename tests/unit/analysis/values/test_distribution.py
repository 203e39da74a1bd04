"""Curves and cells hold the values of their histogram and no others."""

import random

import pytest

from stithy.analysis.values.distribution import (
    BEYOND_DRAWN,
    cells,
    log_edges,
    percentile_curve,
)
from support.hlog import histogram

THOUSAND = histogram(*range(1, 1001))


def test_a_curve_tells_the_highest_of_each_share() -> None:
    """Of 1 to 1000 µs, half are at most 500 µs, and 90 % at most 900 µs."""
    points = {round(point.share, 9): point for point in percentile_curve(THOUSAND)}
    assert points[0.5].value_s == pytest.approx(500e-6)
    assert points[0.9].value_s == pytest.approx(900e-6)
    assert points[0.9].beyond == 100
    assert points[0.9].reach == pytest.approx(10)
    assert points[0.0].value_s == pytest.approx(1e-6)


def test_a_curve_ends_where_too_few_values_lie_beyond() -> None:
    """Its last point has exactly as many beyond it, and none has fewer."""
    points = percentile_curve(THOUSAND)
    assert points[-1].beyond == BEYOND_DRAWN
    assert points[-1].value_s == pytest.approx(990e-6)
    assert all(point.beyond >= BEYOND_DRAWN for point in points)


def test_cells_hold_every_value_once() -> None:
    """Also those outside of the edges, and in whatever columns the seconds are put together."""
    draw = random.Random(5)
    seconds = [
        (second, histogram(*(int(draw.lognormvariate(7, 2)) + 1 for _ in range(300))))
        for second in (0, 0, 1, 2, 5, 6)
    ]
    for column_s in (1, 2, 5):
        made = cells(seconds, column_s, log_edges(1e-4, 1e-2, 20))
        assert sum(made.counts.values()) == 6 * 300
        assert {column for column, _ in made.counts} == {s // column_s for s, _ in seconds}
