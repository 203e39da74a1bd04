"""Were the emulated drives those of their profiles?"""

from collections.abc import Sequence

from stithy.analysis.validity.record import WindowRecord
from stithy.results.drives import PLURALS, tolerance_s
from stithy.units import format_duration
from stithy.validity import Check, Flag, Reason, Row

NAME = "drives"
ORDER = 20

DRIVE_LATE = Flag(
    "emulated drive late",
    "The instrument failed: the emulated drive for {role} was late with {share} of its "
    "answers. The mean lateness of all answers was {mean}.",
    "Let nothing else run on this machine, use fewer users, keep the drives' data in memory "
    "(no `backing`), or emulate slower drives.",
    invalidates=True,
)

DRIVE_AT_TIMES_LATE = Flag(
    "emulated drive late at times",
    "The emulated drive for {role} was late with {share} of its answers. The mean lateness "
    "of all answers was {mean}.",
    "The slowest answers show a lack of CPU on this machine, not the drive. The median is the "
    "drive's.",
)

DRIVE_SLOWED = Flag(
    "emulated drive too slow",
    "The instrument failed: the emulated drive for {role} took {times} on average.",
    "It is not the drive that the profile describes. Leave a CPU free for it: let nothing else "
    "run on this machine, use fewer users, or emulate a slower drive.",
    invalidates=True,
)

DRIVE_OFF = Flag(
    "emulated drive not as described",
    "The emulated drive for {role} took {times} on average.",
    "The candidate had these times, not those of its profile. With a spare CPU the drive comes "
    "closer to its profile.",
)


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

    `rows` are those of the table `drives`; the worst drive is reported.
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
    return Reason(DRIVE_LATE if too_late else DRIVE_AT_TIMES_LATE, texts)


def delivered(rows: Sequence[Row]) -> Reason | None:
    """Requests on a drive's block device did not take the times that its profile gives them.

    Reads, writes and flushes are each held against the profile by themselves. What is longer,
    beside the drive's own lateness, is the way through the kernel on busy CPUs. Writes invalidate
    nothing: bursts of write-back wait for each other in front of any drive. `rows` are those of
    the table `drives`; the drive that is furthest off is reported.
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
    shown = " and ".join(_told(row) for row in off if row["role"] == role)
    flag = DRIVE_SLOWED if other else DRIVE_OFF
    return Reason(flag, {"role": str(role), "times": shown})


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
    """`53 µs for flushes (profile: 40 µs)`."""
    took, asked = format_duration(row["device_mean_s"]), format_duration(_asked_s(row))
    return f"{took} for {PLURALS[row['operation']]} (profile: {asked})"


def _busy(rows: Sequence[Row]) -> list[Row]:
    """The rows of drives and operations that had enough to do."""
    return [row for row in rows if row["answered"] >= ANSWERS_MIN]


def _share(row: Row) -> float:
    """The share of answers that were late."""
    return float(row["late_answers"] / row["answered"])


CHECKS: tuple[Check[WindowRecord], ...] = (
    Check(("drives",), lambda of: late(of.drives)),
    Check(("drives",), lambda of: delivered(of.drives)),
)
