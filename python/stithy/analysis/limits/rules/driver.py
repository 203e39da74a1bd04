"""The load driver: late, near to what it can do on its host, or far from the server."""

from stithy.analysis.limits.rule import HALF, Answer, percent, unknown
from stithy.analysis.limits.sight import Sight

NAME = "driver"
LETTER = "I"
WORDS = "the load driver"
SHORT = "the load driver"
HEADING = "Driver"
TOLD = ""
HOLDS_FROM = HALF
IS_STORAGE = False


def judge(sight: Sight) -> Answer:
    """All where it was late; else its part of the bound, or what users spent outside the server.

    Outside are the driver itself, the network, and what lies between the statements of a
    transaction.
    Source: docs/explanation/method.md, "The driver's head-room". Own: time outside.
    """
    if sight.late is not None:
        return Answer(1.0, sight.late, is_proven=True)
    outside, asked = _outside(sight), sight.head_room.share
    if outside is not None and outside >= max(HOLDS_FROM, asked or 0.0):
        return Answer(outside, f"{percent(outside)} of the users' time passed outside the server")
    if asked is None:
        return unknown("the driver's head-room is not proven")
    return Answer(min(1.0, asked), f"the driver was asked for {percent(asked)} of what it can do")


def _outside(sight: Sight) -> float | None:
    """Share of the users' time under way, neither in the server nor in wait for a connection."""
    if sight.under_way is None or sight.sessions is None or not sight.enough:
        return None
    inside = sight.sessions.active + (sight.pool_waiting or 0.0)
    return max(0.0, min(1.0, (sight.under_way - inside) / sight.places))
