"""Response time against users: median, 95th and 99th percentile, over all and by transaction."""

from typing import Any

import altair as alt
import polars as pl

from stithy.report.chart import Axis, Rows, by_users, spec_of, window_rows
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.titles import compare_title

NAME = "response"
ORDER = 20
SECTION = "response"

PERCENTILES = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
MS_PER_S = 1000.0
AXIS = Axis("Response time (ms)", log=True, format="~s")


def draw(context: Context) -> list[Drawn]:
    """All transactions together, then each type."""
    return [_together(context), _by_transaction(context)]


def _together(context: Context) -> Drawn:
    panels, rows = [], []
    for key, words in PERCENTILES.items():
        lines, points = window_rows(context, f"response_{key}_s")
        rows += [{"percentile": key, **point} for point in points]
        panels.append((words, lines, points))
    if not rows:
        return Absent("response-by-users", "response times", "no window has response times")
    title = compare_title(context, panels[1][1], "95th percentile of response time")
    charts = [
        by_users(context, AXIS, _ms(lines), _ms(points), width=190, height=260).properties(
            title=words
        )
        for words, lines, points in panels
    ]
    chart = alt.hconcat(*charts).resolve_scale(y="shared")
    return Figure(
        name="response-by-users",
        title=title,
        caption="Response time over all transaction types, from the moment a user meant to act to "
        "the answer, retries and waiting included. Logarithmic axis.",
        description=f"{title}. Three line charts of response time against virtual users: median, "
        "95th and 99th percentile, one line for each candidate.",
        footer=context.footer,
        spec=spec_of(chart),
        table=_table("response-by-users", "Response time by percentile", rows, "percentile"),
    )


def _by_transaction(context: Context) -> Drawn:
    kinds = list(
        dict.fromkeys(
            kind
            for window in context.evidence.windows
            for kind in window.transactions
            if kind != "all"
        )
    )
    rows: Rows = []
    grid = [_transaction_row(context, kind, rows) for kind in kinds]
    if not rows:
        return Absent(
            "response-by-transaction", "response times of each type", "no window has them"
        )
    chart = alt.vconcat(*grid)
    return Figure(
        name="response-by-transaction",
        title=f"Response times of the {len(kinds)} transaction types",
        caption="Median, 95th and 99th percentile of each transaction type; every row of charts "
        "has its own logarithmic axis.",
        description="Grid of line charts of response time against virtual users: one row for each "
        f"transaction type ({', '.join(kinds)}), one column for each percentile.",
        footer=context.footer,
        spec=spec_of(chart),
        table=_table(
            "response-by-transaction", "Response time by transaction type", rows, "transaction",
            "percentile",
        ),
    )  # fmt: skip


def _transaction_row(context: Context, kind: str, rows: Rows) -> Any:
    charts = []
    for key, words in PERCENTILES.items():
        points = _points(context, kind, f"response_{key}_s")
        rows += [{"transaction": kind, "percentile": key, **point} for point in points]
        chart = by_users(
            context, AXIS, _ms(_level_lines(points)), _ms(points), width=190, height=130
        )
        charts.append(chart.properties(title=f"{kind}, {words}"))
    return alt.hconcat(*charts).resolve_scale(y="shared")


def _points(context: Context, kind: str, metric: str) -> Rows:
    """A point for each window that has the transaction type."""
    return [
        {
            "users": window.users, "candidate": window.candidate, "block": window.block,
            "value": float(value), "valid": window.valid,
            "note": "valid" if window.valid else "invalid",
        }
        for window in context.evidence.windows
        if window.measured and (value := window.transactions.get(kind, {}).get(metric)) is not None
    ]  # fmt: skip


def _level_lines(points: Rows) -> Rows:
    """The median window of each candidate and level; percentiles are never averaged."""
    if not any(point["valid"] for point in points):
        return []
    frame = pl.DataFrame(points).filter(pl.col("valid"))
    return (
        frame.group_by("users", "candidate", maintain_order=True)
        .agg(pl.col("value").median())
        .to_dicts()
    )


def _ms(rows: Rows) -> Rows:
    return [{**row, "value": row["value"] * MS_PER_S} for row in rows if row["value"] > 0]


def _table(name: str, caption: str, rows: Rows, *groups: str) -> PageTable:
    return PageTable(
        name,
        caption,
        (
            *(Show(group, group) for group in groups),
            Show("users", "users", "count"), Show("candidate", "candidate"),
            Show("block", "block", "count"), Show("value", "response time", "duration"),
            Show("note", "validity"),
        ),
        pl.DataFrame(rows),
    )  # fmt: skip
