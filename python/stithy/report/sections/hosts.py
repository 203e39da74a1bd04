"""Other hosts: what their exporters show, beside what this machine shows of itself."""

from collections.abc import Iterable, Iterator

import polars as pl

from stithy.analysis.exporters import find_well_read
from stithy.exporters.metrics import EXPORTERS, OFFSET, OFFSET_LEAST_S, TOOK
from stithy.report.blocks import Block, SectionKind, set_bullets, set_grid, set_paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.results.tables import Row

NAME, PARTS, READ = "hosts", "host-parts", EXPORTERS
TITLE = "Other hosts"
HERE = "this machine"
LOCAL = ("cpu", "memory", "block", "network")
COLUMNS = ("window_id", "point", "candidate", "collector", "subject", "metric", "mean")
PLACE = ("point", "candidate", "host", "part")

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
    "of the readings due; latencies by their requests. A dash means that nothing shows it; "
    "parts that did nothing have no row. "
    "Times of readings are this machine's. CPU idle is without waits for I/O. "
    "Of a clock that only the header Date shows, in whole seconds, it is the least difference."
)


def _list_parts(context: Context) -> list[Row]:
    """List each part of each host at each point, with the mean of each metric."""
    exporters = context.manifest.exporters if context.manifest else {}
    if not exporters:
        return []
    read = find_well_read(context.sampled.means, context.evidence.windows, exporters)
    weighted = context.select_valid(context.sampled.weighted).select(COLUMNS)
    plain = context.valid_means.select(COLUMNS).join(weighted, on=COLUMNS[:-1], how="anti")
    is_far, subject = pl.col("collector") == EXPORTERS, pl.col("subject")
    known = pl.concat([plain, weighted]).with_columns(
        pl.when(is_far).then(subject.str.extract("^([^:]*)")).otherwise(pl.lit(HERE)).alias("host"),
        pl.when(is_far).then(subject.str.extract(":(.*)")).otherwise(subject).fill_null("")
        .alias("part"),
    ).filter(
        pl.col("collector").is_in(LOCAL)
        | (is_far & pl.concat_str("window_id", pl.lit(" "), "host").is_in([*map(" ".join, read)]))
    )  # fmt: skip
    means = known.group_by(*PLACE, "metric").agg(pl.col("mean").mean())
    order = {str(point): place for place, point in enumerate(context.evidence.points)}
    means = means.filter(pl.col("point").is_in(list(order)))
    rows = means.pivot(on="metric", index=PLACE, values="mean").to_dicts()
    return [
        context.list_factor_values(context.evidence.points[order[row["point"]]]) | row
        for row in sorted(rows, key=lambda row: [order[row["point"]], *map(row.get, PLACE[1:])])
    ]


def _list_read(context: Context) -> Iterator[Row]:
    means = context.sampled.means.filter(collector=EXPORTERS)
    for name, facts in context.manifest.exporters.items() if context.manifest else ():
        of = means.filter(subject=name)
        yield {
            "host": name, "url": facts.url, "map": facts.map or None,
            "version": facts.version or None, "role": facts.role, "every_s": facts.every_s,
            **{metric: of.filter(metric=metric)["mean"].median() for metric in (TOOK, OFFSET)},
        }  # fmt: skip


def _has_any(row: Row, shows: Iterable[Show]) -> bool:
    return any(row.get(show.column) for show in shows)


def _make_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    parts = _list_parts(context)
    first = (*context.factor_shows, Show("candidate", "Candidate"), Show("host", "Host"))
    types, always = context.factor_types, ("candidate", "host", "part")
    hosts = [row for row in parts if not row["part"] and _has_any(row, OF_HOSTS)]
    yield make_table(NAME, "Hosts", (*first, *OF_HOSTS), hosts, **types).told(*always)
    devices = [row for row in parts if _has_any(row, OF_PARTS)]
    columns = (*first, Show("part", "Part"), *OF_PARTS)
    yield make_table(PARTS, "Parts of hosts", columns, devices, **types).told(*always)
    shows = (
        Show("host", "Host"), Show("url", "Address"), Show("map", "Map"),
        Show("version", "Version"), Show("role", "Role"), Show("every_s", "Read each", "duration"),
        Show(TOOK, "A page took", "duration"),
        Show(OFFSET, "Its clock is ahead by", "duration"),
    )  # fmt: skip
    yield make_table(READ, "How other hosts were read", shows, _list_read(context)).told("host")


def _describe_doubts(page: Page) -> Iterator[str]:
    rows = page.tables[READ].frame.to_dicts()
    for row in rows:
        if row[TOOK] is None:
            yield f"{row['host']} gave no page in any measurement."
        elif abs(row[OFFSET] or 0.0) > OFFSET_LEAST_S:
            yield (
                f"The clock of {row['host']} is not that of this machine: readings have this "
                "machine's time, other records of that host do not."
            )


def _set_hosts(page: Page) -> Iterator[Block]:
    if page.tables[READ].frame.is_empty():
        return
    yield from set_bullets(_describe_doubts(page), "")
    for name in (NAME, PARTS, READ):
        yield from set_grid(page.tables[name])
    yield from set_paragraph(NOTE, style="note")


PLUGINS = (SectionKind(NAME, 26, TITLE, _set_hosts, make_tables=_make_tables),)
