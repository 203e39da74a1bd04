"""How steady each window of a run was, from its one-second rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stithy.analysis.steady.steadiness import Steadiness, steadiness, unknown
from stithy.metrics import ALL

Row = Mapping[str, Any]
Frames = Mapping[str, pl.DataFrame]

EDGE_S = 0.05
"""Own: a measurement that begins or ends so close to a full second has it whole."""


def steadiness_of_windows(frames: Frames) -> dict[str, Steadiness]:
    """The steadiness of every window that has numbers, by its id.

    `frames`: the tables `window` and `seconds` of `results.tables`; either may be missing.
    Own: see `steadiness`; transactions of all types count, rolled back ones included.
    """
    windows, seconds = frames.get("window"), frames.get("seconds")
    if windows is None or seconds is None or windows.is_empty():
        return {}
    done = pl.col("committed") + pl.col("rolled_back")
    kept = seconds.filter(pl.col("transaction") == ALL).select("window_id", "second", done=done)
    series = {
        str(key[0]): part for key, part in kept.partition_by("window_id", as_dict=True).items()
    }
    return {
        row["window_id"]: _of_window(row, series.get(row["window_id"]))
        for row in windows.to_dicts()
        if row["measure_to_s"] is not None
    }


def _of_window(window: Row, series: pl.DataFrame | None) -> Steadiness:
    if series is None or series.is_empty():
        return unknown("it has no one-second values")
    by_second = dict(series.sort("second").select("second", "done").iter_rows())
    begin = window["measure_from_s"] - window["started_at_s"]
    end = window["measure_to_s"] - window["started_at_s"]
    ramp_up = _between(by_second, 0.0, begin)
    measured = _between(by_second, begin, end)
    if ramp_up is None or measured is None:
        return unknown("one-second values are missing from it")
    return steadiness(ramp_up, measured)


def _between(by_second: Mapping[int, int], begin_s: float, end_s: float) -> Sequence[float] | None:
    """The values of the whole seconds in between; None where one is missing."""
    first = -int(-(begin_s - EDGE_S) // 1)
    wanted = range(first, int(end_s + EDGE_S))
    if any(second not in by_second for second in wanted):
        return None
    return [float(by_second[second]) for second in wanted]
