"""What is asked of a drive, and in which time."""

import pytest

from stithy.drives.measure.points import OVERHEAD_S, Point, matrix, order, schedule
from stithy.errors import UserError


def test_nothing_is_written_unless_it_is_allowed() -> None:
    """Without writing the matrix has reads only."""
    assert not any(point.writes for point in matrix(writing=False))
    assert any(point.writes for point in matrix(writing=True))


def test_the_matrix_has_every_size_and_depth_once() -> None:
    """From 4 KiB to 1 MiB, from 1 to 64 under way."""
    points = matrix(writing=True)
    assert len(set(points)) == len(points)
    assert {point.length_bytes for point in points} == {4096, 16384, 131072, 1048576}
    assert {point.depth for point in points} >= {1, 2, 4, 8, 16, 32, 64}


@pytest.mark.parametrize("duration_s", [80.0, 180.0, 600.0, 3600.0])
def test_a_schedule_takes_its_time_and_no_more(duration_s: float) -> None:
    """All rounds of all points, their overhead, and writing without a pause fill the duration."""
    points = len(matrix(writing=True))
    made = schedule(duration_s, points, sustained=True)
    each_s = made.point_s + made.settle_s + OVERHEAD_S
    assert made.rounds * points * each_s + made.sustained_s == pytest.approx(duration_s)
    assert 0.5 <= made.point_s <= 5.0


def test_more_time_becomes_more_rounds() -> None:
    """What changes slowly reaches all points alike."""
    assert schedule(80.0, 46, sustained=True).rounds == 1
    assert schedule(600.0, 46, sustained=True).rounds == 3
    assert schedule(3600.0, 46, sustained=True).rounds > 3


def test_too_short_a_time_is_refused_with_the_least_that_will_do() -> None:
    """The remedy can be taken at its word."""
    with pytest.raises(UserError) as refused:
        schedule(5.0, 20, sustained=False)
    assert "give at least 27 s" in refused.value.remedy
    assert schedule(27.0, 20, sustained=False).rounds == 1


def test_each_round_has_all_points_in_an_order_that_follows_from_the_seed() -> None:
    """The same seed gives the same orders, another one others."""
    points = matrix(writing=False)
    rounds = order(points, 3, seed=7)
    assert all(set(each) == set(points) for each in rounds)
    assert rounds[0] != rounds[1]
    assert rounds == order(points, 3, seed=7)
    assert rounds != order(points, 3, seed=8)


def test_a_point_names_itself() -> None:
    """People read the name in tables."""
    assert Point(1.0, 4096, 16).name == "read 4 KiB, depth 16"
    assert Point(0.7, 4096, 1).name == "70% read 4 KiB, depth 1"
    flushed = Point(0.0, 131072, 1, sequential=True, flushed_every=32)
    assert flushed.name == "write 128 KiB in sequence, depth 1, flushed every 32"
