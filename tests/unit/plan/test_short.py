"""What is said of windows that are shorter than usual."""

from stithy.plan.short import costs_of_short_windows


def test_windows_of_the_usual_length_cost_nothing() -> None:
    """Nor do longer ones."""
    assert costs_of_short_windows(30.0, 60.0) == ()
    assert costs_of_short_windows(60.0, 600.0) == ()


def test_each_part_that_is_short_is_told_by_itself() -> None:
    """Who shortens only one of them is not told of the other."""
    [ramp_up] = costs_of_short_windows(5.0, 60.0)
    assert "A ramp-up of 5 s instead of 30 s" in ramp_up
    [duration] = costs_of_short_windows(30.0, 15.0)
    assert "Windows of 15 s instead of 1 min" in duration
    assert costs_of_short_windows(5.0, 15.0) == (ramp_up, duration)
