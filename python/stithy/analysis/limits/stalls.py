"""How much of a window's throughput was lost in stalls: seconds of a checkpoint, little done."""

from statistics import median

import polars as pl

from stithy.metrics import ALL

METRICS = ("last_checkpoint_at_s", "checkpoint_buffers_per_s")
"""What of the collector `database` tells when a checkpoint ran."""

STALLED_SHARE = 0.5
"""Own: a second with less than half of the usual throughput is a stall; they vary by less alone."""


def stalled_shares(samples: pl.DataFrame, seconds: pl.DataFrame) -> dict[str, float]:
    """Lost throughput over that of a window without stalls, by window; as a share of 1.

    `samples`: those of `METRICS` that have a value; `seconds`: the table of that name. Only windows
    have an entry whose checkpoints were sampled. The usual throughput is the median of the seconds.
    Own: a checkpoint runs from its beginning until the server tells of its end, and whenever it
    writes buffers.
    """
    within = _within_checkpoints(samples)
    done = seconds.filter((pl.col("transaction") == ALL) & (pl.col("phase") == "measure")).select(
        "window_id",
        pl.col("at_s").floor().cast(pl.Int64).alias("begun"),
        (pl.col("committed") + pl.col("rolled_back")).alias("done"),
    )
    found = {}
    for (name,), rows in done.group_by(["window_id"], maintain_order=True):
        if name in within:
            found[str(name)] = _lost(rows.select("begun", "done").rows(), within[str(name)])
    return found


def _lost(seconds: list[tuple[int, int]], within: set[int]) -> float:
    usual = median(done for _, done in seconds)
    lost = (
        usual - done for begun, done in seconds if begun in within and done < STALLED_SHARE * usual
    )
    return sum(lost) / (usual * len(seconds)) if usual else 0.0


def _within_checkpoints(samples: pl.DataFrame) -> dict[str, set[int]]:
    """The whole seconds in which a checkpoint ran, by window; for each window that was sampled."""
    begins = samples.filter(pl.col("metric") == "last_checkpoint_at_s")
    found: dict[str, set[int]] = {}
    for (name,), rows in begins.sort("at_s").group_by(["window_id"], maintain_order=True):
        told = rows.select("value", "at_s").unique("value", keep="first", maintain_order=True)
        # The first was told before the window: of it nothing is known but that it is over.
        spans = told.rows()[1:]
        found[str(name)] = {
            second for began_s, told_s in spans for second in range(int(began_s), int(told_s) + 1)
        }
    writes = samples.filter(
        (pl.col("metric") == "checkpoint_buffers_per_s") & (pl.col("value") > 0)
    )
    for name, at_s in writes.select("window_id", "at_s").iter_rows():
        # A sample tells of the second before it.
        found.setdefault(name, set()).update((int(at_s) - 1, int(at_s)))
    return found
