"""What was around a window that a reader must know of: memory, caches, checkpoints, collectors."""

from collections.abc import Iterable, Mapping
from typing import Any

from stithy.analysis.canary import Canary, Off
from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.reason import Reason, clause
from stithy.units import format_size

Row = Mapping[str, Any]

STILL_CACHED_SHARE = 0.01
"""Own: of the restored bytes; less cannot be told from the noise of a cache."""


def still_cached(row: Row | None) -> Reason | None:
    """Pages of the restored files that could not be evicted.

    Edge case: on a file system in memory that is known beforehand.
    Own: see the constant of this module.
    """
    if row is None or row.get("resident_bytes") is None:
        return None
    cached, whole = row["resident_bytes"], row["size_bytes"]
    if cached <= STILL_CACHED_SHARE * whole:
        return None
    texts = {"size": format_size(cached), "whole": format_size(whole)}
    return Reason(Flag.STILL_CACHED, texts)


def memory_limit(window: Row) -> Reason | None:
    """The limit on server and page cache was not held, or was widened.

    Source: docs/explanation/method.md, "The same state".
    """
    note = window["memory_limit_note"]
    if not window["memory_limit_enforced"]:
        return Reason(Flag.MEMORY_LIMIT, {"because": clause(note or "the reason is not known")})
    if note:
        return Reason(Flag.MEMORY_LIMIT_WIDENED, {"because": clause(note)})
    return None


def checkpoint(window: Row) -> Reason | None:
    """No whole checkpoint fell into the measurement.

    Source: docs/explanation/method.md, "The same state".
    """
    return Reason(Flag.NO_CHECKPOINT) if window["checkpoints_inside"] == 0 else None


def gaps(collectors: Iterable[str]) -> Reason | None:
    """Collectors that stopped by a fault.

    Own: what a machine does not have is no gap.
    """
    names = sorted(set(collectors))
    return Reason(Flag.COLLECTOR, {"collectors": ", ".join(names)}) if names else None


def autovacuum(window: Row) -> Reason | None:
    """The server tidied up meanwhile.

    Own: it is ordinary work, but not the same in every window.
    """
    runs = window["autovacuum_runs"]
    if not runs:
        return None
    return Reason(Flag.AUTOVACUUM, {"runs": "once" if runs == 1 else f"{runs} times"})


def machine(canary: Canary | None) -> Reason | None:
    """The canary before its block was far off the others.

    Source: docs/explanation/method.md, "The machine stays the same".
    """
    if canary is None or not canary.off:
        return None
    return Reason(Flag.MACHINE_CHANGED, {"off": ", ".join(map(_off, canary.off))})


def _off(off: Off) -> str:
    """`one CPU did 23 % less`, `reads took 40 % longer`."""
    percent = f"{100 * abs(off.share):.0f} %"
    if off.gauge.column.endswith("_per_s"):
        return f"{off.gauge.what} did {percent} {'less' if off.share < 0 else 'more'}"
    return f"{off.gauge.what} took {percent} {'longer' if off.share > 0 else 'less long'}"
