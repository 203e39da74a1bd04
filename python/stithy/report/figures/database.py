"""Inside the database against users: write-ahead log, blocks read, what sessions wait for."""

from typing import Any

import altair as alt
import polars as pl

from stithy.report import metrics, palette
from stithy.report.chart import Axis, Rows, by_users, spec_of, values
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.titles import compare_title

NAME = "database"
ORDER = 50
SECTION = "database"

BYTES_PER_MB = 1e6


def draw(context: Context) -> list[Drawn]:
    """Log rate, reads, waits; each, or why it is not there."""
    return [
        _curve(
            context, "wal-by-users", metrics.WAL_BYTES, BYTES_PER_MB,
            "write-ahead log volume", "Write-ahead log (MB a second)",
            "Write-ahead log written by the server, megabytes (10⁶ bytes) a second.",
        ),
        _curve(
            context, "blocks-read-by-users", metrics.BLOCKS_READ, 1.0,
            "blocks read into the server's cache", "Blocks read a second",
            "Blocks of 8 KiB that were not in the server's own cache; the page cache may have had "
            "them.",
        ),
        _waits(context),
    ]  # fmt: skip


def _curve(
    context: Context, name: str, metric: str, divisor: float, noun: str, axis: str, caption: str
) -> Drawn:
    chosen = context.means.filter(
        (pl.col("collector") == metrics.DATABASE) & (pl.col("metric") == metric)
    )
    if chosen.is_empty():
        return Absent(name, noun, f"the collector `database` has no samples of `{metric}`")
    valid = {window.id: window.valid for window in context.evidence.windows}
    points: Rows = [
        {
            "users": row["users"], "candidate": row["candidate"], "block": row["block"],
            "value": row["mean"] / divisor, "valid": valid[row["window_id"]],
            "note": "valid" if valid[row["window_id"]] else "invalid",
        }
        for row in chosen.to_dicts()
    ]  # fmt: skip
    lines = _level_means(points)
    title = compare_title(context, lines, noun)
    return Figure(
        name=name,
        title=title,
        caption=caption,
        description=f"{title}. Line chart of {noun} against virtual users, one line a candidate.",
        footer=context.footer,
        spec=spec_of(by_users(context, Axis(axis), lines, points, height=240)),
        table=PageTable(
            name,
            axis,
            (
                Show("users", "users", "count"), Show("candidate", "candidate"),
                Show("block", "block", "count"), Show("value", axis, "rate"),
                Show("note", "validity"),
            ),
            pl.DataFrame(points),
        ),
    )  # fmt: skip


def _level_means(points: Rows) -> Rows:
    frame = pl.DataFrame(points).filter(pl.col("valid"))
    if frame.is_empty():
        return []
    return (
        frame.group_by("users", "candidate", maintain_order=True)
        .agg(pl.col("value").mean())
        .to_dicts()
    )


def _waits(context: Context) -> Drawn:
    chosen = context.means.filter(
        (pl.col("collector") == metrics.DATABASE) & (pl.col("metric") == metrics.WAITING)
    )
    if chosen.is_empty():
        return Absent("waits-by-users", "what sessions wait for", "no wait events were sampled")
    rows = (
        chosen.group_by("users", "candidate", pl.col("subject").alias("wait"), maintain_order=True)
        .agg(pl.col("mean").mean().alias("sessions"))
        .sort("users", "candidate", "wait")
    )
    kinds = (
        rows.group_by("wait")
        .agg(pl.col("sessions").sum())
        .sort(["sessions", "wait"], descending=[True, False])["wait"]
        .to_list()
    )
    title = f"Sessions waited most for {kinds[0] or 'events without a name'}"
    return Figure(
        name="waits-by-users",
        title=title,
        caption="Mean number of active sessions waiting, by type of wait event, sampled once a "
        "second; short waits are seen as often as they last.",
        description=f"{title}. Stacked bars of waiting sessions by type of wait event, one bar for "
        "each number of virtual users, one chart for each candidate.",
        footer=context.footer,
        spec=spec_of(_wait_chart(context, rows.to_dicts(), kinds)),
        table=PageTable(
            "waits-by-users",
            "Mean number of waiting sessions",
            (
                Show("users", "users", "count"), Show("candidate", "candidate"),
                Show("wait", "type of wait"), Show("sessions", "waiting sessions", "rate"),
            ),
            rows,
        ),
    )  # fmt: skip


def _wait_chart(context: Context, rows: Rows, kinds: list[str]) -> Any:
    names = list(context.evidence.candidates)
    columns = min(len(names), 3)
    colours = [palette.WAIT_COLOURS[n % len(palette.WAIT_COLOURS)][0] for n in range(len(kinds))]
    bars = (
        alt.Chart(values(rows))
        .mark_bar(stroke=palette.PAPER[0], strokeWidth=0.5)
        .encode(
            x=alt.X("users:O", title="Virtual users", axis=alt.Axis(labelAngle=0, grid=False)),
            y=alt.Y("sessions:Q", title="Waiting sessions", stack="zero"),
            color=alt.Color(
                "wait:N",
                scale=alt.Scale(domain=kinds, range=colours),
                legend=alt.Legend(title=None, orient="top", direction="horizontal"),
            ),
            tooltip=["candidate:N", "users:O", "wait:N", alt.Tooltip("sessions:Q", format=".3~g")],
        )
        .properties(width=620 // columns - 20, height=230)
    )
    return bars.facet(facet=alt.Facet("candidate:N", title=None, sort=names), columns=columns)
