"""Response time against throughput: both from the files, joined from the lowest level up."""

import json
from functools import partial
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest

from stithy.report.figure import Absent, Figure
from stithy.report.figures.response_throughput import draw
from stithy.results.manifest import LimitFacts
from support.drawn import only_drawn, only_figure, rows_in
from support.sample_run import Shape, window_id
from support.worked_out import assert_told

OPEN = {"pace": "rate", "rate_per_s": 20.0, "arrivals": "poisson"}
LIMIT = LimitFacts(percentile="p99", transaction="payment", limit_s=0.2)


drawn = partial(only_drawn, draw)
figure = partial(only_figure, draw)


def windows(found: Figure) -> pl.DataFrame:
    """The rows of windows: those of levels have no block."""
    return found.table.frame.filter(pl.col("block").is_not_null())


def files(folder: Path, transaction: str, column: str) -> dict[str, tuple[float, float]]:
    """NOPM and a response time of every window, from the files."""
    found = {}
    for root in folder.glob("windows/*"):
        times = pl.read_parquet(root / "transactions.parquet").filter(transaction=transaction)
        nopm = pl.read_parquet(root / "window.parquet")["nopm"].item()
        found[root.name] = (nopm, times[column].item())
    return found


def test_every_window_stands_at_its_throughput_and_response_time(tmp_path: Path) -> None:
    """Without a limit that of the headline transaction, at the 95th percentile."""
    found = figure(tmp_path, Shape(repeat=2, duration_s=4, series=False))
    expected = files(tmp_path, "new-order", "response_p95_s")
    rows = {
        window_id(row["candidate"], row["users"], row["block"]): (row["nopm"], row["value"])
        for row in windows(found).to_dicts()
    }
    assert rows == expected
    points = [row for row in rows_in(found) if "block" in row]
    assert len(points) == 12
    for row in points:
        nopm, response_s = expected[window_id(row["candidate"], row["users"], row["block"])]
        assert row["nopm"] == pytest.approx(nopm, rel=1e-5)
        assert row["value"] == pytest.approx(1000 * response_s, rel=1e-5)


def test_levels_are_joined_by_their_users_and_not_from_left_to_right(tmp_path: Path) -> None:
    """So that a line which bends back is seen to."""
    back = {window_id("disk", 13, 0): {"nopm": 500.0}}
    found = figure(tmp_path, Shape(duration_s=4, series=False, changes=back))
    [line] = [each for each in found.spec["layer"] if each["mark"]["type"] == "line"]
    assert line["encoding"]["order"]["field"] == "users"
    assert found.title.startswith("Most new orders per minute, and their p95 of new-order: ")
    assert "on disk at 4 users" in found.title


def test_a_level_is_the_mean_of_its_valid_windows(tmp_path: Path) -> None:
    """Invalid ones are hollow and count for nothing."""
    broken = window_id("disk", 4, 1)
    shape = Shape(repeat=3, duration_s=4, series=False, changes={broken: {"errors": 5}})
    found = figure(tmp_path, shape)
    expected = files(tmp_path, "new-order", "response_p95_s")
    valid = [expected[window_id("disk", 4, block)][0] for block in (0, 2)]
    levels = [
        row
        for row in rows_in(found)
        if row.keys() == {"users", "candidate", "nopm", "value"}
        and (row["users"], row["candidate"]) == (4, "disk")
    ]
    assert [row["nopm"] for row in levels] == [pytest.approx(fmean(valid), rel=1e-5)]
    [told] = found.table.frame.filter(
        pl.col("block").is_null(), users=4, candidate="disk"
    ).to_dicts()
    assert told["nopm"] == pytest.approx(fmean(valid))
    assert windows(found)["valid"].to_list().count(False) == 1
    hollow = [each for each in found.spec["layer"] if each["mark"].get("filled") is False]
    assert len(hollow) == 1


def test_a_limit_says_what_is_measured_and_is_drawn(tmp_path: Path) -> None:
    """The title tells the throughput of the highest level that obeys it."""
    found = figure(tmp_path, Shape(duration_s=4, series=False, limit=LIMIT))
    expected = files(tmp_path, "payment", "response_p99_s")
    assert sorted(windows(found)["value"]) == sorted(value for _, value in expected.values())
    told: list[float] = [LIMIT.limit_s]
    for name in ("disk", "memory"):
        obeying = [
            users for users in (1, 4, 13) if expected[window_id(name, users, 0)][1] <= LIMIT.limit_s
        ]
        nopm = expected[window_id(name, max(obeying), 0)][0]
        assert f"{nopm:,.0f} on {name} ({max(obeying)} user" in found.title
        told += [nopm, max(obeying)]
    assert_told(found.title, told)
    assert "p99 of payment ≤ 200 ms" in found.title
    assert "limit 200" in json.dumps(found.spec["datasets"], ensure_ascii=False)
    assert "The broken line is the limit of the study for p99 of payment." in found.caption


def test_of_many_candidates_the_title_names_the_ends(tmp_path: Path) -> None:
    """And the drawing numbers the ends of their lines."""
    names = tuple(f"c{index}" for index in range(10))
    shape = Shape(candidates=names, users=(1, 2, 4), duration_s=4, series=False)
    found = figure(tmp_path, shape)
    assert found.title.endswith(", on the others between")
    assert sum(name in found.title for name in names) == 2
    [texts] = [each for each in found.spec["layer"] if each["mark"]["type"] == "text"]
    numbered = found.spec["datasets"][texts["data"]["name"]]
    assert {row["users"] for row in numbered} == {1, 4}
    assert len(numbered) < 20  # ten lines of two kinds lie on each other


def test_of_too_many_windows_the_ends_of_each_level_are_drawn(tmp_path: Path) -> None:
    """All are in the data."""
    shape = Shape(users=(1, 2, 4), repeat=41, duration_s=1, series=False)
    found = figure(tmp_path, shape)
    assert found.spec["usermeta"] == {"stithy": {"thinned": True}}
    assert windows(found).height == 246
    points = [row for row in rows_in(found) if "block" in row]
    assert len(points) <= 12


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (Shape(users=(4,), duration_s=4), "no candidate has valid windows at two levels"),
        (
            Shape(users=(1, 4), duration_s=4, load=OPEN),
            "at a rate the throughput is what was asked for",
        ),
        (
            Shape(
                candidates=("disk",), users=(1,), duration_s=4,
                changes={"w-disk-u1-b0": {"errors": 5}},
            ),
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
