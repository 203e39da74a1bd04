"""Latency logs are decoded and merged, and the programs' messages become rows of the tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from stithy.activities.hammer.declared import LOAD
from stithy.activity import collect_expected_errors
from stithy.results import convert, tables
from stithy.results.convert import (
    Latencies,
    make_transaction_rows,
    make_window_numbers,
    read_histograms,
)
from stithy.results.drives import make_drive_rows, read_log
from stithy.results.files import make_frame, write_table
from stithy.results.hlog import LoggedHistogram, LoggedInterval, merge, read_hlog
from stithy.wire.messages import Condition, RunSummary, SecondMessage
from support.captured import DATA
from support.drive_counters import counters
from support.examples import wire_example
from support.hlog import HALF, encode, histogram, log

Row = dict[str, Any]
HAMMER = DATA / "hammer"


def _summary(name: str = "run-summary") -> RunSummary:
    return RunSummary.model_validate_json(wire_example(f"message.{name}"))


def _interval(started_at_s: float, tag: str, *values_us: int) -> LoggedInterval:
    """A line of a log; values below 2048 µs are their own bucket."""
    return LoggedInterval(
        tag, started_at_s, 1.0, LoggedHistogram(dict.fromkeys(values_us, 1), HALF, 0)
    )


def test_percentiles_follow_the_counts_within_three_digits() -> None:
    """Of 1 to 1000 µs the median is 500; small values are exact; without values there is None."""
    made = histogram(*range(1, 1001))
    found = (made.percentile_s(50), made.percentile_s(99), made.percentile_s(100), made.min_s)
    assert found == pytest.approx((500e-6, 990e-6, 1000e-6, 1e-6))
    assert made.mean_s == pytest.approx(500.5e-6, rel=2e-3)
    for value in (2047, 2048, 99_999, 12_345_678, 100_000_000):
        highest = histogram(1, value).max_s or 0.0
        assert value <= highest * 1e6 + 1e-6 <= value * 1.001 + 1e-5
    empty = LoggedHistogram({}, HALF, 0)
    assert (empty.percentile_s(50), empty.mean_s, empty.min_s, empty.max_s) == (None,) * 4


def test_lines_of_a_log_carry_tag_time_and_histogram(tmp_path: Path) -> None:
    """A last line that was cut off is left out; a damaged one is named by file and line."""
    path, text = tmp_path / "a.hlog", encode(histogram(7))
    lines = (f"Tag=new-order,12.125,1.000,0.007,{text}\n", f"13.125,0.500,0.007,{text}\n")
    path.write_text(log(*lines, f"Tag=payment,14.125,1.000,0.007,{text[:9]}"))
    first, second = read_hlog(path)
    assert (first.tag, first.started_at_s, first.length_s) == ("new-order", 12.125, 1.0)
    assert (second.tag, second.length_s, second.histogram) == ("", 0.5, histogram(7))
    for line in ("nonsense\n", "1,1,1,####\n", "1,1,1,AAAAAAAAAAA=\n", "1,1,1,HISTFAAAAAF4\n"):
        path.write_text(log(line))
        with pytest.raises(ValueError, match=r"a\.hlog:4: not a line of an interval log"):
            read_hlog(path)


def test_a_window_has_its_rates_and_what_was_held_up_reached_and_lost() -> None:
    """By the real length of the measurement; null where it could not be read, never 0."""
    numbers = make_window_numbers(_summary(), "new-order", 0.006)
    assert numbers["headline_per_min"] == pytest.approx(8240 * 3)
    assert numbers["headline_per_s"] == pytest.approx(8240 / 20)
    assert numbers["tpm"] == pytest.approx((8240 + 81) * 3), "with the intended rollbacks"
    expected = {
        "errors": 4, "error_text": "connection closed", "service_p50_s": 0.006,
        "suppressed_arrivals": 1040, "backlog": 7, "connections_lost": 3, "connections_reopened": 2,
        "first_success_s": 1.25, "driver_nice": -10, "units_touched": 3,
        "units_total": 10, "results_open": None, "database_bytes": 1181116006,
    }  # fmt: skip
    assert {name: numbers[name] for name in expected} == expected
    assert numbers.keys() <= {
        column.name for table in (tables.WINDOW, LOAD) for column in table.columns
    }
    partial = make_window_numbers(_summary("run-summary.partial"), "new-order", None)
    assert (partial["suppressed_arrivals"], partial["buffer_pool_bytes"]) == (None, None)
    told = {"measure_to_s": _summary().measure_from_s, "workload": {"results_open": 12}}
    found = make_window_numbers(_summary().model_copy(update=told), "new-order", None)
    names = "headline_per_min", "units_touched", "results_open"
    assert [found[name] for name in names] == [None, None, 12]


def test_errors_that_another_activity_causes_on_purpose_are_counted_by_themselves(
    fakes: Path,
) -> None:
    """By their classes, which the activity declares; the text is that of the others."""
    kinds = {str(error.kind): error.count for error in _summary().errors}
    assert len(kinds) > 1
    expected = collect_expected_errors(("hammer", "note"))
    assert expected == {"lost"}
    found = make_window_numbers(_summary(), "new-order", None, expected)
    assert found["errors_expected"] == kinds["lost"]
    assert found["errors"] == sum(kinds.values()) - kinds["lost"] > 0
    assert found["error_text"] != make_window_numbers(_summary(), "new-order", None)["error_text"]


def test_the_row_of_all_types_is_merged_from_the_histograms_of_the_types() -> None:
    """Counts add up, percentiles follow from the merged counts; who never waits has none."""
    run, first = _summary(), {"response": encode(histogram(*range(1, 51)))}
    kinds = ({**first, "pool_wait": encode(histogram(10))},
             {"response": encode(histogram(*range(51, 101)))})  # fmt: skip
    totals = (each.model_copy(update=made)
              for each, made in zip(run.transactions, kinds, strict=True))  # fmt: skip
    rows = make_transaction_rows("w-1", run.model_copy(update={"transactions": tuple(totals)}))
    make_frame(tables.TRANSACTIONS, rows)
    assert [row["transaction"] for row in rows] == ["new-order", "stock-level", "all"]
    assert [row["response_p50_s"] for row in rows] == pytest.approx([25e-6, 75e-6, 50e-6])
    merged = rows[-1]
    assert (merged["committed"], merged["service_p999_s"]) == (8240, rows[0]["service_p999_s"])
    assert merged["response_max_s"] == pytest.approx(100e-6)
    assert [row["pool_wait_max_s"] for row in rows] == [pytest.approx(10e-6), None,
                                                        pytest.approx(10e-6)]  # fmt: skip


def test_seconds_join_with_the_logs_by_their_time() -> None:
    """Logs keep milliseconds; who waits is known of all alone; without logs times are None."""
    second = SecondMessage.model_validate_json(wire_example("message.second"))
    made = (_interval(second.at_s, "new-order", 10, 20), _interval(second.at_s, "stock-level", 30))
    rows = convert.make_second_rows("w-1", [second], Latencies(response=made))
    make_frame(tables.SECONDS, rows)
    assert [row["waiting"] for row in rows] == [None, None, 42]
    assert [row["response_p50_s"] for row in rows] == pytest.approx([10e-6, 30e-6, 20e-6])
    assert rows[-1]["committed"] == 412
    assert convert.make_second_rows("w-1", [second], Latencies())[-1]["response_p50_s"] is None
    message = Condition.model_validate_json(wire_example("message.condition"))
    verified = convert.make_condition_rows("disk", "window", [message], "w-1")
    verified += convert.make_condition_rows("disk", "load", [message])
    frame = make_frame(tables.CONDITIONS, verified)
    assert (frame["window_id"].to_list(), frame["holds"].to_list()) == (["w-1", None], [False] * 2)


def test_the_logs_of_a_real_run_say_what_its_summary_says(tmp_path: Path) -> None:
    """Every figure that the program worked out itself is equal; the table of histograms adds up."""
    told = json.loads((HAMMER / "run.summary.json").read_text())
    run = RunSummary.model_validate(told | {"transactions": [], "lateness": ""})
    latencies = convert.read_latencies(HAMMER / "run")
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    rows = list(convert.make_histogram_rows("w", run, latencies))
    for path in paths:
        write_table(path, tables.HISTOGRAMS, rows)
    for kind in ("response", "service"):
        intervals = getattr(latencies, kind)
        inside = list(convert.list_measured_intervals(intervals, run))
        once, twice = (read_histograms(part, kind) for part in (paths[:1], paths))
        for total in told["transactions"]:
            kept = once[total["name"]]
            row = convert.describe_distribution(kind, kept)
            for name, value in total[kind].items():
                shown = kept.count if name == "count" else row[f"{kind}_{name}"]
                assert shown == pytest.approx(value, rel=1e-9), (total["name"], name)
            assert kept == merge(each.histogram for each in inside if each.tag == total["name"])
            assert twice[total["name"]].counts == {at: 2 * n for at, n in kept.counts.items()}
    assert read_histograms(paths, "pool-wait") == {}
    for each in rows:
        assert 0 <= each["lowest_s"] <= each["highest_s"] <= each["lowest_s"] * 1.001 + 1e-6
    with pytest.raises(OSError):
        read_histograms([tmp_path / "none.parquet"], "response")
    paths[0].write_bytes(b"PAR1 not really")
    with pytest.raises(ValueError, match="not a table of histograms"):
        read_histograms(paths, "response")


def _drive(
    *seen: LoggedInterval, before: Any = None, after: Any = None
) -> dict[str, dict[str, Any]]:
    means = {"flush": 400e-6, "write": 900e-6}
    shown = make_drive_rows("w", "data", before or counters(), after or counters(), seen, means)
    make_frame(tables.DRIVES, shown)
    return {row["operation"]: row for row in shown}


def test_what_a_drive_did_is_what_was_added_between_the_two_readings() -> None:
    """What it did before the users' work is not theirs; a mean is of what was added."""
    first: Row = {"answered": 100, "moved_bytes": 4096, "given_mean_s": 50e-6, "late_answers": 5}
    last: Row = {"answered": 300, "moved_bytes": 12288, "given_mean_s": 250e-6, "late_answers": 9}
    before = counters(**first, late=(100, 10e-6), cpu_s=1.0)
    after = counters(**last, late=(300, 30e-6), cpu_s=1.5)
    found = _drive(before=before, after=after)
    assert list(found) == ["read", "write", "flush", "discard", "all"]
    assert (found["read"]["answered"], found["read"]["moved_bytes"]) == (200, 8192)
    whole = found["all"]
    assert (whole["answered"], whole["late_answers"], whole["cpu_wait_s"]) == (800, 4, None)
    assert (whole["late_mean_s"], whole["cpu_s"]) == pytest.approx((40e-6, 0.5))
    added = [found[name]["added_mean_s"] for name in ("flush", "write", "read")]
    assert added == [pytest.approx(50e-6), pytest.approx(550e-6), None]
    assert whole["device_mean_s"] is None, "each operation is told of by itself"
    nothing = _drive(before=before, after=before)
    assert nothing["all"]["late_mean_s"] is nothing["write"]["added_mean_s"] is None


def test_latencies_of_a_drive_are_of_the_seconds_that_lie_in_the_span(tmp_path: Path) -> None:
    """By operation and merged; most of the second from 5.1 comes after the measurement."""
    kinds = {"read": histogram(100, 100, 100), "write": histogram(900)}
    found = _drive(*(LoggedInterval(name, 1.0, 1.0, each) for name, each in kinds.items()))
    assert found["read"]["latency_max_s"] == pytest.approx(100e-6, rel=0.01)
    assert found["all"]["latency_max_s"] == pytest.approx(900e-6, rel=0.01)
    assert found["flush"]["latency_p50_s"] is None
    assert [found[name]["logged"] for name in ("read", "all", "flush")] == [3, 4, 0]
    path = tmp_path / "data.latency.hlog"
    assert read_log(path, 0, 10) == []
    encoded = encode(histogram(100))
    path.write_text(log(*(f"Tag=read,{at}.100,1.000,0.100,{encoded}\n" for at in range(9))))
    assert [each.started_at_s for each in read_log(path, 3, 5.2)] == [3.1, 4.1]
    assert [each.started_at_s for each in read_log(path, 3.2, 5.2)] == [4.1]
