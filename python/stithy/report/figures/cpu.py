"""Where the CPU time of the host went, against users: one bar a level, one chart a candidate."""

from typing import Any

import altair as alt
import polars as pl

from stithy.report import metrics, palette
from stithy.report.chart import Rows, spec_of, values
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.wording import percent, plural

NAME = "cpu"
ORDER = 30
SECTION = "machine"

WORDS = {
    "user": "user", "system": "system", "other": "interrupts, steal", "iowait": "waiting for I/O",
    "idle": "idle",
}  # fmt: skip


def draw(context: Context) -> list[Drawn]:
    """One figure, or why it is not there."""
    rows = _rows(context)
    if not rows:
        return [Absent("cpu-by-users", "CPU states", "the collector `cpu` has no samples")]
    title = _title(context, rows)
    return [
        Figure(
            name="cpu-by-users",
            title=title,
            caption="Mean share of all CPUs of the host in each state during the measurement. The "
            "driver runs on the same host unless the study says otherwise.",
            description=f"{title}. Stacked bars of CPU states, one bar for each number of virtual "
            "users, one chart for each candidate.",
            footer=context.footer,
            spec=spec_of(_chart(context, rows)),
            table=PageTable(
                "cpu-by-users",
                "Share of CPU time by state",
                (
                    Show("users", "users", "count"), Show("candidate", "candidate"),
                    Show("state", "state"), Show("share", "share of all CPUs", "share"),
                ),
                pl.DataFrame(rows).select("users", "candidate", "state", "share"),
            ),
        )
    ]  # fmt: skip


def _rows(context: Context) -> Rows:
    """Share of each state by candidate and level, over its windows that have samples."""
    means = context.means.filter((pl.col("collector") == metrics.CPU) & (pl.col("subject") == ""))
    levels = means.group_by("candidate", "users", "metric").agg(pl.col("mean").mean())
    known = {(r["candidate"], r["users"], r["metric"]): r["mean"] for r in levels.to_dicts()}
    rows = []
    for name in context.evidence.candidates:
        for users in context.evidence.levels:
            for order, (state, parts) in enumerate(metrics.CPU_STATES.items()):
                found = [known[key] for part in parts if (key := (name, users, part)) in known]
                if found:
                    rows.append({
                        "users": users, "candidate": name, "state": WORDS[state], "order": order,
                        "share": sum(found),
                    })  # fmt: skip
    return rows


def _chart(context: Context, rows: Rows) -> Any:
    names = list(context.evidence.candidates)
    columns = min(len(names), 3)
    bars = (
        alt.Chart(values(rows))
        .mark_bar(stroke=palette.PAPER[0], strokeWidth=0.5)
        .encode(
            x=alt.X("users:O", title="Virtual users", axis=alt.Axis(labelAngle=0, grid=False)),
            y=alt.Y(
                "share:Q", title="Share of all CPUs", stack="zero",
                scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=5),
            ),
            color=alt.Color(
                "state:N",
                scale=alt.Scale(
                    domain=list(WORDS.values()),
                    range=[palette.STATE_COLOURS[state][0] for state in WORDS],
                ),
                legend=alt.Legend(title=None, orient="top", direction="horizontal"),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                "candidate:N", "users:O", "state:N", alt.Tooltip("share:Q", format=".1%")
            ],
        )
        .properties(width=620 // columns - 20, height=230)
    )  # fmt: skip
    return bars.facet(facet=alt.Facet("candidate:N", title=None, sort=names), columns=columns)


def _title(context: Context, rows: Rows) -> str:
    users = max(row["users"] for row in rows)
    idle = {
        row["candidate"]: row["share"]
        for row in rows
        if row["users"] == users and row["state"] == WORDS["idle"]
    }
    parts = [f"{percent(share)} idle with {name}" for name, share in idle.items()]
    if not parts or len(parts) > 3:
        return f"CPU states against users, up to {plural(users, 'user')}"
    return f"At {plural(users, 'user')} the CPUs were {', '.join(parts)}"
