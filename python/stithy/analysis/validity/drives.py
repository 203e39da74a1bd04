"""Did the emulated drives take the times that their profiles give them?"""

from collections.abc import Mapping, Sequence
from typing import Any

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason
from stithy.results.drives import PLURALS, tolerance_s
from stithy.units import format_duration

Row = Mapping[str, Any]

OTHER_SHARE = 1.0
OTHER_S = 100e-6
"""Own: beyond both, reads or flushes are those of another drive. It takes twice as long as the
described one, and 100 µs is what lies between drives of two classes."""

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


def delivered(rows: Sequence[Row]) -> Reason | None:
    """Requests on a drive's block device did not take the times that its profile gives them.

    Reads, writes and flushes are each held against the profile by themselves. What is longer,
    beside the drive's own lateness, is the way through the kernel on busy CPUs. Writes invalidate
    nothing: bursts of write-back wait for each other in front of any drive. `rows` are those of
    the table `drives`; the drive that is furthest off is told.
    Own: see the constants of this module.
    """
    known = [
        row
        for row in _busy(rows)
        if row["operation"] in PLURALS and row["added_mean_s"] is not None
    ]
    off = [row for row in known if abs(row["added_mean_s"]) > tolerance_s(_asked_s(row))]
    if not off:
        return None
    other = [row for row in off if _is_another_drive(row)]
    role = max(other or off, key=_excess)["role"]
    told = " and ".join(_told(row) for row in off if row["role"] == role)
    flag = Flag.DRIVE_SLOWED if other else Flag.DRIVE_OFF
    return Reason(flag, {"role": str(role), "times": told})


def _asked_s(row: Row) -> float:
    """The mean time that profile and faults gave."""
    return float(row["device_mean_s"] - row["added_mean_s"])


def _excess(row: Row) -> float:
    """How far off it is, in tolerances."""
    return float(abs(row["added_mean_s"]) / tolerance_s(_asked_s(row)))


def _is_another_drive(row: Row) -> bool:
    added_s = float(row["added_mean_s"])
    far = added_s > OTHER_S and added_s > OTHER_SHARE * _asked_s(row)
    return far and row["operation"] != "write"


def _told(row: Row) -> str:
    """`53 µs for flushes (asked: 40 µs)`."""
    took, asked = format_duration(row["device_mean_s"]), format_duration(_asked_s(row))
    return f"{took} for {PLURALS[row['operation']]} (asked: {asked})"


def _busy(rows: Sequence[Row]) -> list[Row]:
    """The rows of drives and operations that had enough to do."""
    return [row for row in rows if row["answered"] >= ANSWERS_MIN]


def _share(row: Row) -> float:
    """The share of answers that were late."""
    return float(row["late_answers"] / row["answered"])
