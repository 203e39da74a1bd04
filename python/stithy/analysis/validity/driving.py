"""Did the hammer do what it was to do, in time?"""

from collections.abc import Iterable, Mapping
from typing import Any

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.head_room import head_room as head_room_of
from stithy.analysis.validity.head_room import is_late, lateness_allowed_s
from stithy.analysis.validity.identities import Identity
from stithy.analysis.validity.reason import Reason, clause
from stithy.units import format_duration

Row = Mapping[str, Any]

UNSERVED_SHARE = 0.01
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

    Source: docs/explanation/method.md, "Four instants".
    """
    if not is_late(window):
        return None
    late_s, allowed_s = window["lateness_p99_s"], lateness_allowed_s(window)
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


def contradicts_itself(window: Row, laws: Iterable[Identity]) -> Reason | None:
    """A law does not hold that must hold whatever the storage does; the first one is told.

    Edge case: failed transactions and lost users are told by themselves, and explain it.
    Source: docs/explanation/method.md, "Laws that must hold".
    """
    broken = next((law for law in laws if law.holds is False), None)
    if broken is None or not window["complete"] or window["errors"]:
        return None
    texts = {
        "law": broken.name,
        "left": f"{broken.left:.4g}",
        "right": f"{broken.right:.4g}",
        "allowed": f"{broken.tolerance_share or 0.0:.1%}",
    }
    return Reason(Flag.CONTRADICTION, texts)


def rate_not_kept(window: Row) -> Reason | None:
    """More was due in an open loop than was begun: users wait in a growing queue.

    Own: it is the storage's doing, so it makes nothing invalid.
    """
    unserved = window["unserved"]
    if window["rate_per_s"] is None or not unserved:
        return None
    due = unserved + (window["transactions"] or 0) + (window["errors"] or 0)
    if unserved <= UNSERVED_SHARE * due:
        return None
    share = f"{100 * unserved / due:.1f} %"
    return Reason(
        Flag.RATE_NOT_KEPT, {"unserved": f"{unserved:,}", "due": f"{due:,}", "share": share}
    )
