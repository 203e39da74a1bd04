"""When a series has settled."""

import random

from stithy.analysis.steady.trim import settled_after


def test_a_series_without_a_start_is_not_cut() -> None:
    """A constant one at 0."""
    assert settled_after([300.0] * 60, most=30) == 0


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


def test_a_short_series_cannot_be_cut() -> None:
    """Of fewer than four batches none can be told from chance."""
    assert settled_after([1.0] * 19, most=10) is None
    assert settled_after([1.0] * 20, most=10) == 0
