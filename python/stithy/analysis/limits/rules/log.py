"""The commit log: whoever commits waits until it is written and synced, or for others who do it."""

from stithy.analysis.limits.rule import HALF, Answer, at_most, percent, unknown
from stithy.analysis.limits.sight import Sight

NAME = "log"
LETTER = "L"
WORDS = "the commit log"
SHORT = "the commit log"
HEADING = "Waits for the log"
TOLD = "{share} of the users' time"
HOLDS_FROM = HALF
IS_STORAGE = True


def judge(sight: Sight) -> Answer:
    """Sessions that wait for the log to be written, synced or free, of all users.

    Where too few were seen, waits for all storage together can still be too short for a limit.
    Own: a part of the users' time.
    """
    part, most = sight.part("log"), sight.storage_share
    if part is None and most is not None and most < HOLDS_FROM:
        told = f"waits for storage of any kind took at most {at_most(most)} of the users' time"
        return Answer(most, told)
    if part is None:
        return unknown(sight.why_no_sessions)
    return Answer(part, f"waits for the commit log took {percent(part)} of the users' time")
