"""The table of candidates, each number worked out again from the files of the run."""

from pathlib import Path

import polars as pl

from stithy.report.context import context_of
from stithy.report.parts.candidates import note, table
from stithy.report.tables import PageTable
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

LIMIT = LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1)
COSTS = {"disk": CostFacts(amount=1200, currency="EUR")}


def told(folder: Path, shape: Shape) -> PageTable:
    """The table of a run of this shape."""
    build_run(folder, shape)
    return table(context_of(read_run(folder)))


def windows(folder: Path, candidate: str, users: int, name: str = "window") -> pl.DataFrame:
    """A table of all windows of a candidate at a level, from their files."""
    found = sorted((folder / "windows").glob(f"w-{candidate}-u{users}-*/{name}.parquet"))
    return pl.concat([pl.read_parquet(each) for each in found])


def row(found: PageTable, candidate: str) -> dict[str, object]:
    """The row of a candidate."""
    [only] = found.frame.filter(pl.col("candidate") == candidate).to_dicts()
    return only


def test_a_percentile_of_too_few_values_is_missing_and_says_why(tmp_path: Path) -> None:
    """Beyond the 99th of 3,434 lie 34: that is no number to print."""
    disk = row(told(tmp_path, Shape()), "disk")
    assert disk["p99_s"] is None
    assert "p99 (needs 10,000 values, and there are 3,434)" in str(disk["missing_because"])
    assert disk["p95_s"] is not None


def test_whom_a_candidate_serves_is_told_with_the_next_level_or_as_at_least(
    tmp_path: Path,
) -> None:
    """By the valid windows of every level; the one of memory obeys everywhere."""
    found = told(tmp_path, Shape(limit=LIMIT, repeat=2))
    for name in ("disk", "memory"):
        obeys = {
            users: all(
                value <= 0.1
                for value in windows(tmp_path, name, users, "transactions").filter(
                    transaction="new-order"
                )["response_p95_s"]
            )
            for users in (1, 4, 13)
        }
        expected = max(users for users, held in obeys.items() if held)
        assert row(found, name)["within_users"] == expected
    assert row(found, "disk")["within_shown"] == "4, not 13"
    assert row(found, "memory")["within_shown"] == "at least 13"
    assert "Users within 100 ms" in [show.heading for show in found.columns]


def test_a_candidate_beyond_the_limit_everywhere_says_where_it_begins(tmp_path: Path) -> None:
    """That is known, and no dash; how many users fewer it would serve is not."""
    found = told(tmp_path, Shape(limit=LIMIT.model_copy(update={"limit_s": 0.02})))
    assert row(found, "disk")["within_shown"] == "not 1"
    assert row(found, "disk")["within_users"] is None
    said = note(context_of(read_run(tmp_path)), found)
    assert said is not None
    assert "users within the limit (" not in said
    assert "Device latency is the mean of the kernel's counters, queueing included" in said


def test_without_a_limit_no_users_are_told_and_the_note_says_why(tmp_path: Path) -> None:
    """No limit is made up."""
    found = told(tmp_path, Shape())
    assert "within_shown" not in [show.column for show in found.columns]
    assert found.frame["within_users"].to_list() == [None, None]
    said = note(context_of(read_run(tmp_path)), found)
    assert said is not None
    assert said.startswith("No response-time target is set")


def test_a_candidate_without_a_valid_window_there_has_its_reason(tmp_path: Path) -> None:
    """Nothing of an invalid window stands in the table."""
    broken = {window_id("disk", users, 0): {"errors": 3} for users in (1, 4, 13)}
    found = told(tmp_path, Shape(changes=broken, costs=COSTS))
    disk = row(found, "disk")
    assert (disk["nopm"], disk["p95_s"], disk["cost_per_nopm"]) == (None, None, None)
    assert str(disk["missing_because"]).startswith("what was measured (no window at 13 is valid)")
    assert row(found, "memory")["nopm"] is not None


def test_a_run_without_windows_has_no_row(tmp_path: Path) -> None:
    """Nor a note."""
    names = {window_id(name, users, 0) for name in ("disk", "memory") for users in (1, 4, 13)}
    found = told(tmp_path, Shape(left_out=frozenset(names)))
    assert found.frame.is_empty()
    assert note(context_of(read_run(tmp_path)), found) is None
