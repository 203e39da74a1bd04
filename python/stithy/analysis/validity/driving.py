"""Did the hammer do what it was to do, in time?"""

from collections.abc import Mapping
from typing import Any

from stithy.analysis.head_room import head_room as head_room_of
from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason, clause
from stithy.units import format_duration

Row = Mapping[str, Any]

LATENESS_FLOOR_S = 1e-3
LATENESS_SHARE_OF_SERVICE = 0.05
"""Source: docs/explanation/method.md, "Three times"."""


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

    Source: docs/explanation/method.md, "Three times".
    """
    late_s, service_s = window["lateness_p99_s"], window["service_p50_s"]
    if late_s is None:
        return None
    allowed_s = max(LATENESS_FLOOR_S, LATENESS_SHARE_OF_SERVICE * (service_s or 0.0))
    if late_s <= allowed_s:
        return None
    return Reason(
        Flag.DRIVER_LATE,
        {"lateness": format_duration(late_s), "allowed": format_duration(allowed_s)},
    )


def head_room(window: Row) -> Reason | None:
    """It was asked for more than half of what the driver can do on this host.

    Source: docs/explanation/method.md, "The driver's head-room".
    """
    found = head_room_of(window)
    if not found.is_little:
        return None
    parts = []
    if found.rate_share is not None:
        most = f"{window['driver_rate_per_s_max']:,.0f} transactions a second"
        parts.append(f"{found.rate_share:.0%} of the {most} that it can do on this host")
    if found.users_share is not None:
        most = f"{window['driver_users_max']:,} users"
        parts.append(f"{found.users_share:.0%} of the {most} that it can serve on this host")
    return Reason(Flag.LITTLE_HEAD_ROOM, {"asked": " and ".join(parts).replace("%", " %")})
