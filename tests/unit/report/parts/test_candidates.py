"""The table of candidates, each number worked out again from the files of the run."""

from pathlib import Path
from statistics import fmean, median

import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.parts.candidates import devices, note, table
from stithy.report.tables import PageTable
from stithy.results.layout import RunDirectory
from stithy.results.manifest import CostFacts, LimitFacts, QuestionFacts
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


def test_what_was_measured_is_that_of_the_files_at_the_level_of_the_question(
    tmp_path: Path,
) -> None:
    """Means of NOPM, the median window's percentiles where there are no logs to merge."""
    found = told(tmp_path, Shape(repeat=3))
    assert found.caption == "The candidates at 13 users"
    for name in ("disk", "memory"):
        measured = row(found, name)
        assert measured["nopm"] == pytest.approx(fmean(windows(tmp_path, name, 13)["nopm"]))
        merged = windows(tmp_path, name, 13, "transactions").filter(transaction="all")
        for key in ("p95_s", "p99_s"):
            expected = median(merged[f"response_{key}"].to_list())
            assert measured[key] == pytest.approx(expected)


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
    assert "Device latency: that which the kernel counts, its queue included" in said


def test_without_a_limit_no_users_are_told_and_the_note_says_why(tmp_path: Path) -> None:
    """No limit is made up."""
    found = told(tmp_path, Shape())
    assert "within_shown" not in [show.column for show in found.columns]
    assert found.frame["within_users"].to_list() == [None, None]
    said = note(context_of(read_run(tmp_path)), found)
    assert said is not None
    assert said.startswith("The study gives no limit of response time")


def test_cost_per_nopm_is_the_cost_over_the_nopm_beside_it(tmp_path: Path) -> None:
    """Both are in the row; a candidate without a cost has a gap with its reason."""
    found = told(tmp_path, Shape(costs=COSTS))
    disk, memory = row(found, "disk"), row(found, "memory")
    nopm = fmean(windows(tmp_path, "disk", 13)["nopm"])
    assert disk["cost_per_nopm"] == pytest.approx(1200 / nopm)
    assert (disk["cost_shown"], disk["cost_currency"]) == ("1,200 EUR", "EUR")
    assert memory["cost_per_nopm"] is None
    assert "cost (the study gives none)" in str(memory["missing_because"])
    assert [show.heading for show in found.columns][-2:] == ["Cost", "EUR per NOPM"]
    said = note(context_of(read_run(tmp_path)), found)
    assert said is not None
    assert "Not told of memory: device latency (no block device under its volumes" in said


def test_a_device_of_the_machine_has_the_mean_of_the_kernel_and_no_percentile(
    tmp_path: Path,
) -> None:
    """Every second weighted by its operations; memory has no device, and says so."""
    found = told(tmp_path, Shape())
    series = windows(tmp_path, "disk", 13, "series")
    begun = windows(tmp_path, "disk", 13)["measure_from_s"][0]
    inside = series.filter(pl.col("at_s") - 0.5 >= begun, collector="block")
    latency = inside.filter(metric="read_latency_s").sort("at_s")["value"]
    rate = inside.filter(metric="reads_per_s").sort("at_s")["value"]
    disk = row(found, "disk")
    assert disk["read_mean_s"] == pytest.approx(float((latency * rate).sum()) / float(rate.sum()))
    assert disk["read_p99_s"] is None
    assert str(disk["missing_because"]).endswith("device p99 (the kernel counts no percentiles).")
    assert "no block device under its volumes" in str(row(found, "memory")["missing_because"])


def test_an_emulated_drive_tells_what_the_database_got_and_what_was_asked(tmp_path: Path) -> None:
    """Means at the block layer beside the profile's; percentiles are the drive's own."""
    found = told(tmp_path, Shape(drives={"disk": 0.0}))
    kept = pl.read_parquet(RunDirectory(tmp_path).window(window_id("disk", 13, 0)).table("drives"))
    disk = row(found, "disk")
    for operation in ("read", "write", "flush"):
        [only] = kept.filter(operation=operation).to_dicts()
        assert disk[f"{operation}_mean_s"] == pytest.approx(only["device_mean_s"])
        asked_s = only["device_mean_s"] - only["added_mean_s"]
        assert disk[f"{operation}_asked_s"] == pytest.approx(asked_s)
        assert disk[f"{operation}_p99_s"] == pytest.approx(only["latency_p99_s"])
    shown = devices(context_of(read_run(tmp_path)), found)
    headings = [show.heading for show in shown.columns]
    assert headings == ["Candidate", "Device", "A second", "Mean", "Profile asks", "p99"]
    assert disk["device_source"] == "drive"
    assert disk["missing_because"] == "p99 (needs 10,000 values, and there are 3,434)."


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


def test_the_metric_of_the_question_has_a_column_of_its_own(tmp_path: Path) -> None:
    """First, beside what every run shows; where it is one of these, it stands once."""
    asked = QuestionFacts(users=13, metric="tpm", margin_share=0.02, blocks_least=4, blocks_most=20)
    found = told(tmp_path, Shape(primary=asked))
    assert [show.heading for show in found.columns][:3] == ["Candidate", "TPM", "NOPM"]
    for name in ("disk", "memory"):
        assert row(found, name)["asked"] == pytest.approx(fmean(windows(tmp_path, name, 13)["tpm"]))
    nopm = told(tmp_path / "nopm", Shape())
    assert [show.heading for show in nopm.columns][:2] == ["Candidate", "NOPM"]


def test_a_device_latency_has_its_rate_beside_it(tmp_path: Path) -> None:
    """A mean of many requests is not that of a few: of the kernel, and of an emulated drive."""
    found = told(tmp_path, Shape())
    series = windows(tmp_path, "disk", 13, "series")
    begun = windows(tmp_path, "disk", 13)["measure_from_s"][0]
    inside = series.filter(pl.col("at_s") - 0.5 >= begun, collector="block")
    expected = fmean(inside.filter(metric="reads_per_s")["value"])
    assert row(found, "disk")["read_per_s"] == pytest.approx(expected)
    shown = devices(context_of(read_run(tmp_path)), found)
    assert [show.heading for show in shown.columns] == ["Candidate", "Device", "A second", "Mean"]
    [read] = shown.frame.filter(candidate="disk", operation="read").to_dicts()
    assert read["per_s"] == pytest.approx(expected)
    assert read["mean_s"] == row(found, "disk")["read_mean_s"]
    assert shown.frame.filter(candidate="memory").is_empty()
    drive = told(tmp_path / "drive", Shape(drives={"disk": 0.0}))
    folder = RunDirectory(tmp_path / "drive").window(window_id("disk", 13, 0))
    [window] = pl.read_parquet(folder.table("window")).to_dicts()
    [kept] = pl.read_parquet(folder.table("drives")).filter(operation="write").to_dicts()
    span_s = window["measure_to_s"] - window["started_at_s"]
    assert row(drive, "disk")["write_per_s"] == pytest.approx(kept["answered"] / span_s)
