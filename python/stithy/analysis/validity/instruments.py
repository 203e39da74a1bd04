"""Did the load driver and the emulated drives do what they were to do, in time?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stithy.analysis.validity.reasons import Flag, Reason, clause
from stithy.analysis.validity.work import Identity
from stithy.results.drives import PLURALS, tolerance_s
from stithy.units import format_duration

ALLOWED_SHARE = 0.5
"""Own: twice the load leaves room for moments in which answers come in bunches."""


LATENESS_FLOOR_S = 1e-3
LATENESS_SHARE_OF_SERVICE = 0.05
"""Source: docs/explanation/method.md, "Four times of a transaction"."""


OTHERS_CPU_SHARE = 0.05
"""Own: of all CPUs, on average; what an idle system does of its own is far less."""


@dataclass(frozen=True)
class Headroom:
    """What a window asked, as shares of what the driver was shown to sustain.

    A share is None where it is not known; that of the users also where they act without pauses.
    """

    rate_per_s: float | None
    rate_share: float | None
    users_share: float | None

    @property
    def share(self) -> float | None:
        """The larger of the two; None where neither is known."""
        known = [each for each in (self.rate_share, self.users_share) if each is not None]
        return max(known) if known else None

    @property
    def is_little(self) -> bool:
        """Whether more was asked than half of what the driver can do."""
        return self.share is not None and self.share > ALLOWED_SHARE


def headroom(window: Mapping[str, Any]) -> Headroom:
    """The head-room of one window, by its row of WINDOW.

    Edge cases: without numbers or without calibration nothing is known.
    Source: docs/explanation/method.md, "Driver headroom".
    """
    begin_s, end_s, done = window["measure_from_s"], window["measure_to_s"], window["transactions"]
    measured = None not in (begin_s, end_s, done) and end_s > begin_s
    # What was due and not begun was asked for, too.
    asked = done + (window["backlog"] or 0) if measured else None
    rate_per_s = None if asked is None else asked / (end_s - begin_s)
    rate_max, users_max = window["driver_rate_per_s_max"], window["driver_users_max"]
    return Headroom(
        rate_per_s,
        rate_per_s / rate_max if rate_per_s is not None and rate_max else None,
        window["users"] / users_max if users_max else None,
    )


Row = Mapping[str, Any]


def lateness_allowed_s(row: Row) -> float:
    """How late the driver may be at the 99th percentile.

    Source: docs/explanation/method.md, "Four times of a transaction".
    """
    return max(LATENESS_FLOOR_S, LATENESS_SHARE_OF_SERVICE * (row["service_p50_s"] or 0.0))


def is_late(row: Row) -> bool:
    """Whether the driver began transactions too late.

    Source: docs/explanation/method.md, "Four times of a transaction".
    """
    late_s = row["lateness_p99_s"]
    return late_s is not None and late_s > lateness_allowed_s(row)


def refuted(rows: Sequence[Row]) -> dict[tuple[Any, Any], str]:
    """The calibrated limits (rate, users) that a window refutes, each with how it does.

    A driver that did more than its limit, or served more users on time, has another one: the host
    was not what it is when that was found. What was found while others used the CPUs is a least: it
    proves head-room, but not the want of it.
    Source: docs/explanation/method.md, "Driver headroom".
    """
    found: dict[tuple[Any, Any], str] = {}
    shares: dict[tuple[Any, Any], float] = {}
    for row in rows:
        limits, asked = _limits(row), headroom(row)
        shown = _refutes(row, asked)
        share = abs((asked.share or 1.0) - 1)
        if shown is not None and share > shares.get(limits, -1.0):
            found[limits], shares[limits] = shown, share
    return found


def unless_refuted(rows: Sequence[Row]) -> list[Row]:
    """The rows, without calibrated limits that one of them refutes; `driver_refuted` says how."""
    known = refuted(rows)
    none = {"driver_rate_per_s_max": None, "driver_users_max": None}
    return [
        {**row, **none, "driver_refuted": known[limits]} if (limits := _limits(row)) in known
        else {**row, "driver_refuted": None}
        for row in rows
    ]  # fmt: skip


def _limits(row: Row) -> tuple[Any, Any]:
    return row["driver_rate_per_s_max"], row["driver_users_max"]


def _refutes(row: Row, asked: Headroom) -> str | None:
    """How a window refutes the limits in its row; None where it does not."""
    done = row["transactions"]
    rate_max, users_max = _limits(row)
    if asked.rate_per_s is not None and rate_max:
        rate_per_s = done / (row["measure_to_s"] - row["measure_from_s"])
        if rate_per_s > rate_max:
            return (
                f"it did {rate_per_s:,.0f} transactions per second in {row['window_id']}, more "
                f"than the {rate_max:,.0f} of the calibration"
            )
    if users_max and row["users"] > users_max and done and not is_late(row):
        return (
            f"it served {row['users']:,} users in {row['window_id']}, more than the {users_max:,} "
            "of the calibration"
        )
    busy = row.get("driver_others_share") or 0.0
    if asked.is_little and busy > OTHERS_CPU_SHARE:
        share = f"{100 * busy:.0f} %"
        return f"other programs used {share} of the CPUs during the calibration"
    return None


BACKLOG_SHARE = 0.01
"""Own: of the transactions that were due; fewer may wait at any moment, without growing in number.
"""


def incomplete(window: Row) -> Reason | None:
    """It ended before its planned end.

    Own: the hammer says whether it came to it.
    """
    return None if window["complete"] else Reason(Flag.INCOMPLETE)


def errors(window: Row) -> Reason | None:
    """The database answered what nobody expects.

    Own: one is enough, because a failing transaction is a fast one.
    """
    if not window["errors"]:
        return None
    text = window["error_text"] or "its text is not known"
    return Reason(Flag.ERRORS, {"errors": str(window["errors"]), "text": clause(text)})


def driver_late(window: Row) -> Reason | None:
    """It began transactions too late: the measurement would be of the driver.

    Source: docs/explanation/method.md, "Four times of a transaction".
    """
    if not is_late(window):
        return None
    late_s, allowed_s = window["lateness_p99_s"], lateness_allowed_s(window)
    return Reason(
        Flag.DRIVER_LATE,
        {"lateness": format_duration(late_s), "allowed": format_duration(allowed_s)},
    )


def little_headroom(window: Row) -> Reason | None:
    """It was asked for more than half of what the driver can do on this host.

    Source: docs/explanation/method.md, "Driver headroom".
    """
    found = headroom(window)
    if not found.is_little:
        return None
    parts = []
    if found.rate_share is not None:
        most = f"{window['driver_rate_per_s_max']:,.0f} transactions per second"
        parts.append(f"{found.rate_share:.0%} of the {most} that the driver can do on this host")
    if found.users_share is not None:
        most = f"{window['driver_users_max']:,} users"
        parts.append(f"{found.users_share:.0%} of the {most} that the driver can serve here")
    return Reason(Flag.LITTLE_HEADROOM, {"asked": " and ".join(parts).replace("%", " %")})


def contradicts_itself(window: Row, laws: Iterable[Identity]) -> Reason | None:
    """A law does not hold that must hold whatever the storage does; the first one is reported.

    Edge case: failed transactions and lost users are reported by themselves, and explain it.
    Source: docs/explanation/method.md, "Invariants".
    """
    broken = next((law for law in laws if law.holds is False), None)
    if broken is None or not window["complete"] or window["errors"]:
        return None
    texts = {
        "law": broken.name,
        "left": f"{broken.left:.4g}",
        "right": f"{broken.right:.4g}",
        "allowed": f"{100 * (broken.tolerance_share or 0.0):.1f} %",
    }
    return Reason(Flag.CONTRADICTION, texts)


def rate_not_kept(window: Row) -> Reason | None:
    """More was due in an open loop than was begun: users wait in a growing queue.

    Own: it is the storage's doing, so it makes nothing invalid.
    """
    backlog = window["backlog"]
    if window["rate_per_s"] is None or not backlog:
        return None
    due = backlog + (window["transactions"] or 0) + (window["errors"] or 0)
    if backlog <= BACKLOG_SHARE * due:
        return None
    share = f"{100 * backlog / due:.1f} %"
    return Reason(
        Flag.RATE_NOT_KEPT, {"backlog": f"{backlog:,}", "due": f"{due:,}", "share": share}
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
    return Reason(Flag.DRIVE_LATE if too_late else Flag.DRIVE_AT_TIMES_LATE, texts)


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
    flag = Flag.DRIVE_SLOWED if other else Flag.DRIVE_OFF
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
