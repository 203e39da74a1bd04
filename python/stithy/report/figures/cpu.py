"""Where the CPU time of the host went, against users: one bar a level, one chart a candidate."""

import polars as pl

from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import PERCENT, Axis, Stack, bars_by_users
from stithy.report.drawing.compose import Drawing, Rows
from stithy.report.figure import Absent, Drawn
from stithy.report.tables import PageTable, Show
from stithy.report.words import servers
from stithy.report.words.wording import listing, percent

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
        return [Absent("cpu-by-users", "CPU states", "no valid window has samples of `cpu`")]
    programs = _programs(context)
    drawing = Drawing()
    colours = {words: palette.STATE_COLOURS[state][0] for state, words in WORDS.items()}
    stack = Stack(Axis("Share of all CPUs", format=PERCENT), (0.0, 1.0), colours)
    return [
        drawing.figure(
            context, "cpu-by-users", _title(context, rows),
            bars_by_users(context, drawing, rows, stack),
            PageTable(
                "cpu-by-users", "Share of CPU time by state",
                (
                    context.axis_show, Show("candidate", "candidate"),
                    Show("part", "state"), Show("value", "share of all CPUs", "share"),
                ),
                pl.DataFrame(rows).select(context.axis.name, "candidate", "part", "value"),
            ),
            caption="Mean share of all CPUs of the host in each state, during the measurements of "
            f"the valid windows. It includes {programs}.",
            description="Stacked bars of CPU states, one bar for each "
            f"{'number of ' * context.axis.counts}{context.axis.plural}, one chart for each "
            "candidate.",
        )
    ]  # fmt: skip


def _programs(context: Context) -> str:
    """What ran on the host: a server by URL may be elsewhere."""
    if "load" not in context.tables:
        return "all programs"
    server = "" if servers.are_there(context.manifest) else ", the server"
    return f"the driver{server} and all other programs"


def _rows(context: Context) -> Rows:
    """Share of each state by candidate and level, over its windows that have samples."""
    means = context.valid_means.filter(collector=metrics.CPU, subject="")
    levels = means.group_by("candidate", "point", "metric").agg(pl.col("mean").mean())
    known = {(r["candidate"], r["point"], r["metric"]): r["mean"] for r in levels.to_dicts()}
    rows = []
    for name in context.evidence.candidates:
        for point in context.evidence.levels:
            for order, (state, parts) in enumerate(metrics.CPU_STATES.items()):
                found = [known[key] for part in parts if (key := (name, str(point), part)) in known]
                if found:
                    rows.append({
                        **context.place(point), "candidate": name, "part": WORDS[state],
                        "order": order, "value": sum(found),
                    })  # fmt: skip
    return rows


def _title(context: Context, rows: Rows) -> str:
    level = max(row["level"] for row in rows)
    idle = {
        row["candidate"]: row["value"]
        for row in rows
        if row["level"] == level and row["part"] == WORDS["idle"]
    }
    parts = [f"{percent(share)} idle with {name}" for name, share in idle.items()]
    highest = context.level(context.level_at(level))
    if not parts or len(parts) > 3:
        return f"CPU states by level, up to {highest}"
    return f"At {highest} the CPUs were {listing(parts)}"
