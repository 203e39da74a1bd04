"""Latency logs read back and merged: of the hammer over a level, and of emulated drives.

A level with one window takes its percentiles from the window's table and needs no log of the
hammer. Logs of drives are read only where a study asks about a percentile of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from statistics import median

import polars as pl

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.measures import (
    Measure,
    Merged,
    Times,
    measure_percentile_of_drives,
    merge_percentiles,
)
from stithy.metrics import ALL, Quantity, count_values_needed
from stithy.point import Point
from stithy.results.convert import read_histograms
from stithy.results.drives import LOG_SUFFIX, read_log
from stithy.results.hlog import JOIN_TOLERANCE_S, LoggedHistogram, merge, read_hlog
from stithy.results.layout import RunDirectory
from stithy.results.pieces import ReadProblem, read_tables
from stithy.results.tables import HISTOGRAMS

NOT_WHOLE = "missing or incomplete, and so is its table of histograms"

POOL_WAIT = "pool-wait"


def merge_levels(
    directory: RunDirectory, evidence: Evidence
) -> tuple[dict[tuple[str, Point], Merged], list[ReadProblem]]:
    """Percentiles over the valid windows of each candidate and level that has two or more.

    A level of which any log is missing or damaged has no entry: part of the windows would be a
    distribution of something else. What is missing is reported.
    """
    found, problems = {}, []
    for name in evidence.candidates:
        for point in evidence.points:
            windows = evidence.valid_at(name, point)
            if len(windows) < 2 or "load" not in windows[0].tables:
                continue
            by_type = read_distributions(directory, windows, "response") or {}
            if merged := merge_percentiles({kind: [each] for kind, each in by_type.items()}):
                found[name, point] = merged
            else:
                problems += [
                    ReadProblem(_locate_log(directory, window, "response"), NOT_WHOLE)
                    for window in windows
                    if read_distributions(directory, [window], "response") is None
                ]
    return found, problems


def read_distributions(
    directory: RunDirectory, windows: Sequence[Window], kind: str
) -> dict[str, LoggedHistogram] | None:
    """The times of a kind in these windows' measurements, merged, by transaction type.

    `kind`: `response`, `service` or `pool-wait`. From the windows' tables of histograms, or where
    one is missing from the logs; None where a window has neither, or neither is whole.
    """
    paths = [directory.window(window.id).table(HISTOGRAMS.name) for window in windows]
    try:
        found = read_histograms(paths, kind)
    except (OSError, ValueError):
        found = {}
    if _is_whole(found, windows, kind):
        return found
    logged = _read_logs(directory, windows, kind)
    return logged if logged is not None and _is_whole(logged, windows, kind) else None


def _is_whole(found: dict[str, LoggedHistogram], windows: Sequence[Window], kind: str) -> bool:
    """Whether they hold each transaction that was answered, of those that have such a time.

    A log that was cut between two lines has no other mark of it.
    """
    if kind == POOL_WAIT:
        return bool(found)
    types = {name for window in windows for name in window.transactions} - {ALL}
    answered = {name: sum(each.completed(name) for each in windows) for name in types}
    held = {name: each.count for name, each in found.items()}
    return {k: n for k, n in held.items() if n} == {k: n for k, n in answered.items() if n}


def read_distribution(
    directory: RunDirectory, windows: Sequence[Window], kind: str = "response"
) -> LoggedHistogram | None:
    """All times of these windows' measurements, whatever the type; None unless all are known."""
    found = read_distributions(directory, windows, kind) if windows else None
    return merge(found.values()) if found else None


def read_seconds(directory: RunDirectory, window: Window) -> list[tuple[int, LoggedHistogram]]:
    """Response times of a window by the second since its users began, ramp-up included.

    One entry a second and transaction type; the drain after the measurement is left out. Empty
    where the log is missing or damaged.
    """
    start_s = window.row["started_at_s"]
    until = window.row["measure_to_s"] - JOIN_TOLERANCE_S
    try:
        lines = read_hlog(_locate_log(directory, window, "response"), until_s=until)
    except (OSError, ValueError):
        return []
    return [(max(0, round(line.started_at_s - start_s)), line.histogram) for line in lines]


def _read_logs(
    directory: RunDirectory, windows: Sequence[Window], kind: str
) -> dict[str, LoggedHistogram] | None:
    by_type: dict[str, list[LoggedHistogram]] = {}
    try:
        for window in windows:
            since = window.row["measure_from_s"] - JOIN_TOLERANCE_S
            until = window.row["measure_to_s"] - JOIN_TOLERANCE_S
            # The whole log is read: damage anywhere in it is damage.
            for line in read_hlog(_locate_log(directory, window, kind)):
                if since <= line.started_at_s < until:
                    by_type.setdefault(line.tag, []).append(line.histogram)
    except (OSError, ValueError):
        return None
    merged = {name: merge(each) for name, each in by_type.items()}
    return {name: each for name, each in merged.items() if each is not None}


def _locate_log(directory: RunDirectory, window: Window, kind: str) -> Path:
    stem = directory.window(window.id).hlog_stem
    return stem.with_name(f"{stem.name}.{kind}.hlog")


def measure_histograms(
    directory: RunDirectory, evidence: Evidence, quantities: Sequence[Quantity]
) -> dict[Quantity, Measure]:
    """Percentiles that activities declare: of each level over its valid windows, merged.

    A level of which a window has no table of histograms has none. Each table is read once.
    """
    levels: dict[Quantity, dict[tuple[str, Point], float]] = {
        quantity: {} for quantity in quantities
    }
    for cell in ((name, point) for name in evidence.candidates for point in evidence.points):
        windows = evidence.valid_at(*cell)
        paths = [directory.window(window.id).table(HISTOGRAMS.name) for window in windows]
        problems: list[ReadProblem] = []
        rows = read_tables(HISTOGRAMS, paths, problems)
        if problems:
            continue
        keys = ("kind", "transaction")
        counts = rows.group_by(*keys, "highest_s").agg(pl.sum("count")).sort("highest_s")
        parts = counts.partition_by(keys, as_dict=True)
        for each, found in levels.items():
            part = parts.get((each.known.column, each.of or ALL))
            value_s = None if part is None else _find_percentile_s(part, each.known.percent or 0.0)
            if value_s is not None:
                found[cell] = value_s
    return {each: Measure({}, found) for each, found in levels.items()}


def _find_percentile_s(counts: pl.DataFrame, percent: float) -> float | None:
    """The bucket that so many per cent of the values reach; None where too few bear it."""
    total = int(counts["count"].sum())
    if total < count_values_needed(percent):
        return None
    reached = counts.filter(pl.col("count").cum_sum() >= percent / 100 * total)
    return float(reached["highest_s"][0])


def measure_drives(
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
        window.id: _read_drives(directory, window, roles.get(window.id, []), quantity.known.column)
        for window in valid
    }
    cells: dict[tuple[str, Point], list[str]] = {}
    for window in valid:
        cells.setdefault((window.candidate, window.point), []).append(window.id)
    return measure_percentile_of_drives(windows, cells, quantity)


@dataclass(frozen=True)
class DriveTimes:
    """How long an operation took on an emulated drive, of several drives on the slowest one.

    `mean_s` and `p99_s` as the drive took it; `got_s` is the mean on the block device, `asked_s`
    what profile and faults gave. The latter two are None where the kernel does not count, `p99_s`
    where too few values lie beyond it.
    """

    mean_s: float
    p99_s: float | None
    got_s: float | None = None
    asked_s: float | None = None


def read_drive_times(
    directory: RunDirectory, evidence: Evidence, drives: pl.DataFrame, cell: tuple[str, Point]
) -> dict[str, DriveTimes]:
    """What the emulated drives of a candidate took at a level, by operation.

    `drives`: the table, whose numbers are those of the single valid window. Those of several come
    from their logs, merged; where a log is missing or damaged, means are weighted by the answers,
    and percentiles are those of the median window.
    """
    ids = [window.id for window in evidence.valid_at(*cell)]
    shown = drives.filter(
        pl.col("window_id").is_in(ids)
        & (pl.col("answered") > 0)
        & pl.col("latency_mean_s").is_not_null()
        & pl.col("latency_p99_s").is_not_null()
    )
    merged = _merge_drives(directory, evidence, shown, cell) if len(ids) > 1 else {}
    found: dict[str, list[DriveTimes]] = {}
    for (role, operation), rows in shown.group_by("role", "operation", maintain_order=True):
        times = merged.get((str(role), str(operation)), _read_table(rows))
        found.setdefault(str(operation), []).append(replace(times, **_average_delivered(rows)))
    return {operation: _choose_slowest(times) for operation, times in found.items()}


def _choose_slowest(times: Sequence[DriveTimes]) -> DriveTimes:
    worst = max(times, key=lambda each: each.got_s or each.mean_s)
    p99s = [time.p99_s for time in times]
    known = [p99 for p99 in p99s if p99 is not None]
    mean_s = max(each.mean_s for each in times)
    p99_s = max(known) if len(known) == len(p99s) else None
    return DriveTimes(mean_s, p99_s, worst.got_s, worst.asked_s)


def _average_delivered(rows: pl.DataFrame) -> dict[str, float]:
    known = list(
        rows.filter(pl.col("added_mean_s").is_not_null())
        .select("answered", "device_mean_s", "added_mean_s")
        .iter_rows()
    )
    if not known:
        return {}
    answers = sum(answered for answered, _, _ in known)
    got_s = sum(answered * device_s for answered, device_s, _ in known) / answers
    added_s = sum(answered * added_s for answered, _, added_s in known) / answers
    return {"got_s": got_s, "asked_s": got_s - added_s}


def _read_table(rows: pl.DataFrame) -> DriveTimes:
    means = list(rows.select("latency_mean_s", "logged").iter_rows())
    weighted = sum(mean_s * logged for mean_s, logged in means)
    few = min(logged for _, logged in means) < count_values_needed(99)
    p99_s = None if few else float(median(rows["latency_p99_s"].to_list()))
    return DriveTimes(weighted / sum(logged for _, logged in means), p99_s)


def _merge_drives(
    directory: RunDirectory, evidence: Evidence, shown: pl.DataFrame, cell: tuple[str, Point]
) -> dict[tuple[str, str], DriveTimes]:
    """By role and operation, from the logs; a role with a damaged log has none."""
    windows = [each.row for each in evidence.valid_at(*cell)]
    spans = [(row["measure_from_s"], row["measure_to_s"]) for row in windows]
    found: dict[tuple[str, str], DriveTimes] = {}
    for role in shown["role"].unique(maintain_order=True):
        try:
            lines = [
                each
                for log in _list_logs(directory, cell[0], role)
                # One reading of the log for all of the level's windows, which are neighbours.
                for each in read_hlog(log, min(a for a, _ in spans), max(b for _, b in spans))
                if any(each.lies_in(*span) for span in spans)
            ]
        except (OSError, ValueError):
            continue
        if not all(any(each.lies_in(*span) for each in lines) for span in spans):
            continue  # part of the windows would be a distribution of something else
        for tag in dict.fromkeys(line.tag for line in lines):
            whole = merge(each.histogram for each in lines if each.tag == tag)
            if whole is not None and whole.mean_s is not None:
                found[role, tag] = DriveTimes(
                    whole.mean_s,
                    whole.percentile_s(99) if whole.count >= count_values_needed(99) else None,
                )
    return found


def _list_logs(directory: RunDirectory, candidate: str, role: str) -> list[Path]:
    """Those of a drive: a resumed run made its drives anew, each time with logs of their own."""
    return sorted(directory.drives.rglob(escape(f"{candidate}.{role}{LOG_SUFFIX}")))


def _read_drives(
    directory: RunDirectory, window: Window, roles: list[str], operation: str
) -> Times:
    """The times of an operation in a window's measurement, by role; empty unless all are known."""
    found: dict[str, LoggedHistogram] = {}
    for role in roles:
        try:
            span = (window.row["measure_from_s"], window.row["measure_to_s"])
            logs = _list_logs(directory, window.candidate, role)
            lines = [each for log in logs for each in read_log(log, *span)]
        except (OSError, ValueError):
            return {}
        merged = merge(line.histogram for line in lines if line.tag == operation)
        if not lines:
            return {}
        if merged is not None:
            found[role] = merged
    return found
