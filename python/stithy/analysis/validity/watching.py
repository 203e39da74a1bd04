"""Did the collectors watch the window to its end?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason
from stithy.analysis.values.series import Sampled, sampled
from stithy.results.tables import STOPPED, UNANSWERED

Row = Mapping[str, Any]
Frames = Mapping[str, pl.DataFrame]

SAMPLED_SHARE = 0.8
SECONDS_SHARED = 2
"""Own: a sampler that loses more than a fifth of the seconds was starved, or died. At its ends a
window shares a second with what is before and after it."""


@dataclass(frozen=True)
class Watched:
    """What the collectors gave of a window's measurement.

    `stopped` are those that died by a fault, `unanswered` those that the server did not answer;
    what a machine does not have is neither. `seconds`: how many have any sample, None where nobody
    looked. `steal_share`: what the hypervisor gave to others, on average.
    """

    stopped: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    seconds: int | None = None
    steal_share: float | None = None


def watched(frames: Frames) -> dict[str, Watched]:
    """By window; a run that kept no series at all was not looked at.

    Own: a look into the table `series`.
    """
    series, windows = frames.get("series"), frames.get("window")
    if series is None or windows is None:
        return {}
    return watched_of(sampled([series], windows, {}), windows)


def watched_of(samples: Sampled, windows: pl.DataFrame) -> dict[str, Watched]:
    """The same, of what was kept of the samples.

    Own: a look-up.
    """
    if not samples.any_rows:
        return {}
    found = {row["window_id"]: row for row in samples.seen.to_dicts()}
    stopped, unanswered = _ended(samples.ended, STOPPED), _ended(samples.ended, UNANSWERED)
    return {
        name: Watched(
            stopped.get(name, ()),
            unanswered.get(name, ()),
            found[name]["seconds"] if name in found else 0,
            found[name]["steal_share"] if name in found else None,
        )
        for name in windows["window_id"].to_list()
    }


def _ended(ends: pl.DataFrame, why: str) -> dict[str, tuple[str, ...]]:
    """The collectors by window that came to an end of this kind."""
    kind = ends.filter(pl.col("missing_because").str.starts_with(why))
    rows = kind.select("window_id", "collector").unique().sort("window_id", "collector").to_dicts()
    ended: dict[str, tuple[str, ...]] = {}
    for row in rows:
        ended[row["window_id"]] = (*ended.get(row["window_id"], ()), row["collector"])
    return ended


def stopped(seen: Watched) -> Reason | None:
    """Collectors that stopped by a fault.

    Own: nobody knows what happened unseen.
    """
    if not seen.stopped:
        return None
    return Reason(Flag.COLLECTOR, {"collectors": ", ".join(seen.stopped)})


def unanswered(seen: Watched) -> Reason | None:
    """What is measured did not answer a collector.

    Own: a stall is its doing, so nothing becomes invalid by it.
    """
    if not seen.unanswered:
        return None
    return Reason(Flag.UNANSWERED, {"collectors": ", ".join(seen.unanswered)})


def silent(window: Row, seen: Watched) -> Reason | None:
    """The collectors were silent for too much of the measurement.

    Own: see the constants of this module.
    """
    begin_s, end_s = window["measure_from_s"], window["measure_to_s"]
    if seen.seconds is None or begin_s is None or end_s is None:
        return None
    length_s = end_s - begin_s
    if seen.seconds >= SAMPLED_SHARE * length_s - SECONDS_SHARED:
        return None
    texts = {"seconds": str(seen.seconds), "length": f"{length_s:.0f}"}
    return Reason(Flag.COLLECTORS_SILENT, texts)
