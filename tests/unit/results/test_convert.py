"""The hammer's messages become rows of the tables."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.convert import (
    Latencies,
    condition_rows,
    histogram_rows,
    measured_intervals,
    read_histograms,
    read_latencies,
    second_rows,
    transaction_rows,
    window_numbers,
)
from stithy.results.hlog import Histogram, Interval, merge
from stithy.results.tables import CONDITIONS, HISTOGRAMS, SECONDS, TRANSACTIONS, WINDOW
from stithy.results.write import frame_of, write_table
from stithy.wire.messages import Condition, RunSummary, Second

HAMMER = Path(__file__).resolve().parents[2] / "data" / "hammer"
EXAMPLES = Path(__file__).resolve().parents[3] / "wire" / "examples"


def example(name: str) -> str:
    """One of the protocol's examples."""
    return (EXAMPLES / f"message.{name}.json").read_text()


def summary(name: str = "run-summary") -> RunSummary:
    """A run's summary."""
    return RunSummary.model_validate_json(example(name))


def interval(started_at_s: float, tag: str, *values_us: int) -> Interval:
    """A line of a log; values below 2048 µs are their own bucket."""
    return Interval(tag, started_at_s, 1.0, Histogram(dict.fromkeys(values_us, 1), 10, 0))


def test_rates_divide_by_the_real_length_of_the_measurement() -> None:
    """8240 new orders in 20 s; TPM counts the intended rollbacks."""
    numbers = window_numbers(summary(), "new-order", 0.006)
    assert numbers["nopm"] == pytest.approx(8240 * 3)
    assert numbers["tpm"] == pytest.approx((8240 + 81) * 3)
    assert numbers["errors"] == 4
    assert numbers["error_text"] == "connection closed"
    assert numbers["service_p50_s"] == 0.006
    assert numbers.keys() <= {column.name for column in WINDOW.columns}


def test_a_run_that_measured_nothing_has_no_rate() -> None:
    """Null, and not 0 or a division by it."""
    cut = summary().model_copy(update={"measure_to_s": summary().measure_from_s})
    assert window_numbers(cut, "new-order", None)["nopm"] is None


def test_the_row_of_all_types_is_merged_from_the_logs_of_the_measurement() -> None:
    """Ramp-up and drain are left out; a percentile is of all values together."""
    run = summary()
    begin, end = run.measure_from_s, run.measure_to_s
    log = (
        interval(begin - 1, "new-order", 2000),
        interval(begin, "new-order", *range(1, 51)),
        interval(end - 1, "payment", *range(51, 101)),
        interval(end, "payment", 2001),
    )
    rows = transaction_rows("w-1", run, Latencies(response=log))
    frame_of(TRANSACTIONS, rows)
    merged = rows[-1]
    assert merged["transaction"] == "all"
    assert merged["committed"] == 8240
    assert merged["response_p50_s"] == pytest.approx(50e-6)
    assert merged["response_max_s"] == pytest.approx(100e-6)
    assert merged["service_p50_s"] is None


def test_each_type_keeps_the_summary_as_it_is() -> None:
    """The hammer's own percentiles, not those of the logs."""
    rows = transaction_rows("w-1", summary(), Latencies())
    assert [row["transaction"] for row in rows] == ["new-order", "stock-level", "all"]
    assert rows[0]["response_p999_s"] == 0.0625
    assert rows[1]["response_p50_s"] is None


def test_seconds_join_with_the_logs_by_their_time() -> None:
    """Logs keep milliseconds; a second without a line has no latency for all types."""
    second = Second.model_validate_json(example("second"))
    log = (interval(second.at_s, "new-order", 10, 20), interval(second.at_s, "payment", 30))
    rows = second_rows("w-1", [second], Latencies(response=log))
    frame_of(SECONDS, rows)
    assert [row["transaction"] for row in rows] == ["new-order", "stock-level", "all"]
    assert rows[-1]["committed"] == 412
    assert rows[-1]["response_p50_s"] == pytest.approx(20e-6)
    alone = second_rows("w-1", [second], Latencies())
    assert alone[-1]["response_p50_s"] is None


def test_the_wait_for_a_connection_has_a_log_of_its_own(tmp_path: Path) -> None:
    """It is there with a pool alone; without it the columns are null, never 0."""
    run = summary()
    log = (interval(run.measure_from_s, "new-order", 10), interval(run.measure_from_s, "x", 20))
    rows = transaction_rows("w-1", run, Latencies(pool_wait=log))
    frame_of(TRANSACTIONS, rows)
    assert [row["pool_wait_max_s"] for row in rows] == [0.0025, None, pytest.approx(20e-6)]
    assert transaction_rows("w-1", run, Latencies())[-1]["pool_wait_p50_s"] is None
    assert read_latencies(tmp_path / "hammer") == Latencies()
    content = (HAMMER / "run.service.hlog").read_bytes()
    (tmp_path / "hammer.pool-wait.hlog").write_bytes(content)
    assert read_latencies(tmp_path / "hammer").pool_wait == read_latencies(HAMMER / "run").service


def test_who_waits_at_the_end_of_a_second_is_told_once() -> None:
    """In the row of all types: nobody knows it by type."""
    rows = second_rows("w-1", [Second.model_validate_json(example("second"))], Latencies())
    assert [row["waiting"] for row in rows] == [None, None, 42]


def test_a_window_knows_who_was_held_up_what_was_reached_and_what_was_lost() -> None:
    """Null where it could not be read, or where it has no meaning."""
    numbers = window_numbers(summary(), "new-order", None)
    assert (numbers["missed_starts"], numbers["unserved"]) == (1040, 7)
    assert (numbers["connections_lost"], numbers["connections_reopened"]) == (3, 2)
    assert (numbers["first_success_s"], numbers["driver_nice"]) == (1.25, -10)
    assert (numbers["warehouses_touched"], numbers["warehouses_total"]) == (3, 10)
    assert numbers["database_bytes"] == 1181116006
    partial = window_numbers(summary("run-summary.partial"), "new-order", None)
    assert (partial["missed_starts"], partial["shared_buffers_bytes"]) == (None, None)
    untold = summary().model_copy(update={"touched": None})
    assert window_numbers(untold, "new-order", None)["warehouses_touched"] is None


def test_conditions_say_when_they_were_verified() -> None:
    """After a window, or after the load."""
    message = Condition.model_validate_json(example("condition"))
    rows = condition_rows("disk", "window", [message], "w-1") + condition_rows(
        "disk", "load", [message]
    )
    frame = frame_of(CONDITIONS, rows)
    assert frame["window_id"].to_list() == ["w-1", None]
    assert frame["holds"].to_list() == [False, False]


def test_the_logs_of_a_real_run_say_what_its_summary_says() -> None:
    """Both come from the same recorder: type by type, every number is equal."""
    run = RunSummary.model_validate_json((HAMMER / "run.summary.json").read_text())
    latencies = read_latencies(HAMMER / "run")
    for total in run.transactions:
        for kind in ("response", "service"):
            mine = [each for each in getattr(latencies, kind) if each.tag == total.name]
            one = Latencies(**{kind: tuple(mine)})
            row = transaction_rows("w-1", run, one)[-1]
            for name, value in getattr(total, kind).model_dump(exclude={"count"}).items():
                assert row[f"{kind}_{name}"] == pytest.approx(value, rel=1e-9), (total.name, name)


def test_the_row_of_all_types_of_a_real_run_lies_between_those_of_the_types() -> None:
    """Merged, so that its largest value is the largest of all."""
    run = RunSummary.model_validate_json((HAMMER / "run.summary.json").read_text())
    *types, merged = transaction_rows("w-1", run, read_latencies(HAMMER / "run"))
    assert merged["response_max_s"] == max(row["response_max_s"] for row in types)
    assert merged["response_min_s"] == min(row["response_min_s"] for row in types)
    medians = [row["response_p50_s"] for row in types]
    assert min(medians) <= merged["response_p50_s"] <= max(medians)


@pytest.fixture(scope="module")
def captured() -> tuple[RunSummary, Latencies]:
    """What a real hammer said and wrote."""
    summary = RunSummary.model_validate_json((HAMMER / "run.summary.json").read_text())
    return summary, read_latencies(HAMMER / "run")


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
