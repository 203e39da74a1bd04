"""What was around a window: who watched it, and how much of the machine others took."""

from dataclasses import dataclass

import polars as pl

from stithy.analysis.values.series import Sampled
from stithy.results.tables import STOPPED, UNANSWERED
from stithy.validity import Row


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


def watched_of(samples: Sampled, windows: pl.DataFrame) -> dict[str, Watched]:
    """By window; a run that kept no series at all was not looked at."""
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
    """The collectors by window that came to an end of this kind, with whose server they watched."""
    kind = ends.filter(pl.col("missing_because").str.starts_with(why))
    keys = ("window_id", "collector", "instance")
    ended: dict[str, tuple[str, ...]] = {}
    for window_id, collector, instance in kind.select(keys).unique().sort(keys).iter_rows():
        name = f"{collector} of {instance}" if instance else collector
        ended[window_id] = (*ended.get(window_id, ()), name)
    return ended


OTHERS_CPU_SHARE = 0.05
"""Own: of all CPUs, on average; what an idle system does of its own is far less."""

OTHERS_BYTES_SHARE = 0.05
OTHERS_BYTES_PER_S = 2**20
"""Own: of what the disks moved in all, and not what logs of an idle system come to."""

STEAL_SHARE = 0.02
"""Own: as `stithy doctor` judges it."""


def taken_share(around: Row | None, watched: Watched) -> float | None:
    """The share of CPUs, or of what disks under the volumes moved, that was not the run's own.

    Edge cases: None where nobody counted; a disk that others hardly used counts as the run's.
    Own: the larger of both, as a window meets both at once.
    """
    if around is None or not around["span_s"] or not around["cpus"]:
        return None
    cpus = float(around["others_cpu_s"] / around["span_s"] / around["cpus"])
    disks = around["others_here_bytes"] / around["disks_bytes"] if is_disk_shared(around) else 0.0
    return max(cpus + (watched.steal_share or 0.0), float(disks))


def is_disk_shared(around: Row) -> bool:
    """Whether others moved so much on the disks that it must be reported."""
    moved, disks = around["others_here_bytes"], around["disks_bytes"]
    least = OTHERS_BYTES_PER_S * around["span_s"]
    return bool(disks) and moved > max(OTHERS_BYTES_SHARE * disks, least)
