"""Stalls, seconds in which hardly anything was done: their causes, and what checkpoints cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import polars as pl

from stithy.analysis.bottlenecks.observation import DEVICE, LOCKS, LOG
from stithy.analysis.series import CHECKPOINT_WROTE
from stithy.engines.declaration import Declaration
from stithy.metrics import ALL

STALLED_SHARE = 0.5
"""Own: a second with less than half of the usual throughput is a stall; they vary by less alone."""


def estimate_stalled_shares(checkpoints: pl.DataFrame, seconds: pl.DataFrame) -> dict[str, float]:
    """Lost throughput over that of a window without stalls, by window; as a share of 1.

    `checkpoints`: as `series.Sampled` has them; `seconds`: the table of that name. Only windows
    have an entry whose checkpoints were sampled. The usual throughput is the median of the seconds.
    Own: a checkpoint runs from its beginning until the server tells of its end, and whenever it
    writes buffers.
    """
    within, done = _list_checkpoint_seconds(checkpoints), _list_done(seconds)
    found = {}
    for name, counts in done.items():
        if name in within:
            usual = median(count for _, count in counts)
            inside = (count for begun, count in counts if begun in within[name])
            lost = sum(usual - count for count in inside if count < STALLED_SHARE * usual)
            found[name] = lost / (usual * len(counts)) if usual else 0.0
    return found


def _list_checkpoint_seconds(checkpoints: pl.DataFrame) -> dict[str, set[int]]:
    """The whole seconds in which a checkpoint ran, by window; for each window that was sampled."""
    found: dict[str, set[int]] = {}
    told_before: set[str] = set()
    rows = checkpoints.sort("at_s").select("window_id", "metric", "value", "at_s").iter_rows()
    for name, metric, value, at_s in rows:
        spans = found.setdefault(name, set())
        if metric == CHECKPOINT_WROTE:
            spans.update((int(at_s) - 1, int(at_s)))  # a sample tells of the second before it
        elif name in told_before:
            spans.update(range(int(value), int(at_s) + 1))
        # The first was reported before the window: of it nothing is known but that it is over.
        if metric != CHECKPOINT_WROTE:
            told_before.add(name)
    return found


UNKNOWN = "unknown"

CAUSES = {
    "log-file": "creation of a log file",
    "checkpoint": "checkpoints",
    "flush": "flushes of the drive",
    "log": "waits for the commit log",
    "data": "waits for data files",
    "locks": "lock waits",
    "pool": "waits for a connection",
    UNKNOWN: "unknown cause",
}
"""What a stall may have as its cause, the surest first, and how a sentence names it."""

CHANCE_DEVIATIONS = 4.0
"""Own: with fewer transactions a second than these deviations need, chance looks like a stall."""

FLUSH_FACTOR, FLUSH_SHARE = 5.0, 0.5
"""Own: a flush stalls where its mean is so many times its median and took half of a second."""

COMMON_SHARE = 0.5
"""Own: checkpoints that ran half of the time run in half of all stalls whatever causes them."""

WAITS = {DEVICE: "data", LOG: "log", LOCKS: "locks"}


@dataclass(frozen=True)
class ServerStall:
    """A second of a window in which its users stood still, and the cause that samples show.

    `lost_share`: the part of the second in which they did, by the usual work of one.
    """

    window_id: str
    begun_s: int
    lost_share: float
    cause: str


def find_stalled_seconds(seconds: pl.DataFrame) -> dict[str, dict[int, float]]:
    """The stalled seconds of each window, by their Unix time, with the share that was lost.

    A window is there where a stall could be seen: with too few transactions a second chance alone
    gives seconds with hardly any.
    """
    found: dict[str, dict[int, float]] = {}
    for name, done in _list_done(seconds).items():
        usual = median(count for _, count in done)
        least = min(STALLED_SHARE * usual, usual - CHANCE_DEVIATIONS * usual**0.5)
        if least > 0:
            found[name] = {at: 1 - count / usual for at, count in done if count < least}
    return found


def explain_stalls(
    seconds: pl.DataFrame,
    checkpoints: pl.DataFrame,
    samples: pl.DataFrame,
    pooled: Mapping[str, int],
    engine: Declaration,
) -> tuple[ServerStall, ...]:
    """Each stalled second with its cause, as far as samples of it show one.

    `seconds`: the table of that name; `checkpoints`: as `series.Sampled` has them; `samples`: rows
    of `series` of the stalled windows, of what `SIGNS` names. `pooled`: of windows whose users
    share connections, how many users these are. `engine`: what the servers' engine declares.
    Edge case: where no sample shows a cause it is `unknown`.
    Own: the first of `CAUSES` of which there is a sign; what only coincides is none.
    """
    checkpointed, done = _list_checkpoint_seconds(checkpoints), _list_done(seconds)
    # Transactions that were due and not begun, by window and second.
    known = seconds.filter((pl.col("transaction") == ALL) & pl.col("waiting").is_not_null())
    rows = known.select("window_id", "at_s", "waiting").iter_rows()
    waiting = {(name, int(at_s)): count for name, at_s, count in rows}
    waits, flushes = _list_waits(samples), _list_flushes(samples)
    found = []
    for name, lost in find_stalled_seconds(seconds).items():
        inside = checkpointed.get(name, set())
        if len(inside) >= COMMON_SHARE * len(done[name]):
            inside = set()
        for at, share in sorted(lost.items()):
            signs = _wait_signs(waits.get((name, at), {}), engine)
            signs |= {"checkpoint"} if at in inside else set()
            # A request is counted when it ends, which is after the second that it stalled.
            signs |= {"flush"} if {at, at + 1} & flushes.get(name, set()) else set()
            users = pooled.get(name)
            signs |= {"pool"} if users and 2 * waiting.get((name, at), 0) >= users else set()
            cause = next((each for each in CAUSES if each in signs), UNKNOWN)
            found.append(ServerStall(name, at, share, cause))
    return tuple(found)


SIGNS = {"database": ("waiting_sessions_by_event",), "block": ("flushes_per_s", "flush_latency_s")}
"""What of each collector shows causes."""


def _list_done(seconds: pl.DataFrame) -> dict[str, list[tuple[int, int]]]:
    done: dict[str, list[tuple[int, int]]] = {}
    measured = (pl.col("transaction") == ALL) & (pl.col("phase") == "measure")
    counted = pl.col("committed") + pl.col("rolled_back")
    for name, at_s, count in (
        seconds.filter(measured).select("window_id", "at_s", counted).iter_rows()
    ):
        done.setdefault(name, []).append((int(at_s), count))
    return done


def _list_waits(samples: pl.DataFrame) -> dict[tuple[str, int], dict[str, float]]:
    found: dict[tuple[str, int], dict[str, float]] = {}
    events = samples.filter(pl.col("collector") == "database")
    for name, at_s, event, value in events.select(
        "window_id", "at_s", "subject", "value"
    ).iter_rows():
        found.setdefault((name, int(at_s)), {})[event] = value
    return found


def _wait_signs(events: Mapping[str, float], engine: Declaration) -> set[str]:
    """What half of the active sessions or more wait for; a log file is created by one of them."""
    groups: dict[str, float] = {}
    for event, value in events.items():
        group = engine.wait_group(event)
        groups[group] = groups.get(group, 0.0) + value
    active = sum(groups.values())
    signs = {WAITS[name] for name, value in groups.items() if name in WAITS and 2 * value >= active}
    made = any(engine.is_log_creation(event) and value for event, value in events.items())
    return signs | ({"log-file"} if made else set())


def _list_flushes(samples: pl.DataFrame) -> dict[str, set[int]]:
    keys = ["window_id", "subject", "at_s"]
    of_block = samples.filter(pl.col("collector") == "block")
    rate, latency = (
        of_block.filter(pl.col("metric") == metric).select(*keys, pl.col("value").alias(name))
        for metric, name in (("flushes_per_s", "rate"), ("flush_latency_s", "latency"))
    )
    both = rate.join(latency, on=keys).filter(pl.col("rate") > 0)
    usual = pl.col("latency").median().over("window_id", "subject")
    slow = (pl.col("latency") > FLUSH_FACTOR * usual) & (
        pl.col("rate") * pl.col("latency") >= FLUSH_SHARE
    )
    found: dict[str, set[int]] = {}
    for name, at_s in both.filter(slow).select("window_id", "at_s").iter_rows():
        # A sample covers the second before it.
        found.setdefault(name, set()).update((int(at_s) - 1, int(at_s)))
    return found
