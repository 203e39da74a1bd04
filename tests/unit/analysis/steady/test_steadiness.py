"""Whether a window was steady."""

import random

import pytest

from stithy.analysis.steady.steadiness import steadiness


def test_a_constant_window_is_steady() -> None:
    """Nothing differs, nothing slopes, nothing came late."""
    found = steadiness([0.0] * 5, [300.0] * 60)
    assert found.steady is True
    assert (found.range_share, found.slope_share, found.late_s, found.late_share) == (0, 0, 0, 0)
    assert found.changes == ()


def test_noise_of_a_tenth_a_second_leaves_a_window_steady() -> None:
    """In at least 98 of 100 windows."""
    draw = random.Random(1)
    steady = sum(
        steadiness([], [draw.gauss(300, 30) for _ in range(60)]).steady is True for _ in range(100)
    )
    assert steady >= 98


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
