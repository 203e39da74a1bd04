"""Results of version 1, of which an old run is kept: all of it is read, and nothing is made up."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from stithy.results import migrate
from stithy.results.frames import schema
from stithy.results.manifest import SCHEMA_VERSION
from stithy.results.migrate import v1_to_v2
from stithy.results.read import Run, read_run
from stithy.results.tables import HISTOGRAMS, TABLES
from support.reported import write_report


@pytest.fixture
def old(root: Path, tmp_path: Path) -> Path:
    """A copy of the old run."""
    return Path(shutil.copytree(root / "tests/data/results/v1", tmp_path / "v1"))


def _frames(run: Run) -> dict[str, pl.DataFrame]:
    there = {table.name: getattr(run, table.name) for table in TABLES if table is not HISTOGRAMS}
    return {**there, "seconds": run.seconds_by_type}


def test_the_old_run_is_read_without_a_problem(old: Path) -> None:
    """With the tables and columns of today; it keeps the number of its version."""
    run = read_run(old)
    assert run.problems == ()
    assert run.manifest is not None
    assert run.manifest.schema_version == 1
    frames = _frames(run)
    for table in TABLES:
        assert table is HISTOGRAMS or frames[table.name].schema == schema(table)
    assert all(frames[name].is_empty() for name in v1_to_v2.NEW_TABLES if name in frames)


def test_every_value_of_the_old_run_is_the_one_that_was_written(old: Path) -> None:
    """Read here without Stithy; what is added is known to have been so, or null."""
    run = read_run(old)
    for name in ("window", "transactions", "seconds", "series"):
        written = pl.read_parquet(old / "windows" / "*" / f"{name}.parquet")
        read = _frames(run)[name]
        columns = ["window_id", *(each for each in written.columns if each != "window_id")]
        assert read.select(columns).sort(columns).equals(written.select(columns).sort(columns))
        added = read.drop(written.columns)
        for column in added.get_columns():
            expected = v1_to_v2.SO_FAR.get(name, {}).get(column.name)
            assert column.to_list() == [expected] * len(column), column.name


def test_the_old_run_is_reported_and_its_files_stay_as_they_are(old: Path) -> None:
    """The report is beside them, and says of nothing that it is missing."""
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    (page, told) = write_report(old, ("html", "json"))
    assert {path: path.read_bytes() for path in before} == before
    assert "missing or damaged" not in page.read_text()
    assert '"headline": "' in told.read_text()


def test_a_question_is_told_by_the_name_of_its_metric() -> None:
    """The first runs had its column there."""
    old = {"plan": {"question": {"metric": "response_p95_s", "users": 4}, "windows": []}}
    new = {"plan": {"question": {"metric": "p95", "users": 4}, "windows": []}}
    assert v1_to_v2.manifest(old) == new
    assert old["plan"]["question"]["metric"] == "response_p95_s"  # type: ignore[index] # a tree
    for other in ({}, {"plan": None}, {"plan": {"question": None}}, new):
        assert v1_to_v2.manifest(other) == other


def test_a_column_that_is_there_keeps_its_values() -> None:
    """Version 1 had it from some day on."""
    frame = pl.DataFrame({"window_id": ["w"], "attempt": [1], "pace": ["rate"]})
    read = v1_to_v2.table("window", frame).to_dicts()[0]
    assert (read["attempt"], read["pace"], read["tried"]) == (1, "rate", False)
    assert read["unserved"] is None


def test_there_is_a_step_from_every_older_version() -> None:
    """So that whatever was ever written can be read."""
    assert sorted(migrate.STEPS) == list(range(migrate.OLDEST, SCHEMA_VERSION))
    assert migrate.absent(SCHEMA_VERSION) == frozenset()
    assert migrate.absent(1) >= {"canary", "surroundings"}
