"""Titles of figures claim no more than the windows support."""

from pathlib import Path
from typing import Any

import pytest

from stithy.report.context import Context, context_of
from stithy.report.drawing.titles import compare_title
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

Row = dict[str, Any]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """Only its levels and candidates are asked for."""
    root: Path = tmp_path_factory.mktemp("run")
    build_run(root, Shape(users=(1, 4), duration_s=3, series=False))
    return context_of(read_run(root))


def _points(users: int, disk: list[float], memory: list[float]) -> list[Row]:
    return [
        {"users": users, "candidate": name, "block": block, "value": value, "valid": True}
        for name, values in (("disk", disk), ("memory", memory))
        for block, value in enumerate(values)
    ]


def _lines(users: int, disk: float, memory: float) -> list[Row]:
    return [
        {"users": users, "candidate": "disk", "value": disk},
        {"users": users, "candidate": "memory", "value": memory},
    ]


def test_the_highest_level_with_two_values_is_told(context: Context) -> None:
    """With the ratio kept beside the text."""
    title = compare_title(context, _lines(4, 10, 31), _points(4, [10], [31]), "orders")
    assert title.text == "At 4 users, memory has 3.1 times the orders of disk"
    assert title.ratio == pytest.approx(3.1)


def test_blocks_that_cannot_tell_them_apart_are_believed_more_than_means(context: Context) -> None:
    """A ratio of means is no finding where the interval holds 1."""
    points = _points(4, [10, 40, 20], [30, 15, 35])
    title = compare_title(context, _lines(4, 23.3, 26.7), points, "orders")
    assert title.text == "At 4 users, disk and memory are not distinguishable in orders"
    assert title.ratio is None


def test_a_single_candidate_is_told_of_alone(context: Context) -> None:
    """There is nothing to compare: the ends of its line, and without a line what is drawn."""
    lines = [{"users": users, "candidate": "disk", "value": users * 1000.0} for users in (1, 4)]
    title = compare_title(context, lines, [], "orders per minute")
    assert title.text == "Orders per minute: 1,000 at 1 user and 4,000 at 4 users with disk"
    title = compare_title(context, [], [], "orders per minute")
    assert title.text == "Orders per minute against virtual users"


def test_without_a_block_that_has_both_values_are_told_and_no_factor(context: Context) -> None:
    """Windows of other blocks are no pair, however large the ratio of their means."""
    points = [*_points(4, [10], []), {**_points(4, [], [31])[0], "block": 1}]
    title = compare_title(context, _lines(4, 10, 31), points, "orders")
    assert title.text == "Orders at 4 users: 10 on disk and 31 on memory"
    assert title.ratio is None


def test_a_title_has_the_direction_of_the_answer_also_below_one(context: Context) -> None:
    """The second candidate against the first, whichever has more, as in every sentence."""
    title = compare_title(context, _lines(4, 31, 10), _points(4, [31], [10]), "orders")
    assert title.text == "At 4 users, memory has 0.32 times the orders of disk"
    assert title.ratio == pytest.approx(10 / 31)


@pytest.mark.parametrize(("disk", "memory"), [(360, 2.1), (2.1, 360)])
def test_a_ratio_that_nobody_reads_gives_way_to_both_values(
    context: Context, disk: float, memory: float
) -> None:
    """0.0058 times says less than the two values."""
    points = _points(4, [disk], [memory])
    title = compare_title(context, _lines(4, disk, memory), points, "p95", "{:g} ms".format)
    assert title.text == f"P95 at 4 users: {disk:g} ms on disk and {memory:g} ms on memory"


def test_blocks_that_lie_the_other_way_than_means_turn_the_title(context: Context) -> None:
    """What is claimed is what the blocks tell."""
    points = _points(4, [30, 30, 30, 31], [10, 10, 10, 10.4])
    title = compare_title(context, _lines(4, 10, 31), points, "orders")
    assert title.text == "At 4 users, memory has 0.33 times the orders of disk"


def test_the_farthest_of_many_is_claimed_only_if_it_is_rare_enough(tmp_path: Path) -> None:
    """Of ten equal candidates the farthest two differ by chance: a title says no more of them."""
    names = tuple("abcdefghij")
    build_run(tmp_path, Shape(candidates=names, users=(4,), duration_s=3, series=False))
    many = context_of(read_run(tmp_path))
    ratios = (1.025, 1.038, 1.026, 1.038)
    points = [
        {"users": 4, "candidate": name, "block": block, "value": value, "valid": True}
        for block, ratio in enumerate(ratios)
        for name, value in (("a", 100.0), ("b", 100.0 * ratio))
    ]
    lines = [
        {"users": 4, "candidate": "a", "value": 100.0},
        {"users": 4, "candidate": "b", "value": 103.2},
    ]
    alone = compare_title(_two_of(tmp_path / "two"), lines, points, "orders")
    assert alone.text == "At 4 users, b has 1.032 times the orders of a"
    title = compare_title(many, lines, points, "orders")
    assert title.text == "At 4 users, a and b are not distinguishable in orders"


def _two_of(root: Path) -> Context:
    shape = Shape(candidates=("a", "b"), users=(4,), duration_s=3, series=False)
    return context_of(read_run(build_run(root, shape).root))
