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


def test_a_curve_rises_and_needs_values() -> None:
    """Shares and values ascend; of too few values there is no curve at all."""
    draw = random.Random(4)
    points = percentile_curve(histogram(*(int(draw.lognormvariate(8, 1)) for _ in range(5000))))
    assert [point.share for point in points] == sorted({point.share for point in points})
    assert [point.value_s for point in points] == sorted(point.value_s for point in points)
    assert percentile_curve(histogram(*range(1, 2 * BEYOND_DRAWN))) == ()


@pytest.mark.parametrize(("low_s", "high_s"), [(1e-6, 1e-6), (1e-6, 100.0), (0.9e-3, 1.1e-3)])
def test_edges_hold_all_values_in_few_rows(low_s: float, high_s: float) -> None:
    """However wide the range; every row is as high as the others on a logarithmic axis."""
    edges = log_edges(low_s, high_s, 40)
    assert len(edges) <= 41
    assert edges[0] <= low_s * (1 + 1e-9)
    assert edges[-1] > high_s
    heights = [high / low for low, high in zip(edges, edges[1:], strict=False)]
    assert max(heights) == pytest.approx(min(heights))


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


def test_a_value_lies_in_the_row_of_its_edges() -> None:
    """Small values are exact in a histogram, so they must lie where they are."""
    edges = log_edges(1e-6, 2e-3, 40)
    for value_us in (1, 2, 3, 9, 10, 11, 99, 100, 1000, 1999):
        made = cells([(0, histogram(value_us))], 1, edges)
        ((_, row),) = made.counts
        assert edges[row] <= value_us * 1e-6 * (1 + 1e-6)
        assert value_us * 1e-6 < edges[row + 1] * (1 + 1e-6)
