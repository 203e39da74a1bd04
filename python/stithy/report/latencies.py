"""Latency logs of levels with several windows, read back and merged.

A level with one window takes its percentiles from the window's table and needs no log.
"""

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.latency import Merged, merged_percentiles
from stithy.results.hlog import Histogram, read_hlog
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
