"""Latency logs read back and merged: of the hammer over a level, and of emulated drives.

A level with one window takes its percentiles from the window's table and needs no log of the
hammer. Logs of drives are read only where a study asks about a percentile of them.
"""

import polars as pl

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.latency import Merged, merged_percentiles
from stithy.analysis.measures import Measure, Times, of_drives
from stithy.metrics import Quantity
from stithy.results.drives import LOG_SUFFIX
from stithy.results.hlog import Histogram, merge, read_hlog
from stithy.results.layout import RunDirectory

JOIN_TOLERANCE_S = 0.001
"""Time stamps of the logs have milliseconds; those of the windows are finer."""


def merged_levels(directory: RunDirectory, evidence: Evidence) -> dict[tuple[str, int], Merged]:
    """Percentiles over the valid windows of each candidate and level that has two or more.

    A level of which any log is missing or damaged has no entry: part of the windows would be a
    distribution of something else.
    """
    found = {}
    for name in evidence.candidates:
        for users in evidence.levels:
            windows = evidence.valid_at(name, users)
            if len(windows) > 1 and (merged := _merged(directory, windows)):
                found[name, users] = merged
    return found


def _merged(directory: RunDirectory, windows: tuple[Window, ...]) -> Merged | None:
    by_type: dict[str, list[Histogram]] = {}
    try:
        for window in windows:
            for kind, histogram in _measured(directory, window):
                by_type.setdefault(kind, []).append(histogram)
    except (OSError, ValueError):
        return None
    return merged_percentiles(by_type)


def _measured(directory: RunDirectory, window: Window) -> list[tuple[str, Histogram]]:
    """The intervals that began within the measurement, by transaction type."""
    stem = directory.window(window.id).hlog_stem
    since = window.row["measure_from_s"] - JOIN_TOLERANCE_S
    until = window.row["measure_to_s"] - JOIN_TOLERANCE_S
    return [
        (each.tag, each.histogram)
        for each in read_hlog(stem.with_name(f"{stem.name}.response.hlog"))
        if since <= each.started_at_s < until
    ]


def drive_measure(
    directory: RunDirectory, evidence: Evidence, drives: pl.DataFrame, quantity: Quantity
) -> Measure:
    """A percentile of the emulated drives, of every valid window and of each level.

    `drives`: the table, which tells the roles of each window. A window with a drive whose log is
    missing or damaged has no value.
    """
    roles: dict[str, list[str]] = {}
    for window_id, role in drives.select("window_id", "role").unique().sort("role").iter_rows():
        roles.setdefault(window_id, []).append(role)
    valid = [window for window in evidence.windows if window.valid]
    windows = {
        window.id: _of_drives(directory, window, roles.get(window.id, []), quantity.known.column)
        for window in valid
    }
    cells: dict[tuple[str, int], list[str]] = {}
    for window in valid:
        cells.setdefault((window.candidate, window.users), []).append(window.id)
    return of_drives(windows, cells, quantity)


def _of_drives(directory: RunDirectory, window: Window, roles: list[str], operation: str) -> Times:
    """The times of an operation in a window's measurement, by role; empty unless all are known."""
    found: dict[str, Histogram] = {}
    for role in roles:
        # A resumed run made its drives anew, each time with logs of their own.
        logs = sorted(directory.drives.rglob(f"{window.candidate}.{role}{LOG_SUFFIX}"))
        try:
            lines = [
                each
                for log in logs
                for each in read_hlog(log, window.row["measure_from_s"], window.row["measure_to_s"])
            ]
        except (OSError, ValueError):
            return {}
        merged = merge(each.histogram for each in lines if each.tag == operation)
        if not lines:
            return {}
        if merged is not None:
            found[role] = merged
    return found
