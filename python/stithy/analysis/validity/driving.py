"""Did the hammer do what it was to do, in time?"""

from collections.abc import Mapping
from typing import Any

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
