"""From what a window gave to its tables, written at once and durably."""

import re
from typing import TYPE_CHECKING

from stithy.collect.sampler import checkpoints_inside, series_rows
from stithy.hosts.devices import mean_times_s
from stithy.metrics import ALL
from stithy.results import tables
from stithy.results.convert import (
    condition_rows,
    histogram_rows,
    longest_response_s,
    read_latencies,
    second_rows,
    transaction_rows,
    window_numbers,
)
from stithy.results.drives import LOG_SUFFIX, drive_rows, read_log
from stithy.results.layout import WindowDirectory
from stithy.results.tables import Row
from stithy.results.write import write_table
from stithy.run.context import Context
from stithy.run.windows import ledger, surroundings
from stithy.run.windows.driving import pace_of
from stithy.units import format_duration

if TYPE_CHECKING:
    from stithy.run.copies.drives import DriveReading
    from stithy.run.windows.window import MeasuredWindow


def write_window(context: Context, directory: WindowDirectory, measured: "MeasuredWindow") -> str:
    """Write all tables of a window; returns in words what came of it."""
    window = measured.window
    driven = measured.driven
    transactions, seconds, histograms = [], [], []
    longest_s = None
    if driven is not None:
        latencies = read_latencies(directory.hlog_stem)
        transactions = transaction_rows(window.id, driven.summary)
        seconds = second_rows(window.id, driven.seconds, latencies)
        longest_s = longest_response_s(latencies)
        histograms = histogram_rows(window.id, driven.summary, latencies)
    row = window_row(context, measured, transactions) | {"longest_response_s": longest_s}
    conditions = (
        condition_rows(window.candidate, "window", measured.checked.conditions, window.id)
        if measured.checked
        else []
    )
    write_table(directory.table("transactions"), tables.TRANSACTIONS, transactions)
    write_table(directory.table("seconds"), tables.SECONDS, seconds)
    write_table(directory.table("histograms"), tables.HISTOGRAMS, histograms)
    series = series_rows(window.id, measured.readings, row["started_at_s"])
    write_table(directory.table("series"), tables.SERIES, series)
    write_table(directory.table("conditions"), tables.CONDITIONS, conditions)
    write_table(directory.table("drives"), tables.DRIVES, _drive_rows(context, measured))
    around = [surroundings.row(context.volumes.made, measured)] if measured.snapshots else []
    write_table(directory.table("surroundings"), tables.SURROUNDINGS, around)
    ledger.write_ledger(directory, measured)
    # Last: a window counts as measured when its own row is there.
    write_table(directory.table("window"), tables.WINDOW, [row])
    return _in_words(row, transactions) + ledger.result(measured)


def _drive_rows(context: Context, measured: "MeasuredWindow") -> list[Row]:
    """What each emulated drive of the window's candidate did."""
    if measured.drives is None or measured.driven is None:
        return []
    before, after = measured.drives
    summary = measured.driven.summary
    rows = []
    for drive in context.volumes.of(measured.window.candidate).drives:
        path = drive.log_stem.with_name(drive.log_stem.name + LOG_SUFFIX)
        log = read_log(path, summary.measure_from_s, summary.measure_to_s)
        then, now = before[drive.name], after[drive.name]
        rows += drive_rows(
            measured.window.id,
            drive.name,
            then.reported,
            now.reported,
            log,
            _device_mean_s(then, now),
        )
    return rows


def _device_mean_s(before: "DriveReading", after: "DriveReading") -> dict[str, float | None]:
    """What requests took on a drive's block device; empty where the kernel does not count it."""
    then, now = before.device, after.device
    if then is None or now is None:
        return {}
    return mean_times_s(then, now, after.answered("write") - before.answered("write"))


def window_row(context: Context, measured: "MeasuredWindow", transactions: list[Row]) -> Row:
    """The row of WINDOW; null for whatever the window did not come to."""
    window, load = measured.window, context.file.study.load
    pace = pace_of(load)
    row: Row = {column.name: None for column in tables.WINDOW.columns}
    row |= {
        "window_id": window.id,
        "candidate": window.candidate,
        "point": str(window.point),
        "users": window.point.users,
        "pace": pace.kind,
        "think_mean_s": load.pace.think_s,
        "rate_per_s": load.rate_per_s,
        "profile": load.profile,
        "block": window.block,
        "tried": window.tried,
        "attempt": window.attempt,
        "position": window.position,
        "complete": False,
        "missing_because": measured.missing_because,
        "memory_limit_enforced": measured.limit_bytes is not None,
        "memory_limit_bytes": measured.limit_bytes,
        "memory_limit_note": measured.limit_note,
        "memory_peak_bytes": measured.peak_bytes,
        "checkpoint_before": "forced" if window.checkpoint else "none",
        "restore_s": context.volumes.restore_s.get(window.candidate),
        "warm_up_s": measured.warm_up_s,
        "ledger_unverified_because": measured.ledger_unverified_because,
        **_calibrated(context),
        "ledger_shares": ledger.shared(context, window.candidate),
    }
    if measured.driven is not None:
        row |= _numbers(context, measured, transactions)
    return row


def _numbers(context: Context, measured: "MeasuredWindow", transactions: list[Row]) -> Row:
    assert measured.driven is not None  # asked by the caller
    summary = measured.driven.summary
    merged = next((row for row in transactions if row["transaction"] == ALL), {})
    row = window_numbers(summary, context.workload.headline, merged.get("service_p50_s"))
    row["complete"] = measured.complete
    if not row["complete"]:
        row["missing_because"] = measured.missing_because or _cut_short(context, measured)
    row["checkpoints_inside"] = checkpoints_inside(
        measured.readings, summary.measure_from_s, summary.measure_to_s
    )
    if measured.commits is not None:
        before, after = measured.commits
        row["server_commits"] = after.commits - before.commits
        row["server_rollbacks"] = after.rollbacks - before.rollbacks
    if measured.maintenance is not None:
        first, last = measured.maintenance
        row["maintenance_runs"] = last.maintenance_runs - first.maintenance_runs
    return row


def _calibrated(context: Context) -> Row:
    """What the driver was shown to keep up with; users are only tried where they pause."""
    known = context.state.known.calibration
    return {
        "driver_rate_per_s_max": known.rate_per_s_max if known else None,
        "driver_users_max": known.users_max if known else None,
        "driver_others_share": known.others_share if known else None,
    }


def _cut_short(context: Context, measured: "MeasuredWindow") -> str:
    """Why the hammer did not come to its planned end."""
    assert measured.driven is not None  # asked by the caller
    if context.session.stop.asked.is_set():
        return "stopped by a person"
    if measured.server_ended:
        return measured.server_ended
    summary = measured.driven.summary
    if summary.errors:
        worst = max(summary.errors, key=lambda error: error.count)
        return f"the hammer gave up: {_plain(worst.text)} ({worst.count} times)"
    shown = [warning.text for warning in measured.driven.warnings]
    return _plain(shown[-1]) if shown else "the hammer ended before its time"


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _in_words(row: Row, transactions: list[Row]) -> str:
    if not row["complete"]:
        return f"no measurement: {row['missing_because']}"
    merged = next((each for each in transactions if each["transaction"] == ALL), {})
    p95_s = merged.get("response_p95_s")
    shown = f"{row['nopm']:,.0f} NOPM, {row['tpm']:,.0f} TPM"
    if row["profile"] != "specification":
        shown += f" (profile {row['profile']})"
    return shown if p95_s is None else f"{shown}, p95 {format_duration(p95_s)}"
