"""How much of a window's throughput was lost in stalls: seconds of a checkpoint, little done."""

from statistics import median

import polars as pl

from stithy.analysis.values.series import CHECKPOINT_WROTE
from stithy.metrics import ALL

STALLED_SHARE = 0.5
"""Own: a second with less than half of the usual throughput is a stall; they vary by less alone."""


def stalled_shares(checkpoints: pl.DataFrame, seconds: pl.DataFrame) -> dict[str, float]:
    """Lost throughput over that of a window without stalls, by window; as a share of 1.

    `checkpoints`: as `series.Sampled` has them; `seconds`: the table of that name. Only windows
    have an entry whose checkpoints were sampled. The usual throughput is the median of the seconds.
    Own: a checkpoint runs from its beginning until the server tells of its end, and whenever it
    writes buffers.
    """
    within = _within_checkpoints(checkpoints)
    done: dict[str, list[tuple[int, int]]] = {}
    measured = (pl.col("transaction") == ALL) & (pl.col("phase") == "measure")
    counted = pl.col("committed") + pl.col("rolled_back")
    for name, at_s, count in (
        seconds.filter(measured).select("window_id", "at_s", counted).iter_rows()
    ):
        done.setdefault(name, []).append((int(at_s), count))
    return {name: _lost(done[name], spans) for name, spans in within.items() if name in done}


def _lost(seconds: list[tuple[int, int]], within: set[int]) -> float:
    usual = median(done for _, done in seconds)
    lost = (
        usual - done for begun, done in seconds if begun in within and done < STALLED_SHARE * usual
    )
    return sum(lost) / (usual * len(seconds)) if usual else 0.0


def _within_checkpoints(checkpoints: pl.DataFrame) -> dict[str, set[int]]:
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
        # The first was told before the window: of it nothing is known but that it is over.
        if metric != CHECKPOINT_WROTE:
            told_before.add(name)
    return found
