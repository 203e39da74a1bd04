"""From an emulated drive's counters and latency log to the rows of the table `drives`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stithy.metrics import ALL
from stithy.results.convert import distribution
from stithy.results.hlog import Interval, merge, read_hlog
from stithy.wire.drive.facts import DriveCounters, OperationCounters
from stithy.wire.messages import Percentiles

Row = dict[str, Any]

LOG_SUFFIX = ".latency.hlog"


def read_log(stem: Path, from_s: float, until_s: float) -> list[Interval]:
    """What a drive's log tells of a span of Unix time; empty where there is no log.

    Raises ValueError for a damaged one.
    """
    path = stem.with_name(stem.name + LOG_SUFFIX)
    return read_hlog(path, from_s, until_s) if path.exists() else []


AWAITED = ("read", "flush")
"""What the row `all` holds against the block device: each of these is waited for.

Writes are held against it in their own row. They come in bursts too, from the page cache and from
checkpoints, and then the kernel counts how long each waits for those before it.
"""

WAYS = {"read": ("read",), "write": ("write",), "flush": ("flush",), ALL: AWAITED}
"""What the kernel counts on a block device, by the row that tells of it."""


def drive_rows(
    window_id: str,
    role: str,
    before: DriveCounters,
    after: DriveCounters,
    intervals: Iterable[Interval],
    device_mean_s: Mapping[str, float | None],
) -> list[Row]:
    """Rows of DRIVES: each operation in the drive's order, then `all`.

    `before` and `after` are readings around the users' work, `intervals` are those of the
    measurement. `device_mean_s`: mean time of the requests of each row of `WAYS` on the block
    device, by the kernel's counters around the same work; absent or None where it has none.
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
            **_held_against_device(now.name, before, after, device_mean_s),
        }
        for then, now in zip(before.operations, after.operations, strict=True)
    ]
    whole = {
        **head,
        "operation": ALL,
        **_counts(list(zip(before.operations, after.operations, strict=True))),
        **distribution("latency", merge(each.histogram for each in known)),
        **_lateness(before, after),
        **_held_against_device(ALL, before, after, device_mean_s),
    }
    return [*rows, whole]


_OF_ALL = (
    "late_answers", "late_mean_s", "device_mean_s", "added_mean_s", "cpu_s", "cpu_wait_s",
)  # fmt: skip


def _counts(pairs: Sequence[tuple[OperationCounters, OperationCounters]]) -> Row:
    return {
        name: sum(getattr(now, name) - getattr(then, name) for then, now in pairs)
        for name in ("answered", "moved_bytes", "errors")
    }


def _lateness(before: DriveCounters, after: DriveCounters) -> Row:
    return {
        "late_answers": after.late_answers - before.late_answers,
        "late_mean_s": _grown_mean_s([before.late], [after.late]),
        "cpu_s": _grown(before.cpu_s, after.cpu_s),
        "cpu_wait_s": _grown(before.cpu_wait_s, after.cpu_wait_s),
    }


def _held_against_device(
    row: str,
    before: DriveCounters,
    after: DriveCounters,
    device_mean_s: Mapping[str, float | None],
) -> Row:
    """Time on the block device, and by how much it is longer than profile and faults give."""
    device_s = device_mean_s.get(row)
    given_s = _given_mean_s(_of(WAYS.get(row, ()), before), _of(WAYS.get(row, ()), after))
    added_s = None if device_s is None or given_s is None else device_s - given_s
    return {"device_mean_s": device_s, "added_mean_s": added_s}


def _of(names: Sequence[str], counters: DriveCounters) -> list[OperationCounters]:
    return [each for each in counters.operations if each.name in names]


def _given_mean_s(
    before: Sequence[OperationCounters], after: Sequence[OperationCounters]
) -> float | None:
    """The mean of what was given between two readings; None where nothing was answered."""
    count = sum(each.answered for each in after) - sum(each.answered for each in before)
    return (_given_s(after) - _given_s(before)) / count if count > 0 else None


def _given_s(counters: Iterable[OperationCounters]) -> float:
    return sum((each.given_mean_s or 0.0) * each.answered for each in counters)


def _grown_mean_s(before: Sequence[Percentiles], after: Sequence[Percentiles]) -> float | None:
    """The mean of the values that came between two readings; None where none came."""
    count = sum(each.count for each in after) - sum(each.count for each in before)
    return max(0.0, _sum_s(after) - _sum_s(before)) / count if count > 0 else None


def _sum_s(values: Iterable[Percentiles]) -> float:
    return sum((each.mean_s or 0.0) * each.count for each in values)


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
