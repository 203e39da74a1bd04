"""What users lose to backups, neighbours and whatever breaks follows from the rawest files.

A wrong number is found. The second ways are `tests/recompute/lost.py` and `broken.py`; runs that
vary users alone are in `test_recomputed`.
"""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from recompute import broken, lost
from recompute.files import Files, Row
from recompute.walk import Outcome, Table, of_json, of_markdown, of_tables
from stithy.results.layout import RunDirectory
from support.broken_runs import with_cuts, with_faults, with_moves
from support.lost_runs import with_backups, with_neighbour
from support.reported import write_undrawn_report


@pytest.fixture(
    scope="module", params=[with_backups, with_neighbour], ids=lambda made: made.__name__
)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A run of each scenario, and its report."""
    folder = tmp_path_factory.mktemp("lost")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(folder / "state"))
        root = request.param(folder / "run").root
    write_undrawn_report(root, ("md", "json"))
    return Files(root)


def _rows(files: Files, name: str) -> list[Row]:
    path = files.root / f"report/tables/{name}.parquet"
    return pl.read_parquet(path).to_dicts() if path.exists() else []


def test_sections_of_losses_follow(files: Files) -> None:
    """And each of a window's; what varies beside users leaves the rest out, and says so."""
    report = json.loads((files.root / "report.json").read_text())
    outcome = of_tables(files) + of_json(files, report)
    outcome += of_markdown(files, (files.root / "report.md").read_text())
    assert outcome.disagreements == []
    assert outcome.unexplained == []
    assert {lost.BEYOND_USERS} <= {*outcome.excused.values()}
    names = {place.removeprefix("tables/").removesuffix(".parquet") for place in outcome.checked}
    assert {"windows", "measured"} < names
    assert names & {"backup", "neighbours"}


def test_findings_of_losses_follow(files: Files) -> None:
    """Of each candidate the value and its interval; the point is a key."""
    rows = [row for row in _rows(files, "findings")
            if row["kind"] == "impact" and row["number"].startswith("of.")]  # fmt: skip
    assert len(rows) >= 12
    outcome, wrong = Outcome(), Outcome()
    Table(files, "findings", lost.finding).check(outcome, "findings", rows)
    assert outcome.disagreements == []
    changed = [{**row, "value": row["value"] * 1.001 + 1e-6} for row in rows]
    Table(files, "findings", lost.finding).check(wrong, "findings", changed)
    assert len(wrong.disagreements) == len(rows)


def test_a_wrong_number_of_such_a_section_is_found(files: Files) -> None:
    """One at a time, in the first row of each table."""
    tried = 0
    for name in {"backup", "neighbours", "measured"}:
        for key, value in next(iter(_rows(files, name)), {}).items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            outcome = Outcome()
            wrong = {**_rows(files, name)[0], key: value * 1.001 + 1e-6}
            Table(files, name, lost.TABLES[name]).check(outcome, name, [wrong])
            assert outcome.disagreements, (name, key)
            tried += 1
    assert tried > 12


BROKEN: Mapping[Callable[[Path], RunDirectory], set[str]] = {
    with_faults: {"windows", "compared", "lost", "count", "value", "low", "high", "lasted"},
    with_cuts: {"lost", "cuts", "unknown", "bound", "gone"},
    with_moves: {"lost", "lasted", "pause", "usual", "tables", "uncompared", "unproven"},
}
"""By what makes a run: the values that its sentences have."""


@pytest.mark.parametrize("make", BROKEN, ids=lambda made: made.__name__)
def test_sentences_of_what_broke_follow(
    make: Callable[[Path], RunDirectory], tmp_path: Path
) -> None:
    """And each of their values, altered alone, is found."""
    root = make(tmp_path / "run").root
    write_undrawn_report(root, ("md", "json"))
    files, report = Files(root), json.loads((root / "report.json").read_text())
    outcome = of_json(files, report)
    assert outcome.disagreements == []
    assert outcome.unexplained == []
    every = [said for section in report["sections"].values() for said in section["statements"]
             if broken.is_of(said)]  # fmt: skip
    altered = [(said, at, name) for said in every for at, values in enumerate(said["values"])
               for name, value in values.items()
               if isinstance(value, int | float) and not isinstance(value, bool)]  # fmt: skip
    assert {name for _, _, name in altered} == BROKEN[make]
    for said, at, name in altered:
        wrong = copy.deepcopy(said)
        wrong["values"][at][name] = wrong["values"][at][name] * 1.001 + 1e-6
        found = of_json(files, {"sections": {"answer": {"statements": [wrong]}}})
        assert found.disagreements, (said["text"], name)
