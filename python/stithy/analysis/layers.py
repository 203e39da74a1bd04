"""What was nearly full during a window: the simple statement of what limited it.

Only says what the collectors saw. Full rules for locks, commit log and bandwidth come later; where
nothing measured was nearly full it says just that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

CPU_FULL_SHARE = 0.90
DEVICE_FULL_SHARE = 0.90
"""Own: above nine tenths, queueing dominates; below it, another resource is likelier."""


@dataclass(frozen=True)
class Limit:
    """One resource that was nearly full: `what` in words, its mean use as a share of 1."""

    what: str
    use_share: float


def limits(window_id: str, means: pl.DataFrame) -> tuple[Limit, ...]:
    """The resources that were nearly full in a window, fullest first.

    `means`: as `series.means` gives it. Empty where nothing was, or nothing was measured.
    Own: thresholds above; the CPU counts as used when it is neither idle nor waiting for I/O.
    """
    rows = means.filter(pl.col("window_id") == window_id).to_dicts()
    cpus = (_cpu(rows, "", "the CPUs of the host"), _cpu(rows, "server", "the CPUs of the server"))
    found = [limit for limit in (*cpus, *_devices(rows)) if limit is not None]
    return tuple(sorted(found, key=lambda limit: -limit.use_share))


def _cpu(rows: Sequence[dict[str, object]], subject: str, what: str) -> Limit | None:
    shares = {
        str(row["metric"]): _number(row["mean"])
        for row in rows
        if row["collector"] == "cpu" and row["subject"] == subject
    }
    if "idle_share" not in shares:
        return None
    used = 1 - shares["idle_share"] - shares.get("iowait_share", 0.0)
    return Limit(what, used) if used >= CPU_FULL_SHARE else None


def _devices(rows: Sequence[dict[str, object]]) -> list[Limit]:
    return [
        Limit(f"the device {row['subject']}", _number(row["mean"]))
        for row in rows
        if row["collector"] == "block"
        and row["metric"] == "utilisation_share"
        and _number(row["mean"]) >= DEVICE_FULL_SHARE
    ]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
