"""Every number of a report follows from the run's rawest files, and a wrong one is found.

The second way is `tests/recompute/`, which knows nothing of the product's code; the run is made up,
a real one is asked by `benches/recomputed.py`.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recompute.files import Files, Row
from recompute.printed import shown
from recompute.walk import Outcome, of_json, of_markdown, of_tables
from stithy.results import tables
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.write import write_table
from support.reported import write_report
from support.sample_run import Shape, build_run, window_id
from support.server_work import with_server_work

SHAPE = Shape(
    users=(1, 4), duration_s=5, repeat=4, logs=True, ledger=True, drives={"disk": 0.0},
    limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1),
    costs={name: CostFacts(amount=100.0, currency="EUR") for name in ("disk", "memory")},
    changes={window_id("memory", 4, 1): {"errors": 1, "error_text": "deadlock detected"}},
)  # fmt: skip

Key = str | int


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A run with a limit, costs, ledgers, an emulated drive and an invalid window."""
    root = build_run(tmp_path_factory.mktemp("recomputed") / "run", SHAPE).root
    _without_waits(RunDirectory(root).window(window_id("disk", 4, 0)).table("series"))
    with_server_work(root)
    write_report(root, ("md", "json"))
    return Files(root)


def _without_waits(path: Path) -> None:
    """In one of a level's windows nobody waits for a lock: the mean of all counts it as 0."""
    calm = (pl.col("metric") == "waiting_backends") & (pl.col("subject") == "LWLock")
    value = pl.when(calm).then(0.0).otherwise(pl.col("value"))
    write_table(path, tables.SERIES, pl.read_parquet(path).with_columns(value=value).to_dicts())


@pytest.fixture(scope="module")
def report(files: Files) -> Row:
    """Its answer as JSON."""
    loaded: Row = json.loads((files.root / "report.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def text(files: Files) -> str:
    """Its report in Markdown."""
    return (files.root / "report.md").read_text()


def _assert_true(outcome: Outcome, least: int) -> None:
    assert outcome.disagreements == []
    assert outcome.unexplained == []
    assert outcome.checked.total() > least


def test_every_number_of_every_table_follows_from_the_files(files: Files) -> None:
    """Of the report and behind its figures, as Parquet and as CSV."""
    _assert_true(of_tables(files), 10_000)


def test_every_number_of_the_answer_as_json_follows_from_the_files(
    files: Files, report: Row
) -> None:
    """Those of its sentences, too."""
    _assert_true(of_json(files, report), 80)


def test_every_number_of_the_report_in_markdown_follows_from_the_files(
    files: Files, text: str
) -> None:
    """In its order of lines and cells."""
    _assert_true(of_markdown(files, text), 60)


def test_a_wrong_number_anywhere_in_the_json_is_found(files: Files, report: Row) -> None:
    """One at a time: each value by a per mille, each number of a text in its last digit."""
    places = list(_places(report, ()))
    assert len(places) > 80
    missed = [place for place in places if _is_true(of_json(files, _with(report, place)))]
    assert missed == []


def test_a_wrong_number_anywhere_in_the_markdown_is_found(files: Files, text: str) -> None:
    """One at a time, in its last digit."""
    found = [one.end for one in shown(text.partition("<details>")[0])]
    wrong = {end: _other_digit(text, end) for end in found}
    assert len(wrong) > 60
    missed = [text[end - 20 : end] for end in wrong if _is_true(of_markdown(files, wrong[end]))]
    assert missed == []


def test_a_row_that_is_missing_is_found(files: Files) -> None:
    """A table with too few rows has no wrong number."""
    from recompute.tables import TABLES
    from recompute.walk import Table

    outcome = Outcome()
    rows = files.rows(f"SELECT * FROM '{files.root}/report/tables/windows.parquet'")
    Table(files, "windows", TABLES["windows"]).walk(outcome, "windows", rows[1:])
    assert len(outcome.disagreements) == 1


def _is_true(outcome: Outcome) -> bool:
    return not outcome.disagreements and not outcome.unexplained


def _places(value: Any, path: tuple[Key, ...]) -> Iterator[tuple[tuple[Key, ...], int]]:
    """The way to each number; of a text also where in it the number ends."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(each, (*path, key))
    elif isinstance(value, str):
        for one in shown(value):
            yield path, one.end
    elif isinstance(value, int | float) and not isinstance(value, bool) and path != ("version",):
        yield path, 0


def _with(report: Row, place: tuple[tuple[Key, ...], int]) -> Row:
    """The report with another number there."""
    (*way, last), end = place
    made = copy.deepcopy(report)
    inner: Any = made
    for key in way:
        inner = inner[key]
    before = inner[last]
    inner[last] = _other_digit(before, end) if isinstance(before, str) else before * 1.001 + 1e-6
    return made


def _other_digit(text: str, end: int) -> str:
    """The text with another last digit in the number that ends there."""
    at = max(index for index in range(end) if text[index].isdigit())
    return f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
