"""Response time against throughput; its numbers are proven by `tests/recompute`."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.report.figure import Absent, Figure
from stithy.report.figures.response_throughput import draw
from stithy.results.manifest import LimitFacts
from support.drawn import only_drawn, only_figure, rows_in
from support.sample_run import Shape, window_id

OPEN = {"pace": "rate", "rate_per_s": 20.0, "arrivals": "poisson"}
LIMIT = LimitFacts(percentile="p50", transaction="payment", limit_s=0.2)
"""A median needs 200 values, which windows of some seconds have."""

drawn = partial(only_drawn, draw)
figure = partial(only_figure, draw)


def windows(found: Figure) -> pl.DataFrame:
    """The rows of windows: those of levels have no block."""
    return found.table.frame.filter(pl.col("block").is_not_null())


def test_levels_are_joined_by_their_users_and_windows_stand_beside_them(tmp_path: Path) -> None:
    """A line that bends back is seen to; invalid windows are hollow; the limit is drawn."""
    changes: dict[str, dict[str, Any]] = {
        window_id("disk", 13, 0): {"nopm": 500.0}, window_id("disk", 4, 1): {"errors": 5},
    }  # fmt: skip
    shape = Shape(
        users=(4, 13), repeat=2, duration_s=12, series=False, limit=LIMIT, changes=changes
    )
    found = figure(tmp_path, shape)
    [line] = [each for each in found.spec["layer"] if each["mark"].get("strokeWidth") == 2]
    assert line["encoding"]["order"]["field"] == "users"
    assert windows(found)["valid"].to_list().count(False) == 1
    hollow = [each for each in found.spec["layer"] if each["mark"].get("filled") is False]
    assert len(hollow) == 1
    assert found.title.startswith("New orders per minute with p50 of payment ≤ 200 ms: ")
    assert "limit 200" in json.dumps(found.spec["datasets"], ensure_ascii=False)


def test_no_percentile_is_drawn_that_too_few_values_bear(tmp_path: Path) -> None:
    """A window with fewer than 100 values beyond has no mark, nor has such a level."""
    shape = Shape(users=(1, 4, 13), duration_s=9, series=False, limit=LIMIT)
    found = figure(tmp_path / "some", shape)
    disk = windows(found).filter(candidate="disk")
    assert disk["users"].to_list() == [4, 13]
    assert {each["users"] for each in rows_in(found) if each.get("candidate") == "disk"} == {4, 13}
    nothing = drawn(tmp_path / "none", Shape(users=(4, 13), duration_s=4, series=False))
    assert isinstance(nothing, Absent)
    assert nothing.because == (
        "fewer than 100 values lie beyond the p95 of new-order at every level"
    )


def test_of_many_candidates_and_windows_the_ends_are_drawn(tmp_path: Path) -> None:
    """The title names the ends of ten candidates; all windows are in the data."""
    names = tuple(f"c{index}" for index in range(10))
    shape = Shape(
        candidates=names, users=(4, 8, 13), repeat=9, duration_s=6, series=False, limit=LIMIT,
    )  # fmt: skip
    found = figure(tmp_path, shape)
    assert found.title.endswith(", on the others between")
    assert sum(name in found.title for name in names) == 2
    assert found.spec["usermeta"] == {"stithy": {"thinned": True}}
    assert windows(found).height == 270
    assert len([row for row in rows_in(found) if "block" in row]) <= 60
    texts = [each for each in found.spec["layer"] if each["mark"]["type"] == "text"]
    rows = [row for each in texts for row in found.spec["datasets"][each["data"]["name"]]]
    assert {row["users"] for row in rows if "users" in row} <= {4, 13}


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (
            Shape(users=(4,), duration_s=12, limit=LIMIT),
            "no candidate has valid windows at two levels",
        ),
        (Shape(users=(1, 4), load=OPEN), "at a rate the throughput is what was asked for"),
        (
            Shape(candidates=("disk",), users=(1,), changes={"w-disk-u1-b0": {"errors": 5}}),
            "no valid window has both",
        ),
    ],
    ids=["one level", "open loop", "invalid"],
)  # fmt: skip
def test_where_it_tells_nothing_it_says_why(tmp_path: Path, shape: Shape, because: str) -> None:
    """No curve of a single point, and none where throughput was given."""
    found = drawn(tmp_path, shape)
    assert isinstance(found, Absent)
    assert found.because == because
