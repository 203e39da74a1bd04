"""Did the collectors see the whole measurement?"""

from stithy.analysis.validity.record import WindowRecord
from stithy.analysis.validity.surroundings import Watched
from stithy.validity import Check, Flag, Reason, Row

NAME = "collectors"
ORDER = 70

COLLECTOR = Flag(
    "collector stopped",
    "Samples are missing from {collectors}, which stopped.",
    "The table `series` gives the reason. Throughput and response times are not affected.",
    unsampled=True,
)

UNANSWERED = Flag(
    "collector not answered",
    "The server did not answer {collectors} to the end.",
    "Throughput and response times are not affected. Figures of these series have gaps.",
)

COLLECTORS_SILENT = Flag(
    "no samples",
    "The collectors gave samples of {seconds} of {length} s.",
    "Leave CPU time for Stithy. Throughput and response times are not affected.",
    unsampled=True,
)


SAMPLED_SHARE = 0.8
SECONDS_SHARED = 2
"""Own: a sampler that loses more than a fifth of the seconds was starved, or died. At its ends a
window shares a second with what is before and after it."""


def stopped(seen: Watched) -> Reason | None:
    """Collectors that stopped by a fault.

    Own: what users did is counted elsewhere. Its own metrics of the window are missing.
    """
    return Reason(COLLECTOR, {"collectors": ", ".join(seen.stopped)}) if seen.stopped else None


def unanswered(seen: Watched) -> Reason | None:
    """What is measured did not answer a collector.

    Own: a stall is its doing, so nothing becomes invalid by it.
    """
    names = ", ".join(seen.unanswered)
    return Reason(UNANSWERED, {"collectors": names}) if names else None


def silent(window: Row, seen: Watched) -> Reason | None:
    """The collectors were silent for too much of the measurement."""
    begin_s, end_s = window["measure_from_s"], window["measure_to_s"]
    if seen.seconds is None or begin_s is None or end_s is None:
        return None
    length_s = end_s - begin_s
    if seen.seconds >= SAMPLED_SHARE * length_s - SECONDS_SHARED:
        return None
    texts = {"seconds": str(seen.seconds), "length": f"{length_s:.0f}"}
    return Reason(COLLECTORS_SILENT, texts)


CHECKS: tuple[Check[WindowRecord], ...] = (
    Check(("series",), lambda of: stopped(of.watched)),
    Check(("series",), lambda of: unanswered(of.watched)),
    Check(("series",), lambda of: silent(of.window, of.watched)),
)
