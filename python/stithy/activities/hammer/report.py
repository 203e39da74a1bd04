"""Where users and requests came from: by which agents, and over what network of a driver."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

import polars as pl

from stithy.activities.hammer.declared import AGENTS
from stithy.point import Point
from stithy.report.blocks import APPENDIX, SectionKind
from stithy.report.context import Context
from stithy.report.tables import Show, make_table
from stithy.statements import Statement

NOTE = (
    "Users of several agents are those that one host would have, each by its number, and so are "
    "workers of fio; counts are added and distributions merged. Backups are one agent's alone. "
    "Host: when the run was last begun. Missing in: windows in which it was lost or not there. "
    "Clock: how far the agent's clock was from that of the run, at most, before a window; ±: by "
    "how much that may be wrong, at most. Times are corrected by it only in windows in which it "
    "is more than that. Moved: by how much in a window, beyond what the measurement may be wrong "
    "by; a dash where no move was seen. Start: how long after the common start its driver was "
    "awake, at most; users' times count from the start all the same. CPU: mean share of one CPU "
    "that its load driver used, or its backups. Latency: of its fio's requests, p99 of the worst "
    "window."
)
"""What the columns are."""

SHOWS = (
    Show("agent", "Agent"), Show("host", "Host"), Show("cpus", "CPUs", "count"),
    Show("windows", "Windows", "count"),
    Show("missing", "Missing in", "count"), Show("users", "Users, at most", "count"),
    Show("iops", "IOPS", "rate"), Show("latency_mean_s", "Latency, mean", "duration"),
    Show("latency_p99_s", "Latency, p99", "duration"),
    Show("clock_off_s", "Clock", "duration"), Show("clock_within_s", "±", "duration"),
    Show("clock_moved_s", "Moved", "duration"),
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
            iops=(pl.col("requests") / pl.col("length_s")).mean(),
            latency_mean_s=pl.col("latency_mean_s").mean(),
            latency_p99_s=pl.col("latency_p99_s").max(),
            clock_off_s=pl.col("clock_ahead_s").abs().max(),
            clock_within_s=pl.col("clock_within_s").max(),
            clock_moved_s=pl.col("clock_moved_s").filter(pl.col("clock_moved_s") > 0).max(),
            start_late_s=pl.col("start_late_s").max(),
            lateness_mean_s=pl.col("lateness_mean_s").mean(),
            lateness_p99_s=pl.col("lateness_p99_s").max(),
            cpu_share=(pl.col("cpu_s") / pl.col("length_s")).mean(),
            missing_because=pl.col("missing_because").drop_nulls().first(),
        )
    )
    hosts = context.manifest.agent_hosts if context.manifest else {}
    return [{"host": hosts.get(row["agent"]), **row} for row in found.to_dicts()]


def list_missing(context: Context) -> Iterator[Statement]:
    """Name the agents that were missing in windows."""
    for row in list_agents(context):
        if row["missing"]:
            yield Statement(
                "Agent {agent} was missing in {missing} of {windows:+window}: {because} (details: "
                "Agents).",
                agent=row["agent"], missing=row["missing"], windows=row["windows"],
                because=row["missing_because"],
            )  # fmt: skip


NETWORK = "driver-network"
NETWORK_NOTE = (
    "These users came from a network namespace of this machine, over a link that a token bucket "
    "limits to the rate in each direction; others were on the server's machine, by its socket. "
    "Round trip: a byte there and back on the idle link just before the users began, median of "
    "101, then of the windows. Sent and received by the server's machine, means of the windows by "
    "the link's counters, which leave out the headers of packets that travel together. CPUs are "
    "those of this machine at both ends."
)
NETWORK_SHOWS = (
    Show("candidate", "Candidate"), Show("point", "At"), Show("windows", "Windows", "count"),
    Show("round_trip_s", "Round trip", "duration"), Show("sent", "Sent", "bandwidth"),
    Show("received", "Received", "bandwidth"), Show("share", "Of the rate, at most", "share"),
)  # fmt: skip


def list_networks(context: Context) -> list[dict[str, Any]]:
    """List the networks of load drivers, by candidate and point; none of local ones."""
    found: dict[tuple[str, Point], list[Mapping[str, Any]]] = {}
    for window in context.evidence.windows:
        if window.measured and window.row.get("link_bytes_per_s_max"):
            found.setdefault((window.candidate, window.point), []).append(window.row)
    return [_average(*key, rows) for key, rows in found.items()]


def _average(candidate: str, point: Point, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Average the windows of a point; what one of them lacks is left out."""

    def known(name: str) -> list[float]:
        return [row[f"link_{name}"] for row in rows if row[f"link_{name}"] is not None]

    sent, received = known("sent_bytes_per_s"), known("received_bytes_per_s")
    trips, most = known("round_trip_s"), max(known("bytes_per_s_max"))
    return {
        "candidate": candidate, "point": point.in_words(), "windows": len(rows),
        "round_trip_s": median(trips) if trips else None,
        "sent": fmean(sent) if sent else None, "received": fmean(received) if received else None,
        "share": max(sent + received) / most if sent or received else None,
    }  # fmt: skip


PLUGINS = (
    SectionKind(
        NETWORK, 13, "Network of the load driver",
        lambda page: page.set_usual(NETWORK, NETWORK_NOTE),
        make_tables=lambda page: [
            make_table(
                NETWORK, "Network of the load driver", NETWORK_SHOWS, list_networks(page.context)
            ).told("candidate", "point")
        ],
        needs_tables=("load",),
    ),
    SectionKind(
        AGENTS.name, APPENDIX + 100, "Agents",
        lambda page: page.set_usual(AGENTS.name, NOTE),
        make_tables=lambda page: [
            make_table(
                AGENTS.name, "What each agent did over all windows", SHOWS,
                list_agents(page.context),
            ).told("agent", "clock_moved_s")
        ],
        list_cautions=list_missing,
    ),
)  # fmt: skip
