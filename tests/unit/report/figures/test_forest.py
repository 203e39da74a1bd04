"""The forest plot: ratios worked out again from the files, nothing said beyond a verdict."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stithy.report.figure import Absent, Figure
from stithy.report.figures.forest import ROWS_MOST, draw
from stithy.results.manifest import QuestionFacts, SearchFacts
from support.drawn import only_drawn, only_figure, rows_in
from support.sample_run import Shape

QUESTION = QuestionFacts(users=4, metric="nopm", margin_share=0.05, blocks_least=4, blocks_most=20)


drawn = partial(only_drawn, draw)
figure = partial(only_figure, draw)


def rows(found: Figure) -> list[dict[str, Any]]:
    """The rows that are drawn, in their order."""
    numbered = {row["row"]: row for row in rows_in(found) if "row" in row}
    return [numbered[index] for index in sorted(numbered)]


def test_the_question_is_first_and_its_metric_goes_on_from_the_highest_level(
    tmp_path: Path,
) -> None:
    """Then come the other metrics at the level of the question."""
    found = figure(tmp_path, Shape(repeat=4, primary=QUESTION, duration_s=20))
    told = [(row["metric"], row["primary"]) for row in rows(found)]
    assert told[:3] == [
        ("NOPM, 4 users", True), ("NOPM, 13 users", False), ("NOPM, 1 user", False),
    ]  # fmt: skip
    assert all(metric.endswith(", 4 users") for metric, _ in told[3:])
    assert found.title == "NOPM at 4 users: memory is better than disk"
    assert rows(found)[0]["verdict"] == "better"


def test_without_an_interval_a_point_is_hollow_and_nothing_is_decided(tmp_path: Path) -> None:
    """One block each: a ratio, and no verdict."""
    found = figure(tmp_path, Shape(repeat=1, duration_s=4))
    assert {row["verdict"] for row in rows(found)} == {"not tested"}
    assert all(row["low"] is None for row in rows(found))
    points = [each["mark"] for each in found.spec["layer"] if each["mark"]["type"] == "point"]
    assert points
    assert all(mark["filled"] is False for mark in points)
    assert "Hollow marks have one block and no interval." in found.caption
    assert found.title == "NOPM at 13 users: undecided between disk and memory"


def test_a_bar_is_cut_where_it_would_flatten_all_others_and_the_caption_says_so(
    tmp_path: Path,
) -> None:
    """A plain interval of two blocks may reach very far; its numbers stay in the data."""
    wild = {f"w-disk-u1-b{block}": {"nopm": 1000.0 + 4000 * block} for block in (0, 1)}
    found = figure(tmp_path, Shape(users=(1,), repeat=2, changes=wild, duration_s=4))
    [kept] = found.table.frame.filter(metric="NOPM").to_dicts()
    [only] = [row for row in rows(found) if row["metric"].startswith("NOPM")]
    assert kept["low"] < only["low"]
    assert "A bar that ends at the edge goes on beyond it." in found.caption


def test_many_candidates_at_many_levels_fit_on_a_screen(tmp_path: Path) -> None:
    """What has no row is in the data, and the caption counts it."""
    names = tuple(f"candidate-number-{index}-of-ten" for index in range(10))
    asked = QUESTION.model_copy(update={"users": 8})
    shape = Shape(
        candidates=names, users=(1, 2, 4, 8), repeat=1, duration_s=20, series=False, primary=asked
    )
    found = figure(tmp_path, shape)
    assert len(rows(found)) <= ROWS_MOST
    frame = found.table.frame
    assert frame["drawn"].sum() == len(rows(found))
    assert f"{frame.height - len(rows(found))} further comparisons are in the data" in found.caption
    assert frame.filter(metric="NOPM").height == 1 + 9 * 4
    assert all(len(row["pair"]) <= 23 for row in rows(found))


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (Shape(candidates=("disk",), users=(1,), duration_s=4), "there is no second candidate"),
        (
            Shape(
                users=(1,), duration_s=4,
                search=SearchFacts(
                    percentile="p95", transaction="all", limit_s=1.0, users_least=1,
                    users_most=4, alone=True,
                ),
            ),
            "a search has no intervals",
        ),
        (
            Shape(users=(1,), duration_s=4, changes={"w-disk-u1-b0": {"errors": 5}}),
            "no block has valid windows of two candidates",
        ),
    ],
    ids=["alone", "searched", "invalid"],
)  # fmt: skip
def test_where_nothing_is_compared_it_says_why(tmp_path: Path, shape: Shape, because: str) -> None:
    """No plot of nothing."""
    found = drawn(tmp_path, shape)
    assert isinstance(found, Absent)
    assert found.because == because
