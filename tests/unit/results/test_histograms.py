"""A window's merged histograms: what they hold is what its logs hold."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.convert import Latencies, measured_intervals, read_latencies
from stithy.results.histograms import histogram_rows, read_histograms
from stithy.results.hlog import merge
from stithy.results.tables import HISTOGRAMS
from stithy.results.write import write_table
from stithy.wire.messages import RunSummary
from support.captured import DATA

FOLDER = DATA / "hammer"


@pytest.fixture(scope="module")
def captured() -> tuple[RunSummary, Latencies]:
    """What a real hammer said and wrote."""
    summary = RunSummary.model_validate_json((FOLDER / "run.summary.json").read_text())
    return summary, read_latencies(FOLDER / "run")


def test_they_hold_the_measurement_as_the_logs_do(
    captured: tuple[RunSummary, Latencies], tmp_path: Path
) -> None:
    """By transaction type, bucket for bucket; the ramp-up is not in them."""
    summary, latencies = captured
    path = tmp_path / "histograms.parquet"
    write_table(path, HISTOGRAMS, histogram_rows("w", summary, latencies))
    for kind, log in (("response", latencies.response), ("service", latencies.service)):
        found = read_histograms([path], kind)
        assert found
        for name, histogram in found.items():
            inside = measured_intervals(log, summary)
            assert histogram == merge(each.histogram for each in inside if each.tag == name)
    assert read_histograms([path], "pool-wait") == {}


def test_bounds_are_those_of_the_buckets(captured: tuple[RunSummary, Latencies]) -> None:
    """Nobody who reads the table needs to know how HdrHistogram counts."""
    rows = histogram_rows("w", *captured)
    assert rows
    for row in rows:
        assert 0 <= row["lowest_s"] <= row["highest_s"] <= row["lowest_s"] * 1.001 + 1e-6
    kept = [row for row in rows if (row["kind"], row["transaction"]) == ("response", "new-order")]
    summed = pl.DataFrame(kept).sort("highest_s").with_columns(pl.col("count").cum_sum())
    half = summed.filter(pl.col("count") >= summed["count"][-1] / 2)["highest_s"][0]
    [told] = [each for each in captured[0].transactions if each.name == "new-order"]
    assert half == pytest.approx(told.response.p50_s, rel=1e-3)


def test_those_of_several_windows_add_up(
    captured: tuple[RunSummary, Latencies], tmp_path: Path
) -> None:
    """Twice the same window is twice every count."""
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    for path in paths:
        write_table(path, HISTOGRAMS, histogram_rows(path.stem, *captured))
    once, twice = (read_histograms(part, "response") for part in (paths[:1], paths))
    assert once.keys() == twice.keys()
    for name, histogram in once.items():
        assert twice[name].counts == {index: 2 * n for index, n in histogram.counts.items()}


def test_a_missing_or_damaged_table_is_no_table(tmp_path: Path) -> None:
    """Whoever asks goes to the logs then."""
    with pytest.raises(OSError):
        read_histograms([tmp_path / "none.parquet"], "response")
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"PAR1 not really")
    with pytest.raises(ValueError, match="not a table of histograms"):
        read_histograms([damaged], "response")
