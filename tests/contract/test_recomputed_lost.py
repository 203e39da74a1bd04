"""What users lose to backups and neighbours follows from the rawest files; a wrong one is found.

The second way is `tests/recompute/lost.py`; runs that vary users alone are in `test_recomputed`.
"""

import json

import polars as pl
import pytest

from recompute import lost
from recompute.files import Files, Row
from recompute.walk import Outcome, Table, of_json, of_markdown, of_tables
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
