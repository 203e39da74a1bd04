"""Did the emulated drives answer when they were due?"""

from collections.abc import Mapping, Sequence
from typing import Any

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason
from stithy.units import format_duration

Row = Mapping[str, Any]

LATE_SHARE_NOTED = 0.01
LATE_SHARE_MAX = 0.10
"""Own: of a drive's answers, late by more than 5 % and 50 µs each. One in a hundred moves its 99th
percentile; with one in ten late, what users feel of it is the emulation's."""


def late(rows: Sequence[Row]) -> Reason | None:
    """A drive gave answers late: the machine was too busy to emulate it.

    `rows` are those of the table `drives`; the worst drive is told.
    Own: see the constants of this module.
    """
    whole = [row for row in rows if row["late_answers"] is not None and row["answered"]]
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


def _share(row: Row) -> float:
    """The share of answers that were late."""
    return float(row["late_answers"] / row["answered"])
