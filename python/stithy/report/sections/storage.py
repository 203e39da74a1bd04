"""Space: what the same files take on each candidate, before and after compression and copies."""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import polars as pl

from stithy.point import Point
from stithy.report.blocks import APPENDIX, Block, SectionKind, set_grid, set_paragraph
from stithy.report.context import Context
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.loads import is_by_url
from stithy.statements import Statement
from stithy.units import format_list, format_measured_duration, format_size

SPACE_TITLE = "Space"
LOADED, END = "loaded", "end"
SPACE_NOTE = (
    "Files: lengths of all files of the volume. Stored: one copy of what is written in them, after "
    "compression. Log: what of that is the write-ahead log, whose files are used again and partly "
    "zeroed. On drives: with all copies, parity and the file system's own data. Reduction: written "
    "by stored, without the log. Redundancy: bytes on drives for a byte stored. Set aside: what "
    "the storage keeps for the volume; taken now: the same unless the storage is thin. Copies that "
    "hardware below this machine keeps are not seen."
)


def _make_space_tables(page: Page) -> Iterator[PageTable]:
    shows = (
        Show("candidate", "Candidate"), Show("role", "Volume"), Show("moment", "When"),
        Show("logical_bytes", "Files", "size"), Show("stored_bytes", "Stored", "size"),
        Show("log_stored_bytes", "Log", "size"),
        Show("reduction", "Reduction", "ratio"), Show("redundancy", "Redundancy", "ratio"),
        Show("physical_bytes", "On drives", "size"),
        Show("provisioned_bytes", "Set aside", "size"),
        Show("allocated_bytes", "Taken now", "size"),
    )  # fmt: skip
    yield PageTable("space", SPACE_TITLE, shows, page.context.run.space)


def _set_space(page: Page) -> Iterator[Block]:
    frame = page.tables["space"].frame
    missing = frame["missing_because"].drop_nulls().unique(maintain_order=True).to_list()
    notes = (*(f"Not known: {each}." for each in missing), SPACE_NOTE)
    above = set_paragraph(_compare_sizes(page.context, frame), describe_reduction(frame))
    return page.set_usual("space", *notes, above=above)


def describe_reduction(frame: pl.DataFrame) -> str | None:
    """Say what databases compress by themselves; None where none does."""
    loaded = frame.drop_nulls("native_reduction").unique("candidate", maintain_order=True)
    saved = [
        f"{row['candidate']} {row['native_reduction']:.2f}"
        for row in loaded.sort("candidate").to_dicts()
    ]
    if not saved:
        return None
    return (
        "The database compresses its tables itself; bytes of pages for a byte of their files: "
        f"{format_list(saved)}."
    )


def _compare_sizes(context: Context, frame: pl.DataFrame) -> str | None:
    held = {} if frame.is_empty() else sum_held_bytes(frame)
    ordered = [name for name in context.evidence.candidates if name in held]
    if len(ordered) < 2:
        return None
    most = max(ordered, key=lambda name: held[name])
    if len({format_size(size) for size in held.values()}) == 1:
        each = "both" if len(ordered) == 2 else "all"
        return (
            f"Without the write-ahead log {format_list(ordered)} {each} hold these files in "
            f"{format_size(held[most])} of their drives."
        )
    said = []
    for name in (name for name in ordered if name != most):
        ratio = f"{held[most] / held[name]:.2f}"
        less = "as much" if ratio == "1.00" else f"{ratio} times less"
        said.append(f"{name} in {format_size(held[name])}, {less}")
    return (
        f"Without the write-ahead log {most} holds these files in {format_size(held[most])} of its "
        f"drives; {format_list(said)}."
    )


def sum_held_bytes(frame: pl.DataFrame) -> dict[str, int]:
    """Bytes on the drives of each candidate, all volumes, where all are known; without the log.

    Once loaded where that was asked, when all hold the same files; else at the end.
    """
    moment = LOADED if LOADED in frame["moment"].to_list() else END
    own = frame.filter((pl.col("moment") == moment) & (pl.col("role") != "log"))
    first = own["dataset"].drop_nulls().unique(maintain_order=True).to_list()[:1]
    own = own.filter(pl.col("dataset").is_in(first)) if first else own
    log = pl.col("log_stored_bytes") * pl.col("redundancy")
    own = own.with_columns(physical_bytes=(pl.col("physical_bytes") - log).round().cast(pl.Int64))
    sums = own.group_by("candidate", maintain_order=True).agg(
        pl.col("physical_bytes").sum(), pl.col("physical_bytes").null_count().alias("missing")
    )
    known = sums.filter((pl.col("missing") == 0) & (pl.col("physical_bytes") > 0))
    return dict(zip(known["candidate"], known["physical_bytes"], strict=True))


CPU_TITLE = "CPU time of storage and database"
PARTS = {
    "storage": ("cluster", "cpu_share"),
    "drives": ("drive", "cpu_share"),
    "server": ("server", "cpu_share"),
}
"""The collector and metric of each column; all subjects of one are summed up."""

CPU_NOTE = (
    "Mean share of one CPU during the measurements of valid windows. Storage: the daemons of the "
    "cluster, and the way from its image to the block device; of a cluster that was there before, "
    "that way alone. Threads of the kernel, such as those of loop devices and of its own clients, "
    "are not counted. Drives: the threads that stand in for them. Server: all processes of the "
    "database. All of them share the CPUs of this machine; in a cluster of several machines they "
    "do not."
)


def _make_storage_cpu_tables(page: Page) -> Iterator[PageTable]:
    context = page.context
    shares = {part: _average_shares(context, *of) for part, of in PARTS.items()}
    rows = []
    for name in context.evidence.candidates:
        for point in context.evidence.points:
            found = {part: of.get((name, str(point))) for part, of in shares.items()}
            storage, server = found["storage"], found["server"]
            if storage is not None:
                rows.append({
                    "candidate": name, **context.list_factor_values(point), **found,
                    "by_server": storage / server if server else None,
                })  # fmt: skip
    shows = (
        Show("candidate", "Candidate"), *context.factor_shows,
        Show("storage", "Storage", "ratio"), Show("drives", "Drives", "ratio"),
        Show("server", "Server", "ratio"), Show("by_server", "Storage by server", "ratio"),
    )  # fmt: skip
    yield make_table("storage-cpu", CPU_TITLE, shows, rows)


def _set_storage_cpu(page: Page) -> Iterator[Block]:
    above = set_paragraph(_describe_most(page.context, page.tables["storage-cpu"].frame))
    return page.set_usual("storage-cpu", CPU_NOTE, above=above)


Shares = Mapping[tuple[str, str], float]


def _average_shares(context: Context, collector: str, metric: str) -> Shares:
    """By candidate and point the mean over valid windows of the sum of all subjects.

    Servers of tenants are added up: they all work on the storage whose CPU time it is.
    """
    of_it = {"collector": collector, "metric": metric}
    means = context.select_valid(context.sampled.every_mean).filter(**of_it)
    keys = ("candidate", "point", "window_id")
    windows = means.group_by(*keys, maintain_order=True).agg(pl.col("mean").sum())
    found = windows.group_by("candidate", "point").agg(pl.col("mean").mean())
    return {(row["candidate"], row["point"]): row["mean"] for row in found.to_dicts()}


def _describe_most(context: Context, frame: pl.DataFrame) -> str | None:
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
    at = (
        context.at(point)
        for point in context.evidence.points
        if context.list_factor_values(point).items() <= row.items()
    )
    return Statement(
        "The storage of {candidate} took {by_server:.1f} times the CPU time of its database "
        "server{at}{most}.", candidate=row["candidate"], by_server=row["by_server"], most=most,
        at=f" {next(at)}" if points > 1 else "",
    )  # fmt: skip


CLUSTER_TITLE = "OSDs, hosts and pools of the clusters"
COLLECTOR = "cluster"
LATENCIES = ("read_latency_s", "write_latency_s")
SHOWS = (
    Show("reads_per_s", "Reads/s", "rate"), Show("writes_per_s", "Writes/s", "rate"),
    Show("read_latency_s", "Read", "duration"), Show("write_latency_s", "Write", "duration"),
    Show("commit_latency_s", "Commit", "duration"), Show("queue_length", "In progress", "rate"),
    Show("recovery_per_s", "Recovered/s", "rate"), Show("allocated_bytes", "On drives", "size"),
    Show("cpu_share", "CPU", "ratio"),
)  # fmt: skip
CLUSTER_NOTE = (
    "Means over the measurements of valid windows; each second of a latency counts by its "
    "requests. Latencies of OSDs and hosts are the daemons' own. Those of a pool are of the image, "
    "as the way to its block device sees them. Write: until all copies or shards are safe. Commit: "
    "until the OSD's own copy is safe. On drives: with all copies. CPU: share of one CPU; clients "
    "are the monitor and the way from the image to the block device. A dash: it is not counted for "
    "this part, or no such request ended."
)


def _make_cluster_parts_tables(page: Page) -> Iterator[PageTable]:
    shows = (Show("candidate", "Candidate"), *page.context.factor_shows, Show("part", "Part"),
             *SHOWS)  # fmt: skip
    yield make_table("cluster-parts", CLUSTER_TITLE, shows, _list_cluster_rows(page.context))


def _list_cluster_rows(context: Context) -> Iterator[dict[str, Any]]:
    point = context.answer_level
    if point is None:
        return
    for candidate in context.evidence.candidates:
        for part, values in sorted(_read_parts(context, candidate, point).items()):
            if (taken := values.get("allocated_bytes")) is not None:
                values["allocated_bytes"] = float(round(taken))
            found = {show.column: values.get(show.column) for show in SHOWS}
            yield {
                "candidate": candidate,
                **context.list_factor_values(point),
                "part": part,
                **found,
            }


def _read_parts(context: Context, candidate: str, point: Point) -> Mapping[str, dict[str, float]]:
    """By part the mean over valid windows of each metric; the whole is `all OSDs`."""
    valid = [window.id for window in context.evidence.valid_at(candidate, point)]
    plain = context.sampled.means.filter(collector=COLLECTOR)
    plain = plain.filter(~pl.col("metric").is_in(LATENCIES)).select(COLUMNS)
    weighted = [context.latencies(COLLECTOR, each).select(COLUMNS) for each in LATENCIES]
    own = pl.concat([plain, *weighted]).filter(pl.col("window_id").is_in(valid))
    found: dict[str, dict[str, float]] = {}
    for row in own.group_by("subject", "metric").agg(pl.col("mean").mean()).to_dicts():
        found.setdefault(row["subject"] or "all OSDs", {})[row["metric"]] = row["mean"]
    return found


COLUMNS = ("window_id", "subject", "metric", "mean")

NAME = "by-url"
URL_TITLE = "Databases by URL"
NOT_SEEN = (
    "Stithy did not start these servers. What their CPUs, memory, devices and logs did, who else "
    "used them, and whether their hosts are alike, was not seen: a difference is one of the whole "
    "offers and of the ways to them, and not of the storage alone. CPU, memory and network in the "
    "figures are those of this machine, where the users ran."
)
URL_NOTE = (
    "Just before the users of each window began, a connection asked 101 times for nothing; their "
    "median is the window's round trip, the time of Stithy's own client included."
)


def _make_by_url_tables(page: Page) -> Iterator[PageTable]:
    rows = [
        {"candidate": name,
         "url": facts.path if (facts := page.context.find_facts(name)) else None,
         "round_trip_s": median(known), "least_s": min(known), "most_s": max(known),
         "windows": len(known)}
        for name, known in _read_round_trips(page.context).items()
    ]  # fmt: skip
    shows = (
        Show("candidate", "Candidate"), Show("url", "URL"),
        Show("round_trip_s", "Round trip, median", "duration"),
        Show("least_s", "Least", "duration"), Show("most_s", "Most", "duration"),
        Show("windows", "Windows", "count"),
    )  # fmt: skip
    yield make_table(NAME, URL_TITLE, shows, rows)


def _set_distance(page: Page) -> Iterator[Block]:
    if not is_by_url(page.context.manifest):
        return
    table = page.tables[NAME]
    manifest = page.context.manifest
    seen = manifest is not None and manifest.exporters
    told = ["Exporters show a part of it: see Other hosts."] if seen else []
    known = table.frame.select("round_trip_s", "candidate").iter_rows()
    said = format_list([f"{format_measured_duration(each_s)} on {name}" for each_s, name in known])
    yield from set_paragraph(
        "The network to the servers is a part of what was measured: the median round trip of a "
        f"question without work took {said or 'a time that is not known'}.",
        NOT_SEEN, *told,
    )  # fmt: skip
    yield from set_grid(table)
    yield from set_paragraph(URL_NOTE, style="note")


def _read_round_trips(context: Context) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in context.evidence.candidates}
    for row in context.measured_rows:
        if trip_s := row.get("round_trip_s"):
            found[row["candidate"]].append(trip_s)
    return {name: trips for name, trips in found.items() if trips}


PLUGINS = (
    SectionKind("space", 28, SPACE_TITLE, _set_space, make_tables=_make_space_tables),
    SectionKind(
        "storage-cpu", 29, CPU_TITLE, _set_storage_cpu, make_tables=_make_storage_cpu_tables
    ),
    SectionKind(
        "cluster-parts", APPENDIX + 105, CLUSTER_TITLE,
        lambda page: page.set_usual("cluster-parts", CLUSTER_NOTE),
        make_tables=_make_cluster_parts_tables,
    ),
    SectionKind(
        NAME, 12, URL_TITLE, _set_distance, make_tables=_make_by_url_tables, needs_tables=("load",)
    ),
)  # fmt: skip
