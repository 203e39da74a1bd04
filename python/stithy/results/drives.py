"""From an emulated drive's counters and latency log to the rows of the table `drives`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stithy.metrics import ALL
from stithy.results.convert import describe_distribution
from stithy.results.hlog import LoggedHistogram, LoggedInterval, merge, read_hlog
from stithy.results.tables import Row
from stithy.wire.drive.messages import DriveCounters, OperationCounters

LOG_SUFFIX = ".latency.hlog"

PLURALS = {"read": "reads", "write": "writes", "flush": "flushes", "discard": "discards"}

TOLERANCE_SHARE = 0.05
TOLERANCE_S = 10e-6
"""Of the mean time that the profile asks for, the larger of the two. What differs by less is
within what two copies of one drive differ by."""


def estimate_tolerance_s(asked_s: float) -> float:
    """By how much what was delivered may differ from what was asked."""
    return max(TOLERANCE_SHARE * asked_s, TOLERANCE_S)


def read_log(path: Path, from_s: float, until_s: float) -> list[LoggedInterval]:
    """What a drive's log tells of a span of Unix time; empty where there is no log.

    Its seconds are not those of the users: one that crosses an end of the span is left out, because
    nobody knows which of its values lie inside. Raises ValueError for a damaged log.
    """
    lines = read_hlog(path, from_s, until_s) if path.exists() else []
    return [line for line in lines if line.lies_in(from_s, until_s)]


def make_drive_rows(
    window_id: str,
    role: str,
    before: DriveCounters,
    after: DriveCounters,
    intervals: Iterable[LoggedInterval],
    device_mean_s: Mapping[str, float | None],
) -> list[Row]:
    """Rows of DRIVES: each operation in the drive's order, then `all`.

    `before` and `after` are readings around the users' work, `intervals` are those of the
    measurement. `device_mean_s`: mean time of each operation's requests on the block device, by
    the kernel's counters around the same work; absent or None where it has none.
    """
    known = list(intervals)
    head = {"window_id": window_id, "role": role}
    rows = [
        {
            **head,
            "operation": now.name,
            **_count_requests([(then, now)]),
            **_describe_latencies(i.histogram for i in known if i.tag == now.name),
            **_OF_ALL,
            **_compare_with_device(then, now, device_mean_s.get(now.name)),
        }
        for then, now in zip(before.operations, after.operations, strict=True)
    ]
    late_s, before_s = ((each.mean_s or 0.0) * each.count for each in (after.late, before.late))
    count = after.late.count - before.late.count
    whole = {
        **head,
        "operation": ALL,
        **_count_requests(list(zip(before.operations, after.operations, strict=True))),
        **_describe_latencies(each.histogram for each in known),
        **_OF_OPERATIONS,
        "late_answers": after.late_answers - before.late_answers,
        "late_mean_s": max(0.0, late_s - before_s) / count if count > 0 else None,
        "cpu_s": _subtract_counters(before.cpu_s, after.cpu_s),
        "cpu_wait_s": _subtract_counters(before.cpu_wait_s, after.cpu_wait_s),
    }
    return [*rows, whole]


_OF_ALL: Row = dict.fromkeys(("late_answers", "late_mean_s", "cpu_s", "cpu_wait_s"))
_OF_OPERATIONS: Row = dict.fromkeys(("device_mean_s", "added_mean_s"))
"""Told of each operation alone: a mean over all of them would be that of the most frequent."""


def _describe_latencies(histograms: Iterable[LoggedHistogram]) -> Row:
    merged = merge(histograms)
    return {"logged": merged.count if merged else 0, **describe_distribution("latency", merged)}


def _count_requests(pairs: Sequence[tuple[OperationCounters, OperationCounters]]) -> Row:
    return {
        name: sum(vars(now)[name] - vars(then)[name] for then, now in pairs)
        for name in ("answered", "moved_bytes", "errors")
    }


def _compare_with_device(
    before: OperationCounters, after: OperationCounters, device_s: float | None
) -> Row:
    """Time on the block device, and by how much it is longer than profile and faults give."""
    count = after.answered - before.answered
    if device_s is None or count <= 0:
        return {"device_mean_s": device_s, "added_mean_s": None}
    given_s = (_sum_given_s(after) - _sum_given_s(before)) / count
    return {"device_mean_s": device_s, "added_mean_s": device_s - given_s}


def _sum_given_s(counted: OperationCounters) -> float:
    return (counted.given_mean_s or 0.0) * counted.answered


def _subtract_counters(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
