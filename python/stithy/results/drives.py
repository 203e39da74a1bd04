"""From an emulated drive's counters and latency log to the rows of the table `drives`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stithy.results.convert import ALL, distribution
from stithy.results.hlog import Interval, merge, read_hlog
from stithy.wire.drive.facts import DriveCounters, OperationCounters

Row = dict[str, Any]

LOG_SUFFIX = ".latency.hlog"


def read_log(stem: Path, from_s: float, until_s: float) -> list[Interval]:
    """What a drive's log tells of a span of Unix time; empty where there is no log.

    Raises ValueError for a damaged one.
    """
    path = stem.with_name(stem.name + LOG_SUFFIX)
    return read_hlog(path, from_s, until_s) if path.exists() else []


def drive_rows(
    window_id: str,
    role: str,
    before: DriveCounters,
    after: DriveCounters,
    intervals: Iterable[Interval],
) -> list[Row]:
    """Rows of DRIVES: each operation in the drive's order, then `all`.

    `before` and `after` are readings around the users' work, `intervals` those of the measurement.
    """
    known = list(intervals)
    head = {"window_id": window_id, "role": role}
    rows = [
        {
            **head,
            "operation": now.name,
            **_counts([(then, now)]),
            **distribution("latency", merge(i.histogram for i in known if i.tag == now.name)),
            **dict.fromkeys(_OF_ALL, None),
        }
        for then, now in zip(before.operations, after.operations, strict=True)
    ]
    whole = {
        **head,
        "operation": ALL,
        **_counts(list(zip(before.operations, after.operations, strict=True))),
        **distribution("latency", merge(each.histogram for each in known)),
        **_lateness(before, after),
    }
    return [*rows, whole]


_OF_ALL = ("late_answers", "late_mean_s", "cpu_s", "cpu_wait_s")


def _counts(pairs: Sequence[tuple[OperationCounters, OperationCounters]]) -> Row:
    return {
        name: sum(getattr(now, name) - getattr(then, name) for then, now in pairs)
        for name in ("answered", "moved_bytes", "errors")
    }


def _lateness(before: DriveCounters, after: DriveCounters) -> Row:
    answers = after.late.count - before.late.count
    late_s = _sum_s(after) - _sum_s(before)
    return {
        "late_answers": after.late_answers - before.late_answers,
        "late_mean_s": max(0.0, late_s) / answers if answers > 0 else None,
        "cpu_s": _grown(before.cpu_s, after.cpu_s),
        "cpu_wait_s": _grown(before.cpu_wait_s, after.cpu_wait_s),
    }


def _sum_s(counters: DriveCounters) -> float:
    """The lateness of all answers together, seconds."""
    return (counters.late.mean_s or 0.0) * counters.late.count


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
