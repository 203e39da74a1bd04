"""Users within the limit: each level by the windows' own percentiles, read from the files."""

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from stithy.report.figure import Absent
from stithy.report.figures.within import draw
from stithy.results.manifest import LimitFacts
from support.drawn import all_drawn, only_figure
from support.sample_run import Shape, window_id
from support.worked_out import assert_told

LIMIT = LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1)


drawn = partial(all_drawn, draw)
figure = partial(only_figure, draw)


def p95_s(folder: Path, candidate: str, users: int, block: int = 0) -> float:
    """Of new-order in a window, from its file."""
    root = folder / "windows" / window_id(candidate, users, block)
    rows = pl.read_parquet(root / "transactions.parquet").filter(transaction="new-order")
    return float(rows["response_p95_s"].item())


def test_a_level_obeys_where_all_its_windows_do(tmp_path: Path) -> None:
    """And a candidate serves the highest below the first that does not."""
    levels = (1, 2, 4, 8, 13, 32)
    found = figure(tmp_path, Shape(users=levels, repeat=2, duration_s=4, series=False, limit=LIMIT))
    for name in ("disk", "memory"):
        rows = found.table.frame.filter(candidate=name).to_dicts()
        expected = [
            all(p95_s(tmp_path, name, users, block) <= 0.1 for block in (0, 1)) for users in levels
        ]
        assert [row["said"] == "obeys" for row in rows] == expected
        assert [row["obeyed"] + row["missed"] for row in rows] == [2] * len(levels)
        most = max(users for users, obeys in zip(levels, expected, strict=True) if obeys)
        assert [row["users"] for row in rows if row["serves"]] == [most]
        told = f"at least {most}" if most == max(levels) else f"{most}"
        assert f"{told} on {name}" in found.title
    assert found.title.startswith("Users within p95 of new-order ≤ 100 ms: ")
    served = found.table.frame.filter(pl.col("serves"))["users"].to_list()
    assert_told(found.title, [LIMIT.limit_s, *served])
    assert_told(found.caption, [LIMIT.limit_s])


def test_marks_are_filled_where_the_limit_is_obeyed_and_hollow_where_it_is_not(
    tmp_path: Path,
) -> None:
    """A cross where no valid window tells, and the caption says so."""
    broken = {window_id("disk", 4, 0): {"errors": 5}}
    shape = Shape(users=(1, 4, 32), duration_s=4, series=False, limit=LIMIT, changes=broken)
    found = figure(tmp_path, shape)
    marks = [each for each in found.spec["layer"] if each["mark"]["type"] == "point"]
    said = {
        row["said"]: each["mark"]
        for each in marks
        for row in found.spec["datasets"][each["data"]["name"]]
    }
    assert said["obeys"]["filled"] is True
    assert said["does not obey"]["filled"] is False
    assert "shape" in said["says nothing"]
    assert "a cross where no valid window tells" in found.caption


def test_of_many_candidates_the_title_tells_the_range(tmp_path: Path) -> None:
    """Each has its row all the same."""
    names = tuple(f"candidate-number-{index}-of-a-long-list-of-ten" for index in range(10))
    shape = Shape(candidates=names, users=(1, 4, 8), duration_s=4, series=False, limit=LIMIT)
    found = figure(tmp_path, shape)
    assert found.title.endswith(": from 4 to at least 8, by candidate")
    assert found.table.frame["candidate"].n_unique() == 10
    assert found.spec["height"] == 300


def test_without_a_limit_nothing_is_said(tmp_path: Path) -> None:
    """Nothing is missing of what the study did not ask."""
    assert drawn(tmp_path, Shape(users=(1, 4), duration_s=4, series=False)) == []


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (Shape(users=(4,), duration_s=4, limit=LIMIT), "only one level was measured"),
        (
            Shape(
                candidates=("disk",), users=(1,), duration_s=4, limit=LIMIT,
                changes={"w-disk-u1-b0": {"errors": 5}},
            ),
            "no valid window tells of it",
        ),
    ],
    ids=["one level", "invalid"],
)  # fmt: skip
def test_where_it_tells_nothing_it_says_why(tmp_path: Path, shape: Shape, because: str) -> None:
    """A single level is in the table of the candidates."""
    [found] = drawn(tmp_path, shape)
    assert isinstance(found, Absent)
    assert found.because == because
