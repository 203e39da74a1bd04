"""A largest or fastest is claimed only among what has a value, and says where not all have one.

What has too few values, or no valid window, may be the one that is sought.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.point import Point
from stithy.report.blocks import Figure
from stithy.report.drawing.titles import count_missing, name_by
from stithy.report.figures.heat import _find_slowest_s
from stithy.results.hlog import LoggedHistogram
from stithy.scenarios.block_io.report import sweeps
from support.drawn import context_built, draw_all
from support.sample_run import Shape


def titles(family: str, folder: Path, **shape: Any) -> list[str]:
    """The titles of what a family draws of a run of 13 users."""
    context = context_built(folder, Shape(**{"users": (13,), "series": False, **shape}))
    return [each.title for each in draw_all(family, context) if isinstance(each, Figure)]


@pytest.mark.parametrize(("duration_s", "title"), [
    (30, "At 13 users, delivery takes longest: its median is 154 ms on disk and 49.9 ms on memory"),
    (20, "At 13 users, new-order on disk takes longest of the types with enough transactions: its "
         "median is 70.1 ms on disk and 22.7 ms on memory"),
])  # fmt: skip
def test_types_are_compared_by_what_all_have(tmp_path: Path, duration_s: int, title: str) -> None:
    """Delivery is 2.2 times as slow as new-order, and too rare for a p95, then for a median."""
    assert titles("response-by-transaction", tmp_path, duration_s=duration_s) == [title]


def test_most_work_is_named_without_its_response_time(tmp_path: Path) -> None:
    """Not the work at the levels that have enough values for a percentile."""
    [title] = titles("response-throughput", tmp_path, users=(4, 13))
    assert title == (
        "Highest new orders per minute: 4,593 on disk at 13 users (too few values for p95 of "
        "new-order) and 14,178 on memory at 13 users (p95 of new-order 59.6 ms)"
    )


@pytest.mark.parametrize(("count", "most", "reported"), [
    (3, 3, "0 on a, 1 on b and 2 on c"), (3, 2, "0 on a and 2 on c, the other between them"),
    (5, 3, "0 on a and 4 on e, the other 3 between them"),
])  # fmt: skip
def test_those_between_are_counted(count: int, most: int, reported: str) -> None:
    """A candidate without a value lies nowhere."""
    values = {"abcde"[number]: float(number) for number in range(count)}
    assert name_by(values, "{:.0f}".format, most=most) == reported


@pytest.mark.parametrize(("counts", "slowest"), [
    ((2000, 2000), (0.512, False)), ((2000, 1999), (0.256, True)), ((3, 2), (None, True)),
])  # fmt: skip
def test_the_slowest_second_knows_of_those_with_few(
    counts: tuple[int, int], slowest: tuple[float | None, bool]
) -> None:
    """The later second takes twice as long."""
    window: Any = SimpleNamespace(measure_after_s=0.0)
    found = [(second, LoggedHistogram({256_000 * (1 + second) >> 8: count}, 10, 8))
             for second, count in enumerate(counts)]  # fmt: skip
    slowest_s, has_few = _find_slowest_s(window, found)
    assert (slowest_s and pytest.approx(slowest_s, rel=0.01), has_few) == slowest


def test_points_without_a_value_are_counted_beside_the_most() -> None:
    """The one that is missing may have had more."""
    place = sweeps._SweepPlace("a", Point(()), "4 KiB", {"iops": 900.0})
    title = sweeps._describe_finding(sweeps._Sweep(next(iter(sweeps.KEYS)), Point(()), (place,), 2))
    assert title.endswith("900/s on a (at 4 KiB); 2 points have no valid value")
    assert (count_missing(1), count_missing(0)) == ("; 1 point has no valid value", "")
