"""Every cell of the tables on the first screen follows from the run's Parquet files.

Read from the page as it is printed, cell by cell, and held against values that DuckDB and plain
Python work out of the files. A table that comes to stand there without a check fails.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean

import pytest

from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.report.page import build, render
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.read import read_run
from support.html_page import PrintedTable, read_page
from support.plain_sql import rows
from support.sample_run import Shape, build_run, window_id
from support.sample_thresholds import thresholds
from support.worked_out import (
    level_mean,
    level_time_s,
    of_windows,
    printed_time_s,
    ratio_of,
    sampled,
    tells,
    times_of,
    weighted_s,
)

Cell = str | float | None
Cells = list[list[Cell]]

LIMIT = LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1)
SHAPE = Shape(
    repeat=3,
    changes={window_id("memory", 1, 0): {"errors": 1}},
    limit=LIMIT,
    costs={"disk": CostFacts(amount=1200, currency="EUR")},
    thresholds=thresholds(
        "disk.nopm_at_13 >= 5000", "memory.p95_at_4 <= 1 ms",
        "2 * disk.tpm_at_4 <= memory.tpm_at_4",
    ),
)  # fmt: skip
TOP = max(SHAPE.users)
DASH = "–"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two candidates, three levels and three blocks, with an invalid window."""
    return build_run(tmp_path_factory.mktemp("tables") / "run", SHAPE).root


@pytest.fixture(scope="module")
def html(root: Path) -> str:
    """Its page, without the drawings."""
    page = build(context_of(read_run(root)))
    return render(page, dict.fromkeys((each.name for each in page.figures), ""))


@pytest.fixture(scope="module")
def first_screen(html: str) -> Mapping[str, PrintedTable]:
    """The tables above the first section, by name; those of figures are data of what is drawn."""
    whole = html[html.index('<header id="answer">') : html.index("</header>")]
    without_figures = re.sub(r"<figure.*?</figure>", "", whole, flags=re.DOTALL)
    return {each.name: each for each in read_page(without_figures).tables}


def _summary(root: Path) -> Cells:
    """Level by level: NOPM of both, the ratio with its interval, p95 of both."""
    found: Cells = []
    for users in SHAPE.users:
        disk, memory = (of_windows(root, "nopm", users, name) for name in SHAPE.candidates)
        whole = disk[len(disk) - len(memory) :]  # block 0 of memory is invalid at the lowest level
        nopm = [level_mean(root, "nopm", users, name) for name in SHAPE.candidates]
        p95_s = [printed_time_s(root, "p95", users, name) for name in SHAPE.candidates]
        found.append([users, *nopm, *ratio_of(memory, whole), *p95_s])
    return found


def _candidates(root: Path) -> Cells:
    """What each did at the level of the question, whom it serves, and what that costs."""
    rows_found: Cells = []
    for name in SHAPE.candidates:
        at_top = [printed_time_s(root, each, TOP, name) for each in ("p95", "p99")]
        obeying = [
            users
            for users in SHAPE.users
            if max(times_of(root, "p95", users, name, "new-order")) <= LIMIT.limit_s
        ]
        later = [users for users in SHAPE.users if users not in obeying]
        within = f"{max(obeying)}, not {later[0]}" if later else f"at least {max(obeying)}"
        nopm = level_mean(root, "nopm", TOP, name)
        cost: list[Cell] = ["1,200 EUR", 1200 / nopm] if name == "disk" else [None, None]
        rows_found.append([name, nopm, *at_top, within, *cost])
    return rows_found


def _devices(root: Path) -> Cells:
    """Requests of each kind that the kernel counted, and how long they took."""
    assert sampled(root, TOP, "memory", "collector = 'block'") == []
    kinds = {"read": "reads", "write": "writes", "flush": "flushes"}
    return [
        ["disk", each, _rate(root, f"{kinds[each]}_per_s"),
         fmean(weighted_s(root, TOP, "disk", each))]
        for each in kinds
    ]  # fmt: skip


def _rate(root: Path, metric: str) -> float:
    """The mean of a metric of the block device of disk over its windows."""
    query = (
        f"SELECT AVG(value) FROM measured WHERE metric = '{metric}' AND collector = 'block' "
        f"AND users = {TOP} AND candidate = 'disk' GROUP BY block ORDER BY block"
    )
    return fmean(row[0] for row in rows(root, query))


def _thresholds(root: Path) -> Cells:
    """Outcome, text, and both sides in their unit; times are told by the number and its unit."""
    nopm, p95_s = level_mean(root, "nopm", TOP, "disk"), level_time_s(root, "p95", 4, "memory")
    tpm = {name: level_mean(root, "tpm", 4, name) for name in SHAPE.candidates}
    met = {True: "✓ met", False: "✗ not met"}
    return [
        [met[nopm >= 5000], "disk.nopm_at_13 >= 5000", nopm, 5000.0],
        [met[p95_s <= 0.001], "memory.p95_at_4 <= 1 ms", p95_s, 0.001],
        [met[2 * tpm["disk"] <= tpm["memory"]], "2 * disk.tpm_at_4 <= memory.tpm_at_4",
         2 * tpm["disk"], tpm["memory"]],
    ]  # fmt: skip


TABLES: Mapping[str, Callable[[Path], Cells]] = {
    "summary": _summary,
    "candidates": _candidates,
    "devices": _devices,
    "thresholds": _thresholds,
}


def test_every_table_of_the_first_screen_is_checked(
    first_screen: Mapping[str, PrintedTable],
) -> None:
    """Whoever puts another there, adds its numbers."""
    assert set(first_screen) == set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_follows_from_the_files(
    name: str, root: Path, first_screen: Mapping[str, PrintedTable]
) -> None:
    """Words as they are, numbers as they are rounded, a dash where there is none."""
    expected = TABLES[name](root)
    printed = first_screen[name].rows
    assert [len(row) for row in printed] == [len(row) for row in expected]
    for row, values in zip(printed, expected, strict=True):
        for (text, _), value in zip(row, values, strict=True):
            shown = text.removesuffix("/min")
            if isinstance(value, str) or value is None:
                assert text == (DASH if value is None else value)
            else:
                assert tells(shown, value), (row[0][0], text, value)


def test_the_verdicts_hold_the_intervals_of_the_files(html: str, root: Path) -> None:
    """Ratio and bounds of each comparison by NOPM, and how many blocks it rests on."""
    [verdicts] = [table for table in read_page(html).tables if table.name == "verdicts"]
    by_nopm = [[text for text, _ in row] for row in verdicts.rows if row[1][0] == "NOPM"]
    assert {row[2] for row in by_nopm} == {str(users) for users in SHAPE.users}
    for row in by_nopm:
        disk, memory = (of_windows(root, "nopm", int(row[2]), name) for name in SHAPE.candidates)
        ratio, low, high = ratio_of(memory, disk[len(disk) - len(memory) :])
        shown = row[3:7]
        assert all(map(tells, shown, (ratio, low, high, len(memory)))), (row, ratio, low, high)


def test_the_answer_for_programs_has_the_same_numbers(root: Path) -> None:
    """With all digits, level by level."""
    page = build(context_of(read_run(root)))
    told = json.loads(plugins("format")["json"].make(page, {}))
    for row, expected in zip(told["summary"], _summary(root), strict=True):
        names = ("users", "nopm:disk", "nopm:memory", "ratio:memory")
        assert [row[name] for name in names] == pytest.approx(expected[:4], rel=1e-9)
    assert rows(root, "SELECT COUNT(*) FROM win WHERE errors > 0") == [(1,)]
