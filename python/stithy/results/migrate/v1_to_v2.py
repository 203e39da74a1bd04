"""Version 1 grew while Stithy did: tables, columns and keys were added, and none changed or went.

Version 2 has all of them, and each of its files tells its own SHA-256. What a column says of runs
from before there was one follows from what Stithy could do by then: users never paused, nobody
searched, and no block was measured once more. The rest nobody knows, and it is null.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

NEW_TABLES = ("drives", "ledger", "ledger_findings", "surroundings", "canary", "histograms")

SO_FAR: Mapping[str, Mapping[str, str | int | bool]] = {
    "window": {"pace": "none", "profile": "specification", "tried": False, "attempt": 0},
    "canary": {"attempt": 0},
}
"""By table and column: what was so in all runs from before there was the column."""

_TIMES = ("mean", "min", "p50", "p90", "p95", "p99", "p999", "max")
_REALS = (
    "think_mean_s", "rate_per_s", "first_success_s", "longest_response_s", "driver_rate_per_s_max",
    "driver_others_share",
    "ledger_sync_max_s",
)  # fmt: skip
_INTEGERS = (
    "missed_starts", "unserved", "connections_opened", "connections_lost", "connections_reopened",
    "warehouses_touched", "warehouses_total", "database_bytes", "shared_buffers_bytes",
    "driver_nice", "driver_users_max", "ledger_acknowledged",
)  # fmt: skip
_TEXTS = ("ledger_problem", "ledger_unverified_because", "ledger_shares")

UNKNOWN: Mapping[str, Mapping[str, str]] = {
    "window": {
        **dict.fromkeys(_REALS, "real"),
        **dict.fromkeys(_INTEGERS, "integer"),
        **dict.fromkeys(_TEXTS, "text"),
    },
    "transactions": {f"pool_wait_{name}_s": "real" for name in _TIMES},
    "seconds": {"waiting": "integer"},
    "drives": {"device_mean_s": "real", "added_mean_s": "real"},
}
"""By table and column: the kind of what nobody knows of runs from before there was the column."""


def manifest(document: dict[str, Any]) -> dict[str, Any]:
    """The first runs told the metric of their question by its column; other keys may be absent."""
    plan = document.get("plan")
    if not isinstance(plan, dict):
        return document
    question = plan.get("question")
    if not isinstance(question, dict) or question.get("metric") != "response_p95_s":
        return document
    return {**document, "plan": {**plan, "question": {**question, "metric": "p95"}}}


def table(name: str, frame: "pl.DataFrame") -> "pl.DataFrame":
    """The table with the columns that it lacks."""
    import polars as pl

    kinds = {"real": pl.Float64(), "integer": pl.Int64(), "text": pl.String()}
    known = {
        column: pl.lit(value, None if isinstance(value, bool | str) else pl.Int64())
        for column, value in SO_FAR.get(name, {}).items()
    }
    unknown = {column: pl.lit(None, kinds[kind]) for column, kind in UNKNOWN.get(name, {}).items()}
    added = {**known, **unknown}
    return frame.with_columns(
        each.alias(column) for column, each in added.items() if column not in frame.columns
    )
