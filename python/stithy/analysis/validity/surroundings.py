"""What was around a window: memory, caches, checkpoints, other programs, and who watched it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from stithy.analysis.validity.baseline import Baseline, Off
from stithy.analysis.validity.reasons import Flag, Reason, clause
from stithy.analysis.values.series import Sampled, sampled
from stithy.results.tables import STOPPED, UNANSWERED
from stithy.units import format_duration, format_size

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
    """The same, of what was kept of the samples."""
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
    """The collectors were silent for too much of the measurement."""
    begin_s, end_s = window["measure_from_s"], window["measure_to_s"]
    if seen.seconds is None or begin_s is None or end_s is None:
        return None
    length_s = end_s - begin_s
    if seen.seconds >= SAMPLED_SHARE * length_s - SECONDS_SHARED:
        return None
    texts = {"seconds": str(seen.seconds), "length": f"{length_s:.0f}"}
    return Reason(Flag.COLLECTORS_SILENT, texts)


STILL_CACHED_SHARE = 0.01
"""Own: of the restored bytes; less cannot be distinguished from the noise of a cache."""

OTHERS_CPU_SHARE = 0.05
"""Own: of all CPUs, on average; what an idle system does of its own is far less."""

OTHERS_BYTES_SHARE = 0.05
OTHERS_BYTES_PER_S = 2**20
"""Own: of what the disks moved in all, and not what logs of an idle system come to."""

STEAL_SHARE = 0.02
"""Own: as `stithy doctor` judges it."""

IDLE_BYTES = 2**20
"""Own: a file system that nobody uses writes some blocks about itself now and then."""


def still_cached(row: Row | None) -> Reason | None:
    """Pages of the restored files that could not be evicted.

    Edge case: on a file system in memory that is known beforehand.
    """
    if row is None or row.get("resident_bytes") is None:
        return None
    cached, whole = row["resident_bytes"], row["size_bytes"]
    if cached <= STILL_CACHED_SHARE * whole:
        return None
    texts = {"size": format_size(cached), "whole": format_size(whole)}
    return Reason(Flag.STILL_CACHED, texts)


def memory_limit(window: Row, around: Row | None = None) -> Reason | None:
    """The limit on server and page cache was not held, was lost, or was widened.

    One that could not be put is known and the same for all; one that was lost is a failure.
    Source: docs/explanation/method.md, "The same state".
    """
    note = window["memory_limit_note"]
    if around is not None and around["memory_limit_lost"]:
        return Reason(Flag.MEMORY_LIMIT_LOST, {"because": clause(around["memory_limit_lost"])})
    if not window["memory_limit_enforced"]:
        return Reason(Flag.MEMORY_LIMIT, {"because": clause(note or "the reason is not known")})
    if note:
        return Reason(Flag.MEMORY_LIMIT_WIDENED, {"because": clause(note)})
    return None


def checkpoint(window: Row, around: Row | None = None) -> Reason | None:
    """No whole checkpoint fell into the measurement, though one was due, or because none was.

    Edge case: where the server's rule is not known it is reported as if one had been due.
    Source: docs/explanation/method.md, "The same state".
    """
    if window["checkpoints_inside"] != 0:
        return None
    if around is None or around["checkpoint_after_s"] is None or around["log_bytes"] is None:
        return Reason(Flag.NO_CHECKPOINT, {"due": ""})
    length_s = window["measure_to_s"] - window["measure_from_s"]
    rule = (
        f"the server begins one after {format_duration(around['checkpoint_after_s'])} or "
        f"{format_size(around['checkpoint_after_bytes'])} of log"
    )
    due = length_s >= around["checkpoint_after_s"]
    if due or around["log_bytes"] >= around["checkpoint_after_bytes"]:
        # The log was read around the whole load, ramp-up and drain included.
        took, wrote = format_duration(round(around["span_s"])), format_size(around["log_bytes"])
        due_text = f", although one was due: {rule}, and it wrote {wrote} in {took}"
        return Reason(Flag.NO_CHECKPOINT, {"due": due_text})
    # Without the window's own numbers: all of a study are alike in it, and share a row.
    return Reason(Flag.SHORT_OF_CHECKPOINT, {"rule": rule})


def log_files_made(around: Row | None) -> Reason | None:
    """The server created log files during the measurement.

    Own: each one stalls all commits while it is filled and synced, as no long-running server would.
    """
    made = around["log_files_made"] if around is not None else None
    if not made:
        return None
    return Reason(Flag.LOG_FILES_MADE, {"files": "a file" if made == 1 else f"{made} files"})


def interference(around: Row | None, watched: Watched) -> Reason | None:
    """Others used CPUs or the disks under the volumes, or the hypervisor gave CPUs to others."""
    seen = [*_others(around)] if around is not None else []
    stolen = watched.steal_share
    if stolen is not None and stolen > STEAL_SHARE:
        seen.append(f"the hypervisor gave {100 * stolen:.0f} % of the CPUs to others")
    return Reason(Flag.INTERFERENCE, {"seen": "; ".join(seen)}) if seen else None


def taken_share(around: Row | None, watched: Watched) -> float | None:
    """The share of CPUs, or of what disks under the volumes moved, that was not the run's own.

    Edge cases: None where nobody counted; a disk that others hardly used counts as the run's.
    Own: the larger of both, as a window meets both at once.
    """
    if around is None or not around["span_s"] or not around["cpus"]:
        return None
    cpus = float(around["others_cpu_s"] / around["span_s"] / around["cpus"])
    disks = around["others_here_bytes"] / around["disks_bytes"] if _disks(around) else 0.0
    return max(cpus + (watched.steal_share or 0.0), float(disks))


def _disks(around: Row) -> bool:
    """Whether others moved so much on the disks that it must be reported."""
    moved, disks = around["others_here_bytes"], around["disks_bytes"]
    least = OTHERS_BYTES_PER_S * around["span_s"]
    return bool(disks) and moved > max(OTHERS_BYTES_SHARE * disks, least)


def _others(around: Row) -> Iterator[str]:
    who = f" ({around['others_names']})" if around["others_names"] else ""
    cpus = around["others_cpu_s"] / around["span_s"] if around["span_s"] else 0.0
    if cpus > OTHERS_CPU_SHARE * around["cpus"]:
        yield f"other programs used {cpus:.1f} of {around['cpus']} CPUs{who}"
        who = ""
    if _disks(around):
        moved, disks = format_size(around["others_here_bytes"]), format_size(around["disks_bytes"])
        yield f"other programs moved up to {moved} of {disks} on the disks under the volumes{who}"


def not_quiet(around: Row | None) -> Reason | None:
    """Devices of other candidates were used while this one was measured."""
    if around is None or (around["idle_bytes"] or 0) <= IDLE_BYTES:
        return None
    texts = {"size": format_size(around["idle_bytes"]), "names": around["idle_names"] or "others"}
    return Reason(Flag.NOT_QUIET, texts)


def autovacuum(window: Row) -> Reason | None:
    """The server tidied up meanwhile.

    Own: it is ordinary work, but not the same in every window.
    """
    runs = window["maintenance_runs"]
    if not runs:
        return None
    return Reason(Flag.AUTOVACUUM, {"runs": "once" if runs == 1 else f"{runs} times"})


def machine(baseline: Baseline | None) -> Reason | None:
    """The baseline check before its block was far off the others.

    Source: docs/explanation/method.md, "Baseline checks of the machine".
    """
    if baseline is None or not baseline.off:
        return None
    return Reason(Flag.MACHINE_CHANGED, {"off": ", ".join(map(_off, baseline.off))})


def _off(off: Off) -> str:
    """`one CPU did 23 % less`, `reads took 40 % longer`."""
    percent = f"{100 * abs(off.share):.0f} %"
    if off.gauge.is_rate:
        return f"{off.gauge.what} did {percent} {'less' if off.share < 0 else 'more'}"
    return f"{off.gauge.what} took {percent} {'longer' if off.share > 0 else 'shorter'}"
