"""Other hosts: what their exporters show, beside what this machine shows of itself."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from stithy.analysis.exporters import EXPORTERS, find_well_read
from stithy.report.blocks import (
    Block,
    FigureKind,
    SectionKind,
    set_bullets,
    set_figures,
    set_grid,
    set_paragraph,
)
from stithy.report.context import Context
from stithy.report.drawing.chart import PERCENT, Axis
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import average_levels, read_means
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.results.tables import Row
from stithy.units import format_list

NAME, PARTS, READ, FIGURE = "hosts", "host-parts", "exporters", "idle-of-hosts"
TITLE = "Other hosts"
HERE = "this machine"
LOCAL = ("cpu", "memory", "block", "network")
OFFSET_LEAST_S = 1.0
"""Own: the header Date alone is known within half a second."""

OF_HOSTS = (
    Show("idle_share", "CPU idle", "share"), Show("iowait_share", "CPU waits for I/O", "share"),
    Show("steal_share", "CPU stolen", "share"),
    Show("available_bytes", "Memory available", "size"),
    Show("retransmits_per_s", "Retransmits per second", "rate"),
)  # fmt: skip
OF_PARTS = (
    Show("utilisation_share", "Utilisation", "share"), Show("reads_per_s", "Reads/s", "rate"),
    Show("read_latency_s", "Read latency", "duration"), Show("writes_per_s", "Writes/s", "rate"),
    Show("write_latency_s", "Write latency", "duration"),
    Show("received_bytes_per_s", "Received", "bandwidth"),
    Show("sent_bytes_per_s", "Sent", "bandwidth"), Show("commits_per_s", "Commits/s", "rate"),
    Show("active_sessions", "Active sessions", "rate"), Show("value", "Value", "rate"),
    Show("count_per_s", "Count/s", "rate"),
)  # fmt: skip

NOTE = (
    "Means over the measurements of all valid windows, of other hosts over those with nine tenths "
    "of the readings due; latencies by their requests. A dash means that nothing shows it. "
    "Times of readings are this machine's. CPU idle is without waits for I/O."
)


def _list_parts(context: Context) -> list[Row]:
    """List each part of each host at each point, with the mean of each metric."""
    manifest = context.manifest
    exporters = manifest.exporters if manifest else {}
    if not exporters:
        return []
    read = find_well_read(context.sampled.means, context.evidence.windows, exporters)
    weighted = context.select_valid(context.sampled.weighted)
    plain = context.valid_means.join(
        weighted, on=["window_id", "collector", "subject", "metric"], how="anti"
    )
    rows: dict[tuple[str, ...], Row] = {}
    known: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for frame in (plain, weighted):
        seen = frame.filter(pl.col("collector").is_in([*LOCAL, EXPORTERS]))
        for row in seen.iter_rows(named=True):
            host, _, part = row["subject"].partition(":")
            if row["collector"] != EXPORTERS:
                host, part = HERE, row["subject"]
            elif (row["window_id"], host) not in read:
                continue
            key = (row["point"], row["candidate"], host, part)
            known.setdefault(key, {}).setdefault(row["metric"], []).append(row["mean"])
            rows[key] = row
    order = {str(point): place for place, point in enumerate(context.evidence.points)}
    return [
        {
            **context.list_factor_values(context.evidence.points[order[point]]),
            "candidate": candidate, "host": host, "part": part,
            **{metric: sum(values) / len(values) for metric, values in known[key].items()},
        }
        for key in sorted(known, key=lambda key: (order[key[0]], *key[1:]))
        for point, candidate, host, part in [key]
    ]  # fmt: skip


def _list_read(context: Context) -> Iterator[Row]:
    """List the exporters, with how they were read."""
    means = context.sampled.means.filter(collector=EXPORTERS)
    for name, facts in context.manifest.exporters.items() if context.manifest else ():
        of = means.filter(subject=name)
        offset = of.filter(metric="clock_offset_s")["mean"].median()
        yield {
            "host": name, "url": facts.url, "map": facts.map or None,
            "version": facts.version or None, "role": facts.role, "every_s": facts.every_s,
            "scrape_s": of.filter(metric="scrape_s")["mean"].median(), "clock_offset_s": offset,
        }  # fmt: skip


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    parts = _list_parts(context)
    first = (*context.factor_shows, Show("candidate", "Candidate"), Show("host", "Host"))
    hosts = [row for row in parts if not row["part"]]
    types, always = context.factor_types, ("candidate", "host", "part")
    yield make_table(NAME, TITLE, (*first, *OF_HOSTS), hosts, **types).told(*always)
    shown = {show.column for show in OF_PARTS}
    devices = [row for row in parts if row["part"] and shown & row.keys()]
    columns = (*first, Show("part", "Part"), *OF_PARTS)
    yield make_table(PARTS, "Parts of hosts", columns, devices, **types).told(*always)
    shows = (
        Show("host", "Host"), Show("url", "Address"), Show("map", "Map"),
        Show("version", "Version"), Show("role", "Role"), Show("every_s", "Read each", "duration"),
        Show("scrape_s", "A page took", "duration"),
        Show("clock_offset_s", "Its clock is ahead by", "duration"),
    )  # fmt: skip
    yield make_table(READ, "How other hosts were read", shows, _list_read(context)).told("host")


def _describe_doubts(page: Page) -> Iterator[str]:
    rows = page.tables[READ].frame.to_dicts()
    for row in rows:
        if row["scrape_s"] is None:
            yield f"{row['host']} gave no page in any measurement."
        elif abs(row["clock_offset_s"] or 0.0) > OFFSET_LEAST_S:
            yield (
                f"The clock of {row['host']} is not that of this machine: readings have this "
                "machine's time, other records of that host do not."
            )


def _set_hosts(page: Page) -> Iterator[Block]:
    if page.tables[READ].frame.is_empty():
        return
    yield from set_bullets(_describe_doubts(page), "")
    yield from set_figures(page.find_drawn(NAME))
    for name in (NAME, PARTS, READ):
        yield from set_grid(page.tables[name])
    yield from set_paragraph(NOTE, style="note")


def _plot_idle(context: Context) -> Iterator[ByLevel]:
    exporters: Mapping[str, Any] = context.manifest.exporters if context.manifest else {}
    points = {name: read_means(context, EXPORTERS, "idle_share", of=name) for name in exporters}
    known = {name: rows for name, rows in points.items() if rows}
    if not known:
        return
    known = {HERE: read_means(context, "cpu", "idle_share", of=""), **known}
    series = [Series(average_levels(context, rows), rows, name, (name,))
              for name, rows in known.items()]  # fmt: skip
    yield ByLevel(
        name=FIGURE,
        title=f"Idle CPUs of {format_list(list(known))}",
        caption="Mean share of all CPUs of a host that were idle, with no wait for I/O.",
        noun="idle CPUs of hosts",
        data="Idle share of the CPUs of hosts",
        axis=Axis("Share of all CPUs", format=PERCENT),
        rows=[series[place : place + 3] for place in range(0, len(series), 3)],
        value=Show("value", "idle", "share"),
        groups=("host",),
        height=220,
    )


PLUGINS = (
    SectionKind(NAME, 26, TITLE, _set_hosts, make_tables=_make_tables),
    FigureKind(FIGURE, 20, NAME, _plot_idle),
)
