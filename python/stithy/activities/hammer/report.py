"""Which agents drove the users: how late each was, what it cost, how far its clock was off."""

from typing import Any

import polars as pl

from stithy.activities.hammer.declared import AGENTS
from stithy.report.blocks import APPENDIX, SectionKind
from stithy.report.context import Context
from stithy.report.tables import Show, make_table

NOTE = (
    "Over all windows. Users of several agents are those that one host would have, each by its "
    "number; counts are added and distributions merged. Clock: how far the agent's clock was from "
    "that of the run, at most, before a window; times are corrected by it. Moved: by how much in "
    "a window, beyond what the measurement may be wrong by. Start: how long after the common start "
    "its users began, at most. CPU: mean share of one CPU that its load driver used."
)
"""What the columns are."""

SHOWS = (
    Show("agent", "Agent"), Show("cpus", "CPUs", "count"), Show("windows", "Windows", "count"),
    Show("missing", "Missing in", "count"), Show("users", "Users, at most", "count"),
    Show("clock_off_s", "Clock", "duration"), Show("clock_moved_s", "Moved", "duration"),
    Show("start_late_s", "Start", "duration"),
    Show("lateness_mean_s", "Lateness, mean", "duration"),
    Show("lateness_p99_s", "p99, at most", "duration"), Show("cpu_share", "CPU", "share"),
    Show("missing_because", "Missing because"),
)  # fmt: skip


def list_agents(context: Context) -> list[dict[str, Any]]:
    """List the agents of a run, each over all windows; none where one host drove the users."""
    lengths = {
        row["window_id"]: row["measure_to_s"] - row["measure_from_s"]
        for row in context.run.window.to_dicts()
        if None not in (row["measure_from_s"], row["measure_to_s"])
    }
    names = context.run.window["window_id"].to_list()
    frames = [frame for name in names if (frame := context.run.detail(AGENTS.name, name)).height]
    if not frames:
        return []
    length_s = pl.col("window_id").replace_strict(lengths, default=None, return_dtype=pl.Float64)
    found = (
        pl.concat(frames)
        .with_columns(length_s=length_s)
        .group_by("agent", maintain_order=True)
        .agg(
            pl.col("cpus").max(),
            windows=pl.len(),
            missing=pl.col("missing_because").count(),
            users=pl.col("users").max(),
            clock_off_s=pl.col("clock_ahead_s").abs().max(),
            clock_moved_s=pl.col("clock_moved_s").max(),
            start_late_s=pl.col("start_late_s").max(),
            lateness_mean_s=pl.col("lateness_mean_s").mean(),
            lateness_p99_s=pl.col("lateness_p99_s").max(),
            cpu_share=(pl.col("cpu_s") / pl.col("length_s")).mean(),
            missing_because=pl.col("missing_because").drop_nulls().first(),
        )
    )
    return list(found.to_dicts())


PLUGINS = (
    SectionKind(
        AGENTS.name, APPENDIX + 100, "Agents",
        lambda page: page.set_usual(AGENTS.name, NOTE),
        make_tables=lambda page: [
            make_table(AGENTS.name, "Agents", SHOWS, list_agents(page.context)).told("agent")
        ],
        needs_tables=("load",),
    ),
)  # fmt: skip
