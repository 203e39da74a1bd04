"""From what a window gave to its tables, written at once and durably."""

from typing import TYPE_CHECKING

from stithy.hosts.devices import mean_times_s
from stithy.results import tables
from stithy.results.drives import LOG_SUFFIX, drive_rows, read_log
from stithy.results.layout import WindowDirectory
from stithy.results.read import WINDOW_TABLES
from stithy.results.tables import Row
from stithy.results.write import write_table
from stithy.run.context import Context
from stithy.run.sampler import series_rows
from stithy.run.windows import surroundings

if TYPE_CHECKING:
    from stithy.run.copies.drives import DriveReading
    from stithy.run.windows.window import MeasuredWindow


def write_window(context: Context, directory: WindowDirectory, measured: "MeasuredWindow") -> str:
    """Write all tables of a window; returns in words what came of it."""
    row = window_row(context, measured)
    around = [surroundings.row(context, measured)] if measured.snapshots else []
    pairs = list(zip(measured.window.activities, measured.activities, strict=True))
    found: dict[str, list[Row]] = {
        "values": [
            {"window_id": measured.window.id, "activity": name, **vars(each)}
            for name, activity in pairs
            for each in activity.values()
        ],
        "spans": [
            {"window_id": measured.window.id, "activity": name, **vars(each)}
            for name, activity in pairs
            for each in activity.spans()
        ],
        "series": series_rows(row["window_id"], measured.readings, row["started_at_s"]),
        "drives": _drive_rows(context, measured),
        "surroundings": around,
    }
    own = {
        table.name: (table, rows)
        for each in measured.activities
        for table, rows in each.tables(measured.readings)
    }
    for table in {*WINDOW_TABLES, tables.SERIES} - {tables.WINDOW}:
        _, rows = own.pop(table.name, (table, found.get(table.name, [])))
        write_table(directory.table(table.name), table, rows)
    for table, rows in own.values():
        write_table(directory.table(table.name), table, rows)
    # Last: a window counts as measured when its own row is there.
    write_table(directory.table("window"), tables.WINDOW, [row])
    if not row["complete"]:
        return f"no measurement: {row['missing_because']}"
    return "; ".join(each.said() for each in measured.activities)


def window_row(context: Context, measured: "MeasuredWindow") -> Row:
    """The row of WINDOW; null for whatever the window did not come to."""
    window, times = measured.window, measured.times
    missing = measured.missing_because
    if missing is None and not measured.complete:
        missing = _cut_short(context, measured)
    return {
        "window_id": window.id,
        "candidate": window.candidate,
        "point": str(window.point),
        "activity": ", ".join(window.activities),
        "block": window.block,
        "tried": window.tried,
        "attempt": window.attempt,
        "position": window.position,
        "started_at_s": times.started_at_s if times else None,
        "measure_from_s": times.measure_from_s if times else None,
        "measure_to_s": times.measure_to_s if times else None,
        "complete": measured.complete,
        "missing_because": missing,
    }


def _cut_short(context: Context, measured: "MeasuredWindow") -> str:
    """Why the work did not come to its planned end."""
    if context.session.stop.asked.is_set():
        return "stopped by a person"
    short = (each for each in measured.activities if not (each.times and each.times.complete))
    return next(each.ended_because or each.cut_short() for each in short)


def _drive_rows(context: Context, measured: "MeasuredWindow") -> list[Row]:
    """What each emulated drive of the window's candidate did."""
    if measured.drives is None or measured.times is None:
        return []
    before, after = measured.drives
    times, rows = measured.times, []
    for drive in context.volumes.of(measured.window.candidate).drives:
        path = drive.log_stem.with_name(drive.log_stem.name + LOG_SUFFIX)
        log = read_log(path, times.measure_from_s, times.measure_to_s)
        then, now = before[drive.name], after[drive.name]
        means_s = _device_mean_s(then, now)
        window_id = measured.window.id
        rows += drive_rows(window_id, drive.name, then.reported, now.reported, log, means_s)
    return rows


def _device_mean_s(before: "DriveReading", after: "DriveReading") -> dict[str, float | None]:
    """What requests took on a drive's block device; empty where the kernel does not count it."""
    then, now = before.device, after.device
    if then is None or now is None:
        return {}
    return mean_times_s(then, now, after.answered("write") - before.answered("write"))
