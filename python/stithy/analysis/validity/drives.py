"""Did the emulated drives take the times that their profiles give them?"""

from collections.abc import Mapping, Sequence
from typing import Any

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason
from stithy.units import format_duration

Row = Mapping[str, Any]

ADDED_S_NOTED = 20e-6
ADDED_SHARE_NOTED = 0.05
ADDED_SHARE_MAX = 0.25
"""Own: of the mean time that the profile gives. Less than 20 µs no database feels; a drive that is
slower by a quarter is another drive."""

ANSWERS_MIN = 200
"""Own: of a drive with fewer answers in a window no share says anything, and no user feels it."""

LATE_SHARE_NOTED = 0.01
LATE_SHARE_MAX = 0.10
"""Own: of a drive's answers, late by more than 5 % and 50 µs each. One in a hundred moves its 99th
percentile; with one in ten late, what users feel of it is the emulation's."""


def late(rows: Sequence[Row]) -> Reason | None:
    """A drive gave answers late: the machine was too busy to emulate it.

    `rows` are those of the table `drives`; the worst drive is told.
    Own: see the constants of this module.
    """
    whole = [row for row in _busy(rows) if row["late_answers"] is not None]
    if not whole:
        return None
    worst = max(whole, key=_share)
    if _share(worst) <= LATE_SHARE_NOTED:
        return None
    texts = {
        "role": str(worst["role"]),
        "share": f"{100 * _share(worst):.1f} %",
        "mean": format_duration(worst["late_mean_s"] or 0.0),
    }
    too_late = _share(worst) > LATE_SHARE_MAX
    return Reason(Flag.DRIVE_LATE if too_late else Flag.DRIVE_AT_TIMES_LATE, texts)


def slowed(rows: Sequence[Row]) -> Reason | None:
    """Requests took longer on a drive's block device than its profile gives them.

    Beside the drive's lateness this is the way through the kernel, on a machine whose CPUs are
    busy. `rows` are those of the table `drives`; the worst drive is told.
    Own: see the constants of this module.
    """
    waited_for = _worst(rows, "all")
    if waited_for is not None and _added_share(waited_for) > ADDED_SHARE_MAX:
        return _slowed(Flag.DRIVE_SLOWED, waited_for)
    if waited_for is not None:
        return _slowed(Flag.DRIVE_A_LITTLE_SLOWED, waited_for)
    writes = _worst(rows, "write")
    return None if writes is None else _slowed(Flag.DRIVE_WRITES_SLOWED, writes)


def _worst(rows: Sequence[Row], operation: str) -> Row | None:
    """The row of this operation to which most was added; None where that is nothing to tell of."""
    known = [row for row in _busy(rows) if row["operation"] == operation and _is_told(row)]
    return max(known, key=_added_share, default=None)


def _is_told(row: Row) -> bool:
    added_s = row["added_mean_s"]
    if added_s is None or added_s <= ADDED_S_NOTED:
        return False
    return _added_share(row) > ADDED_SHARE_NOTED


def _slowed(flag: Flag, worst: Row) -> Reason:
    texts = {
        "role": str(worst["role"]),
        "device": format_duration(worst["device_mean_s"]),
        "added": format_duration(worst["added_mean_s"]),
    }
    return Reason(flag, texts)


def _busy(rows: Sequence[Row]) -> list[Row]:
    """The rows of drives and operations that had enough to do."""
    return [row for row in rows if row["answered"] >= ANSWERS_MIN]


def _added_share(row: Row) -> float:
    """What was added, as a share of what the profile gave."""
    given_s = row["device_mean_s"] - row["added_mean_s"]
    return float(row["added_mean_s"] / given_s) if given_s > 0 else float("inf")


def _share(row: Row) -> float:
    """The share of answers that were late."""
    return float(row["late_answers"] / row["answered"])
