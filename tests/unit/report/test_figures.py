"""Figures: what each draws of which run, and titles that claim no more than the windows support."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.point import Point
from stithy.report.blocks import Absent, Figure
from stithy.report.drawing.annotations import explain_caps, make_cap_lines
from stithy.report.drawing.compose import add_spans, estimate_spans, explain_bars
from stithy.report.drawing.ratios import Scale, find_ratio_domain, list_ratio_ticks
from stithy.report.drawing.titles import compare_title
from stithy.report.figures.forest import ROWS_MOST
from stithy.results.layout import write_with_checksum
from stithy.results.manifest import LimitFacts, QuestionFacts, SearchFacts
from support.drawn import context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape, build_run, window_id

Row = dict[str, Any]

QUESTION = QuestionFacts(
    point=Point.of(users=4), metric="nopm", margin_share=0.05, blocks_least=4, blocks_most=8
)
SEARCH = SearchFacts(
    percentile="p95", transaction="all", limit_s=1.0, users_least=1, users_most=4, alone=True
)
LIMIT = LimitFacts(percentile="p50", transaction="payment", limit_s=0.2)
"""A median needs 200 values, which windows of some seconds have."""
BROKEN = {"errors": 5}


def figure(family: str, folder: Path, **shape: Any) -> Any:
    """What a family draws first of a short run of this shape, or why it does not."""
    usual = {"users": (4,), "duration_s": 4, "series": False, **shape}
    return draw_all(family, context_built(folder, Shape(**usual)))[0]


@pytest.mark.parametrize(("families", "shape", "because"), [
    ("verdict-by-block forest", {"candidates": ("disk",)}, "there is no second candidate"),
    ("verdict-by-block forest", {"search": SEARCH}, "a search has no intervals"),
    ("verdict-by-block forest", {"changes": {"w-disk-u4-b0": BROKEN}},
     "no block has valid windows of two candidates"),
    ("verdict-by-block", {"repeat": 3}, "3 blocks cannot give a verdict: at least 4 are needed"),
    ("response-throughput", {"duration_s": 12, "limit": LIMIT},
     "no candidate has valid windows at two levels"),
    ("response-throughput", {"load": {"pace": "rate", "rate_per_s": 20.0}},
     "in an open loop the study sets the throughput"),
    ("response-throughput", {"candidates": ("disk",), "changes": {"w-disk-u4-b0": BROKEN}},
     "no valid window has both a response time and a throughput"),
    ("response-throughput", {"users": (4, 13)},
     "fewer than 100 values lie beyond the p95 of new-order at every level"),
])  # fmt: skip
def test_no_figure_of_nothing(tmp_path: Path, families: str, shape: Row, because: str) -> None:
    """No plot of nothing."""
    for family in families.split():
        found = figure(family, tmp_path / family, **shape)
        assert isinstance(found, Absent)
        assert found.because == because


def test_cpus_are_those_of_a_server_only_where_it_runs_on_this_machine(tmp_path: Path) -> None:
    """A server by URL may be elsewhere."""
    here = context_built(tmp_path, Shape(users=(4,), duration_s=4))
    assert here.manifest is not None
    database = here.manifest.database.model_copy(update={"by_url": True})
    manifest = here.manifest.model_copy(update={"given_database": database})
    by_url = replace(here, run=replace(here.run, manifest=manifest))
    captions = [draw_one("cpu-by-users", each).caption for each in (here, by_url)]
    assert [caption.partition("It includes ")[2] for caption in captions] == [
        "the driver, the server and all other programs.", "the driver and all other programs.",
    ]  # fmt: skip


def done(levels: Mapping[int, Sequence[float]]) -> Row:
    """Memory did so many times what disk did in each block of a level."""
    return {
        window_id(name, users, block): {
            "headline_per_min": 1000.0 * (ratio if name == "memory" else 1.0)
        }
        for users, ratios in levels.items() for block, ratio in enumerate(ratios)
        for name in ("disk", "memory")
    }  # fmt: skip


def blocks(folder: Path, ratios: list[float]) -> Any:
    """How the verdict came about."""
    changes = done({4: ratios})
    return figure("verdict-by-block", folder, repeat=len(ratios), primary=QUESTION, changes=changes)


def test_a_verdict_says_since_when_it_stands_and_what_is_in_its_way(tmp_path: Path) -> None:
    """1.020 is not beyond 1.020; a large effect does not press the boundary to the line of 1."""
    found = blocks(tmp_path / "8", [1.10, 1.11] * 4)
    assert found.title == "Decided by 4 of 8 blocks: memory is better than disk"
    found = blocks(tmp_path / "5", [1.3, 0.8, 1.4, 0.9, 1.2])
    assert found.title == "After 5 blocks it is undecided between disk and memory"
    assert "not within the margin" in found.caption
    edge = 5.54 * 1.3 * 0.01 * math.sqrt(4 / 3) / 2 * 0.9999
    found = blocks(tmp_path / "4", [math.exp(edge + 0.01 * (-1) ** n) for n in range(4)])
    reported = r"the mean was (\S+), not beyond the boundary of ([\d.]+),"
    [(mean, boundary)] = re.findall(reported, found.caption)
    assert float(mean) < float(boundary)
    for ratios, kind in (([3.0, 3.1, 3.05, 3.1], "symlog"), ([1.1, 1.2, 1.05, 1.1], "linear")):
        found = blocks(tmp_path / kind, ratios)
        axes = [each["encoding"]["y"] for each in found.spec["layer"]]
        scales = [axis["scale"] for axis in axes if "scale" in axis]
        assert {scale["type"] for scale in scales} == {kind}
        assert ("stretched near 1" in found.caption) is (kind == "symlog")
        assert all(s["domain"][0] < 0 < math.log(ratios[1]) < s["domain"][1] for s in scales)


def test_a_title_claims_no_difference_that_the_verdict_does_not(tmp_path: Path) -> None:
    """Each level by itself shows one, among seven none is borne; one window each is only close."""
    slight = (1.030, 1.046, 1.016, 1.024, 1.040, 1.020)
    nothing = (1.03, 0.97, 1.02, 0.98, 1.04, 0.96)
    levels = tuple(range(1, 8))
    changes = done({1: slight, **dict.fromkeys(levels[1:], nothing)})
    found = figure("throughput-ratio", tmp_path / "6", users=levels, repeat=6, changes=changes)
    assert found.title == "memory and disk are not distinguishable at any level"
    assert found.table.frame.filter(users=1)["low"].item() > 1
    close = done(dict.fromkeys(levels, (1.004,)))
    found = figure("throughput-ratio", tmp_path / "1", users=levels, changes=close)
    assert found.title == "memory and disk are close at every level"


def forest_rows(found: Figure) -> list[Row]:
    """The rows of a forest plot in their order."""
    numbered = {row["row"]: row for row in rows_in(found) if "row" in row}
    return [numbered[index] for index in sorted(numbered)]


def test_a_forest_begins_with_the_question(tmp_path: Path) -> None:
    """Then come the other metrics at its level; a point without an interval decides nothing."""
    shape: Row = {"users": (1, 4, 13), "duration_s": 20}
    found = figure("forest", tmp_path / "4", repeat=4, primary=QUESTION, **shape)
    reported = [(row["metric"], row["primary"]) for row in forest_rows(found)]
    assert reported[:3] == [
        ("NOPM, 4 users", True), ("NOPM, 13 users", False), ("NOPM, 1 user", False),
    ]  # fmt: skip
    assert all(metric.endswith(", 4 users") for metric, _ in reported[3:])
    assert found.title == "NOPM at 4 users: memory is better than disk"
    assert forest_rows(found)[0]["verdict"] == "better"
    found = figure("forest", tmp_path / "1", repeat=1, **shape)
    assert {(row["verdict"], row["low"]) for row in forest_rows(found)} == {("not tested", None)}
    marks = [each["mark"] for each in found.spec["layer"] if each["mark"]["type"] == "point"]
    assert [mark["filled"] for mark in marks] == [False] * len(marks) != []
    assert found.title == "NOPM at 13 users: memory against disk, not tested"


def test_what_a_forest_cannot_draw_stays_in_the_data(tmp_path: Path) -> None:
    """A bar that would flatten all others; rows of many candidates at many levels."""
    wild = {f"w-disk-u4-b{block}": {"headline_per_min": 1000.0 + 4000 * block} for block in (0, 1)}
    found = figure("forest", tmp_path / "wild", repeat=2, changes=wild)
    [kept] = found.table.frame.filter(metric="NOPM").to_dicts()
    assert kept["low"] < forest_rows(found)[0]["low"]
    assert "A bar that ends at the edge continues beyond it." in found.caption
    names = tuple(f"candidate-number-{index}-of-ten" for index in range(10))
    found = figure("forest", tmp_path / "many", candidates=names, users=(1, 2, 4, 8))
    rows, frame = forest_rows(found), found.table.frame
    assert frame["drawn"].sum() == len(rows) <= ROWS_MOST
    assert f"{frame.height - len(rows)} further comparisons are in the data" in found.caption
    assert frame.filter(metric="NOPM").height >= 9 * 4


def test_response_against_throughput_joins_levels_by_their_users(tmp_path: Path) -> None:
    """Invalid windows are hollow, too few values are no mark, of many the ends are drawn."""
    changes = {
        window_id("disk", 13, 0): {"headline_per_min": 500.0},
        window_id("disk", 4, 1): BROKEN,
    }
    shape: Row = {"users": (1, 4, 13), "duration_s": 9, "limit": LIMIT}
    found = figure("response-throughput", tmp_path / "a", repeat=2, changes=changes, **shape)
    windows = found.table.frame.filter(pl.col("block").is_not_null())
    [line] = [each for each in found.spec["layer"] if each["mark"].get("strokeWidth") == 2]
    assert line["encoding"]["order"]["field"] == "level"
    assert windows["valid"].to_list().count(False) == 1
    assert [each["mark"].get("filled") for each in found.spec["layer"]].count(False) == 1
    assert {*windows.filter(candidate="disk")["users"]} == {4, 13}
    assert found.title.startswith("New orders per minute with p50 of payment ≤ 200 ms: ")
    assert "target 200" in json.dumps(found.spec["datasets"], ensure_ascii=False)
    names = tuple(f"c{index}" for index in range(10))
    shape = {"candidates": names, "users": (4, 8, 13), "duration_s": 6, "series": False}
    one = context_built(tmp_path / "b", Shape(**shape, limit=LIMIT))
    windows = (
        replace(window, row={**window.row, "block": block})
        for block in range(9) for window in one.evidence.windows
    )  # fmt: skip
    many = replace(one, evidence=replace(one.evidence, windows=tuple(windows)))
    found = draw_one("response-throughput", many)
    assert sum(name in found.title for name in names) == 2
    assert found.spec["usermeta"] == {"stithy": {"thinned": True}}
    assert found.table.frame.filter(pl.col("block").is_not_null()).height == 270
    assert len([row for row in rows_in(found) if "block" in row]) <= 60


def test_seconds_show_the_median_block_and_flagged_windows(tmp_path: Path) -> None:
    """Each attempt has a line of its own; a note that all have brings none; the rest is counted."""
    both = ("disk", "memory")
    changes: dict[str, Row] = {
        window_id(name, 4, block): {"headline_per_min": value, "maintenance_runs": 1}
        for block, value in enumerate((100.0, 400.0, 200.0, 300.0)) for name in both
    }  # fmt: skip
    changes[window_id("memory", 4, 1)]["checkpoints_inside"] = 0
    found = figure("seconds", tmp_path / "a", repeat=4, changes=changes)
    assert {row["block"] for row in rows_in(found) if "again" in row} == {1, 2}
    assert {*found.table.frame["block"]} == {0, 1, 2, 3}
    assert "Every second of block 2, the median of 4 in new orders per minute" in found.caption
    assert "flagged windows: block 1 of memory (too short for a checkpoint)." in found.caption
    names = [window_id(name, 4, block) for name in both for block in range(5)]
    late = {name: {"lateness_mean_s": 1.0} for name in [*names[:9], "w-disk-u4-b0-again"]}
    found = figure("seconds", tmp_path / "b", repeat=5, changes=late, again=frozenset({(4, 0)}))
    lines = [row for row in rows_in(found) if "again" in row]
    assert {(0, False), (0, True)} <= {(row["block"], row["again"]) for row in lines}
    assert re.search(r" \d more are in the data only\.", found.caption)


@pytest.mark.parametrize(("caps", "scale", "reached", "value", "said"), [
    ("read_iops = 8000", 8.0, 400.0, 1000.0, ""),
    ("read_iops = 8000\nwrite_bytes_per_s = 800_000_000", 1.0, 300.0, None, "8,000 reads"),
    ("", 8.0, 1e9, None, ""),
])  # fmt: skip
def test_a_limit_of_a_drive_near_to_what_was_reached_is_drawn(
    tmp_path: Path, caps: str, scale: float, reached: float, value: float | None, said: str
) -> None:
    """Divided by the scale; one far above would press all points to the axis, and is reported."""
    path = build_run(tmp_path, Shape(users=(1, 13), drives={"disk": 0.0})).manifest
    manifest = json.loads(path.read_text())
    facts = manifest["candidates"][0]["drives"][0]
    facts |= {"profile": f"{facts['profile']}[cap]\n{caps}\n", "scale": scale}
    write_with_checksum(path, json.dumps(manifest).encode())
    context = context_built(tmp_path)
    lines = make_cap_lines(context, "read_iops", reached)
    assert [line.value for line in lines] == ([value] if value else [])
    rate = draw_one("device-rate", context)
    assert said in rate.caption
    assert bool(explain_caps(context, ["read_iops"])) is bool(caps)
    assert [row["value"] for row in rows_in(rate) if "limit" in row] == ([value] if value else [])


def points(**values: list[float]) -> list[Row]:
    """A valid window of each candidate for each value, a block each."""
    return [
        {"level": 4, "users": 4, "candidate": name, "block": block, "value": value,
        "valid": True, "device": ""}
        for name, each in values.items() for block, value in enumerate(each)
    ]  # fmt: skip


@pytest.mark.parametrize(("disk", "memory", "shown", "title"), [
    (10, 31, points(disk=[10], memory=[31]), "memory has 3.1 times disk's orders"),
    (31, 10, points(disk=[31], memory=[10]), "memory has 0.32 times disk's orders"),
    (23.3, 26.7, points(disk=[10, 40, 20], memory=[30, 15, 35]),
     "disk and memory are not distinguishable in orders"),
    (10, 31, [*points(disk=[10]), *points(memory=[9, 31])[1:]],
     "Orders at 4 users: 10 on disk and 31 on memory"),
    (360, 2.1, points(disk=[360], memory=[2.1]),
     "Orders at 4 users: 360 on disk and 2.1 on memory"),
    (10, 31, points(disk=[30, 30, 30, 31], memory=[10, 10, 10, 10.4]),
     "memory has 0.33 times disk's orders"),
    (1000, None, [], "Orders: 1,000 at 1 user and 1,000 at 4 users with disk"),
    (None, None, [], "Orders against virtual users"),
])  # fmt: skip
def test_titles_claim_what_blocks_tell(
    tmp_path: Path, disk: Any, memory: Any, shown: list[Row], title: str
) -> None:
    """The second candidate against the first; without a common block, or a readable ratio, both."""
    lines: list[Row] = [
        {"level": users, "users": users, "candidate": name, "value": value}
        for users in ((4,) if memory else (1, 4))
        for name, value in (("disk", disk), ("memory", memory)) if value is not None
    ]  # fmt: skip
    two = context_built(tmp_path, Shape(users=(1, 4), duration_s=3, series=False))
    reported = compare_title(two, lines, shown, "orders").text
    assert reported.removeprefix("At 4 users, ") == title


def test_bars_are_intervals_of_three_valid_blocks_or_more() -> None:
    """10, 20, 30: 20 ± 4.303 · 10/√3, no rate below 0; of several devices the busiest counts."""
    three = points(disk=[10.0, 20.0, 30.0])
    [row] = estimate_spans(three, log=False)
    assert (row["low"], row["high"]) == (0.0, pytest.approx(20 + 4.302652730 * 10 / math.sqrt(3)))
    assert estimate_spans([{**each, "valid": False} for each in three], log=False) == []
    assert estimate_spans(three[:2], log=False) == []
    assert (explain_bars(three[:2]), explain_bars(three)[:25]) == ("", " Bars are plain 95 % t in")
    less = [{**point, "device": "b"} for point in points(disk=[1.0, 2.0, 3.0])]
    assert estimate_spans([*less, *three], log=False) == estimate_spans(three, log=False)
    values = [row["value"] for row in add_spans(three, log=True)]
    assert 0 < min(values) < 10 < 30 < max(values)


@pytest.mark.parametrize("values", [[], [1.0], [0.02, 50.0], [1.001, 0.999], [3.0], [0.4, None]])
def test_an_axis_of_ratios_holds_1_and_all_in_their_order(values: list[float | None]) -> None:
    """A tick at 1; stretched, what is near 1 has room and what is inverse stands as far off."""
    ends, known = find_ratio_domain(values), sorted(each for each in values if each is not None)
    assert all(ends[0] < value < ends[1] for value in (1, *known))
    assert all(ends[0] <= tick <= ends[1] for tick in list_ratio_ticks(ends))
    plain, scale = Scale(ends), Scale(ends, math.log(1.05))
    assert 1.0 in {*list_ratio_ticks(ends)} & {*scale.ticks()}
    places = [scale.place(value) for value in known]
    assert places == sorted(places)
    assert [-place for place in places] == pytest.approx(
        [scale.place(1 / value) for value in known]
    )
    if ends[1] > 3:
        assert plain.place(1.05) / plain.place(3.0) < 0.05
        assert scale.place(1.05) / scale.place(3.0) > 0.2
