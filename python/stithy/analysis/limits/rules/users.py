"""The number of users itself: each does what one user can, and more of them would do more.

What nobody but more users could shorten: their pauses, and their own work on CPUs that have room.
In an open loop it is the rate that was asked for.
"""

from stithy.analysis.limits.rule import HALF, Answer, percent, unknown
from stithy.analysis.limits.sight import Sight

NAME = "users"
LETTER = "U"
WORDS = "the number of users"
SHORT = "user count"
HEADING = "Users' own time"
TOLD = "{share} of their time no storage could shorten"
HOLDS_FROM = HALF
IS_STORAGE = False

SERVED_SHARE = 0.99
"""Own: fewer may wait at any moment, without growing in number; see `validity.driving`."""

PROVEN_SHARE = 0.9
"""Source: N / Z bounds a closed loop with the pause Z; from nine tenths of it on, even a server
that took no time would give at most a ninth more. CPUs may be full beside it, with other work."""

PROPORTIONAL = 0.5
"""Own: growth by half as much as the users grew is growth; less is that of something that fills."""


def judge(sight: Sight) -> Answer:
    """Pauses and own work; own work counts only where the next level did more, if there is one.

    Source: the bound N / (Z + D) of a closed loop (Denning and Buzen, 1978).
    """
    if sight.is_open:
        return _asked(sight)
    paused, own = sight.pause_share, _own_work(sight)
    if paused is None:
        return unknown("the window has no response times")
    if own is None and paused < HOLDS_FROM:
        return unknown(sight.unseen.get("cpu") or sight.why_no_sessions)
    if own and sight.growth is not None and sight.growth.share < PROPORTIONAL:
        own = 0.0
    share = min(1.0, paused + (own or 0.0))
    return Answer(share, _says(paused, own or 0.0, sight), is_proven=paused >= PROVEN_SHARE)


def _asked(sight: Sight) -> Answer:
    """An open loop whose transactions are all served does what was asked of it and no more."""
    if sight.unserved_share is None:
        return unknown("the window has no transactions")
    served = 1 - sight.unserved_share
    if served < SERVED_SHARE:
        return Answer(0.0, f"{percent(sight.unserved_share)} of what was due was not begun")
    told = f"{percent(served)} of the transactions that were due were served"
    return Answer(served, told, is_proven=True)


def _own_work(sight: Sight) -> float | None:
    """Share of the users' time in which the server worked for them on a CPU, at least."""
    if sight.server is not None:
        busy = sight.server.used_share * sight.server.count
    elif sight.host is not None and (part := sight.part("cpu")) is not None:
        # The CPUs of the host work for others as well: at most as many sessions ran as were seen.
        busy = min(sight.host.used_share * sight.host.count, part * sight.places)
    else:
        return None
    busy = max(0.0, busy - (sight.others_cpus or 0.0))
    under_way = sight.places if sight.under_way is None else sight.under_way
    return min(1.0, busy / sight.places, under_way / sight.places)


def _says(paused: float, own: float, sight: Sight) -> str:
    told = f"pauses took {percent(paused)} of the users' time" if sight.paced else ""
    worked = f"the server's own work took {percent(own)} of their time" if own else ""
    if not told:
        worked = worked.replace("their time", "the users' time")
    more = ""
    if sight.growth is not None:
        more = f"{sight.growth.users} users did {sight.growth.factor:.2f} times as much"
    return "; ".join(each for each in (told, worked, more) if each)
