"""The connections that users share: they wait for a free one."""

from stithy.analysis.limits.rule import HALF, Answer, percent
from stithy.analysis.limits.sight import Sight

NAME = "pool"
LETTER = "C"
WORDS = "the number of connections"
SHORT = "the connection pool"
HEADING = "Waits for a connection"
TOLD = "waits for one took {share} of the users' time"
HOLDS_FROM = HALF
IS_STORAGE = False


def judge(sight: Sight) -> Answer | None:
    """Users who wait for a connection at any moment, of all; None where each has its own.

    Own: a wait for a connection is a part of a user's time like any other.
    """
    if sight.pool_waiting is None or sight.is_open:
        return None
    share = min(1.0, sight.pool_waiting / sight.places)
    return Answer(share, f"waits for a connection took {percent(share)} of the users' time")
