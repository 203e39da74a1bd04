"""Locks: of rows, that other transactions hold, and those inside the server."""

from stithy.analysis.limits.rule import HALF, Answer, percent, unknown
from stithy.analysis.limits.sight import Sight

NAME = "locks"
LETTER = "X"
WORDS = "locks"
SHORT = "locks"
HEADING = "Waits for locks"
TOLD = "{share} of the users' time"
HOLDS_FROM = HALF
IS_STORAGE = False


def judge(sight: Sight) -> Answer:
    """Sessions that wait for a lock, of all users; the commonest one is told.

    Own: a part of the users' time.
    """
    part = sight.part("locks")
    if part is None or sight.sessions is None:
        return unknown(sight.why_no_sessions)
    waits = {
        event: mean
        for event, mean in sight.sessions.events.items()
        if event.startswith(("Lock:", "LWLock:", "BufferPin")) and "WAL" not in event
    }
    most = f" (most of all {max(waits, key=lambda event: waits[event])})" if waits else ""
    return Answer(part, f"waits for locks took {percent(part)} of the users' time{most}")
