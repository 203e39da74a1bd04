"""Did the load driver and the emulated drives do what they were to do, in time?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stithy.activities.hammer.declared import users_of
from stithy.analysis.validity.surroundings import OTHERS_CPU_SHARE
from stithy.validity import Row

ALLOWED_SHARE = 0.5
"""Own: twice the load leaves room for moments in which answers come in bunches."""


LATENESS_FLOOR_S = 1e-3
LATENESS_SHARE_OF_SERVICE = 0.05
"""Source: docs/explanation/method.md, "Driver headroom"."""


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


def headroom(window: Row) -> Headroom:
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
        users_of(window) / users_max if users_max else None,
    )


def is_late(row: Row) -> bool:
    """Whether the driver was later at the 99th percentile than a calibration allows."""
    late_s, service_s = row["lateness_p99_s"], row["service_p50_s"] or 0.0
    allowed_s = max(LATENESS_FLOOR_S, LATENESS_SHARE_OF_SERVICE * service_s)
    return late_s is not None and late_s > allowed_s


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
    if users_max and users_of(row) > users_max and done and not is_late(row):
        return (
            f"it served {users_of(row):,} users in {row['window_id']}, more than the {users_max:,} "
            "of the calibration"
        )
    busy = row.get("driver_others_share") or 0.0
    if asked.is_little and busy > OTHERS_CPU_SHARE:
        share = f"{100 * busy:.0f} %"
        return f"other programs used {share} of the CPUs during the calibration"
    return None
