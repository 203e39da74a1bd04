"""What CPU time the storage itself takes, beside that of the database server."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from stithy.point import Point
from stithy.report.blocks import Section, paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, table_of

NAME = "storage-cpu"
TITLE = "CPU time of storage and database"
PARTS = {
    "storage": ("cluster", "cpu_share"),
    "drives": ("drive", "cpu_share"),
    "server": ("server", "cpu_share"),
}
"""The collector and metric of each column; all subjects of one are summed up."""

NOTE = (
    "Mean share of one CPU during the measurements of valid windows. Storage: the daemons of the "
    "cluster, and the way from its image to the block device; of a cluster that was there before, "
    "that way alone. Threads of the kernel, such as those of loop devices and of its own clients, "
    "are not counted. Drives: the threads that stand in for them. Server: all processes of the "
    "database. All of them share the CPUs of this machine; in a cluster of several machines they "
    "do not."
)


def tables(page: Page) -> Iterator[PageTable]:
    """A row for each candidate and point at which a cluster was sampled."""
    context = page.context
    shares = {part: _shares(context, *of) for part, of in PARTS.items()}
    rows = [
        {"candidate": name, **context.factor_values(point), **_row(shares, name, point)}
        for name in context.evidence.candidates
        for point in context.evidence.points
        if (name, str(point)) in shares["storage"]
    ]
    shows = (
        Show("candidate", "Candidate"), *context.factor_shows,
        Show("storage", "Storage", "ratio"), Show("drives", "Drives", "ratio"),
        Show("server", "Server", "ratio"), Show("by_server", "Storage by server", "ratio"),
    )  # fmt: skip
    yield table_of(NAME, TITLE, shows, rows)


Shares = Mapping[tuple[str, str], float]


def _shares(context: Context, collector: str, metric: str) -> Shares:
    """By candidate and point the mean over valid windows of the sum of all subjects.

    Servers of tenants are added up: they all work on the storage whose CPU time it is.
    """
    of_it = {"collector": collector, "metric": metric}
    means = context.of_valid(context.sampled.every_mean).filter(**of_it)
    keys = ("candidate", "point", "window_id")
    windows = means.group_by(*keys, maintain_order=True).agg(pl.col("mean").sum())
    found = windows.group_by("candidate", "point").agg(pl.col("mean").mean())
    return {(row["candidate"], row["point"]): row["mean"] for row in found.to_dicts()}


def _row(shares: Mapping[str, Shares], name: str, point: Point) -> dict[str, float | None]:
    found = {part: of.get((name, str(point))) for part, of in shares.items()}
    storage, server = found["storage"], found["server"]
    by_server = storage / server if storage is not None and server else None
    return {**found, "by_server": by_server}


def sections(page: Page) -> Iterator[Section]:
    """Where a cluster was sampled."""
    above = paragraph(_most(page.context, page.tables[NAME].frame))
    return page.section(NAME, 29, TITLE, NOTE, above=above)


def _most(context: Context, frame: pl.DataFrame) -> str | None:
    """Where the storage took the most beside its database; of several, which of them it is."""
    known = frame.drop_nulls("by_server")
    known = known.sort("by_server", descending=True, maintain_order=True)
    if known.is_empty():
        return None
    row, points = known.row(0, named=True), known.select(context.factors).unique().height
    several = [
        word
        for word, count in (("candidates", known["candidate"].n_unique()), ("points", points))
        if count > 1
    ]
    most = f", the most of all {' and '.join(several)}" if several else ""
    return (
        f"The storage of {row['candidate']} took {row['by_server']:.1f} times the CPU time of its "
        f"database server{_where(context, row) if points > 1 else ''}{most}."
    )


def _where(context: Context, row: Mapping[str, Any]) -> str:
    at = (
        each
        for each in context.evidence.points
        if all(row[name] == shown for name, shown in context.factor_values(each).items())
    )
    return f" {context.at(next(at))}"
