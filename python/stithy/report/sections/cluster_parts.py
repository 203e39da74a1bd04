"""What each OSD, host and pool of a cluster did: requests, latency, queue, recovery, space, CPU."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from stithy.point import Point
from stithy.report.blocks import APPENDIX, Section
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, table_of

NAME = "cluster-parts"
TITLE = "OSDs, hosts and pools of the clusters"
COLLECTOR = "cluster"
LATENCIES = ("read_latency_s", "write_latency_s")
SHOWS = (
    Show("reads_per_s", "Reads/s", "rate"), Show("writes_per_s", "Writes/s", "rate"),
    Show("read_latency_s", "Read", "duration"), Show("write_latency_s", "Write", "duration"),
    Show("commit_latency_s", "Commit", "duration"), Show("queue_length", "In progress", "rate"),
    Show("recovery_per_s", "Recovered/s", "rate"), Show("allocated_bytes", "On drives", "size"),
    Show("cpu_share", "CPU", "ratio"),
)  # fmt: skip
NOTE = (
    "Means over the measurements of valid windows; each second of a latency counts by its "
    "requests. Latencies of OSDs and hosts are the daemons' own. Those of a pool are of the image, "
    "as the way to its block device sees them. Write: until all copies or shards are safe. Commit: "
    "until the OSD's own copy is safe. On drives: with all copies. CPU: share of one CPU; clients "
    "are the monitor and the way from the image to the block device. A dash: it is not counted for "
    "this part, or no such request ended."
)


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each part of a candidate's cluster, at the point of the answer."""
    shows = (Show("candidate", "Candidate"), *page.context.factor_shows, Show("part", "Part"),
             *SHOWS)  # fmt: skip
    yield table_of(NAME, TITLE, shows, _rows(page.context))


def _rows(context: Context) -> Iterator[dict[str, Any]]:
    point = context.answer_level
    if point is None:
        return
    for candidate in context.evidence.candidates:
        for part, values in sorted(_parts(context, candidate, point).items()):
            if (taken := values.get("allocated_bytes")) is not None:
                values["allocated_bytes"] = float(round(taken))
            found = {show.column: values.get(show.column) for show in SHOWS}
            yield {"candidate": candidate, **context.factor_values(point), "part": part, **found}


def _parts(context: Context, candidate: str, point: Point) -> Mapping[str, dict[str, float]]:
    """By part the mean over valid windows of each metric; the whole is `all OSDs`."""
    valid = [window.id for window in context.evidence.valid_at(candidate, point)]
    plain = context.means.filter(collector=COLLECTOR)
    plain = plain.filter(~pl.col("metric").is_in(LATENCIES)).select(COLUMNS)
    weighted = [context.latencies(COLLECTOR, each).select(COLUMNS) for each in LATENCIES]
    own = pl.concat([plain, *weighted]).filter(pl.col("window_id").is_in(valid))
    found: dict[str, dict[str, float]] = {}
    for row in own.group_by("subject", "metric").agg(pl.col("mean").mean()).to_dicts():
        found.setdefault(row["subject"] or "all OSDs", {})[row["metric"]] = row["mean"]
    return found


COLUMNS = ("window_id", "subject", "metric", "mean")


def sections(page: Page) -> Iterator[Section]:
    """Where a cluster was sampled."""
    return page.section(NAME, APPENDIX + 105, TITLE, NOTE)
