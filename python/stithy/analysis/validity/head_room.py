"""How much of what the driver can do on its host a window asked of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ALLOWED_SHARE = 0.5
"""Own: twice the load leaves room for moments in which answers come in bunches."""


@dataclass(frozen=True)
class HeadRoom:
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


def head_room(window: Mapping[str, Any]) -> HeadRoom:
    """The head-room of one window, by its row of WINDOW.

    Edge cases: without numbers or without calibration nothing is known.
    Source: docs/explanation/method.md, "The driver's head-room".
    """
    begin_s, end_s, done = window["measure_from_s"], window["measure_to_s"], window["transactions"]
    measured = None not in (begin_s, end_s, done) and end_s > begin_s
    # What was due and not begun was asked for, too.
    asked = done + (window["unserved"] or 0) if measured else None
    rate_per_s = None if asked is None else asked / (end_s - begin_s)
    rate_max, users_max = window["driver_rate_per_s_max"], window["driver_users_max"]
    return HeadRoom(
        rate_per_s,
        rate_per_s / rate_max if rate_per_s is not None and rate_max else None,
        window["users"] / users_max if users_max else None,
    )
