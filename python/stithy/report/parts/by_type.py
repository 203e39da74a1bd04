"""The table of transaction types: which of them suffers on which candidate."""

from typing import Any

import polars as pl

from stithy.analysis.evidence import Evidence
from stithy.metrics import ALL, Quantity, values_needed
from stithy.report.context import Context
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import upper_bound

PERCENTILES = ("p50", "p95")

NOTE = (
    "Ratios are paired by block, as those of the verdicts; they describe, and are not adjusted for "
    "how many types there are. A dash means that fewer than 100 values lie beyond the percentile: "
    "of all valid windows, or for a ratio of each."
)
"""What stands below the table."""

Row = dict[str, Any]


def table(context: Context) -> PageTable:
    """One row a type, percentile and pair of candidates, at the level that the answer tells of.

    Empty with a single candidate. Where nothing of a percentile is known it has no row.
    """
    evidence, users = context.evidence, context.level_told
    first, *others = evidence.candidates or ("",)
    rows = [
        _row(evidence, users, (first, name), Quantity(percentile, kind))
        for kind in _types(evidence)
        for percentile in PERCENTILES
        for name in others
        if users is not None
    ]
    known = [row for row in rows if row["a_s"] is not None or row["b_s"] is not None]
    return PageTable(
        "types", _caption(context), _shows(context, known), pl.DataFrame(known, schema=_SCHEMA)
    )


_SCHEMA: Row = {
    "transaction": pl.String, "percentile": pl.String, "users": pl.Int64, "a": pl.String,
    "b": pl.String, "a_s": pl.Float64, "b_s": pl.Float64, "ratio": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "blocks": pl.Int64, "missing_because": pl.String,
}  # fmt: skip


def _caption(context: Context) -> str:
    level = "" if context.level_told is None else f" at {context.level(context.level_told)}"
    return f"Response time by transaction type{level}"


def _shows(context: Context, rows: list[Row]) -> tuple[Show, ...]:
    names = context.evidence.candidates
    is_pair = len(names) == 2
    of = {"a_s": names[0], "b_s": names[1]} if is_pair else {"a_s": "of the first", "b_s": "of it"}
    ratio = f"{names[1]} ÷ {names[0]}" if is_pair else "Ratio to the first"
    shows = [
        Show("transaction", "Transaction"), Show("percentile", "Percentile"),
        *(() if is_pair else (Show("b", "Candidate"),)),
        *(Show(column, text, "duration") for column, text in of.items()),
        Show("ratio", ratio, "ratio"),
    ]  # fmt: skip
    if any(row["low"] is not None for row in rows):
        high = upper_bound(row["blocks"] for row in rows)
        shows += [Show("low", "from", "ratio"), Show("high", high, "ratio")]
    return tuple(shows)


def _types(evidence: Evidence) -> list[str]:
    named = (kind for window in evidence.windows for kind in window.transactions)
    return [kind for kind in dict.fromkeys(named) if kind != ALL]


def _row(evidence: Evidence, users: int, pair: tuple[str, str], quantity: Quantity) -> Row:
    effect = evidence.effect(*pair, users, quantity)
    a_s, b_s = (_level(evidence, name, users, quantity) for name in pair)
    return {
        "transaction": quantity.of, "percentile": quantity.metric, "users": users,
        "a": pair[0], "b": pair[1], "a_s": a_s, "b_s": b_s, "ratio": effect.ratio,
        "low": effect.low, "high": effect.high, "blocks": effect.pairs,
        "missing_because": effect.missing_because,
    }  # fmt: skip


def _level(evidence: Evidence, name: str, users: int, quantity: Quantity) -> float | None:
    """The percentile over all valid windows, where enough of their values lie beyond it."""
    count = sum(each.completed(quantity.of or ALL) for each in evidence.valid_at(name, users))
    if count < values_needed(quantity.known.percent or 0.0):
        return None
    return evidence.level_of(name, users, quantity)
