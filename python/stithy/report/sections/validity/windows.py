"""The tables of the page, apart from the figures': what was measured, and what supports it."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import product
from typing import Any

import polars as pl

from stithy.analysis.evidence import Window
from stithy.analysis.steadiness import make_unknown
from stithy.plan.steps import make_window_id
from stithy.point import Point
from stithy.report.blocks import Absent, Drawn, Figure
from stithy.report.context import Context
from stithy.report.sections.validity import machine
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import begin_sentence, name_upper_bound


def explain_names(context: Context) -> str:
    """What the shortest names in these tables mean."""
    metric = context.evidence.throughput
    return (
        f"{metric.label}: committed {metric.noun}. p95: 95th percentile of response time over all "
        "transactions."
    )


def make_summary(context: Context) -> PageTable:
    """For each user count: throughput of each candidate, its ratio to the first, and p95."""
    evidence = context.evidence
    first, *others = evidence.candidates or ("",)
    shows, label = list(context.factor_shows), evidence.throughput.label
    shows += [
        Show(f"throughput:{name}", f"{label} {name}", "count") for name in evidence.candidates
    ]
    for name in others:
        shows.append(Show(f"ratio:{name}", f"{name} ÷ {first}", "ratio"))
        effects = [
            evidence.effect(first, name, point, evidence.throughput) for point in evidence.points
        ]
        if any(effect.low is not None for effect in effects):
            to = name_upper_bound(each.pairs for each in effects)
            shows += [Show(f"low:{name}", "from", "ratio"), Show(f"high:{name}", to, "ratio")]
    shows += [Show(f"p95:{name}", f"p95 {name}", "duration") for name in evidence.candidates]
    rows = [_make_summary_row(context, point) for point in evidence.points]
    types = {show.column: pl.Float64 for show in shows} | context.factor_types
    by = f"number of {context.axis.plural}" if context.axis.counts else context.axis.plural
    return PageTable(
        "summary",
        f"{begin_sentence(evidence.throughput.noun)}, their ratio, and 95th percentile of response "
        f"time by {by}",
        tuple(shows),
        pl.DataFrame(rows, schema=types),
    )


def _make_summary_row(context: Context, point: Point) -> dict[str, Any]:
    evidence, row = context.evidence, context.list_factor_values(point)
    for name in evidence.candidates:
        row[f"throughput:{name}"] = evidence.level_of(name, point, evidence.throughput)
        row[f"p95:{name}"] = evidence.printable_level(name, point, "response_p95_s")
    for name in evidence.candidates[1:]:
        effect = evidence.effect(evidence.candidates[0], name, point, evidence.throughput)
        row |= {f"ratio:{name}": effect.ratio, f"low:{name}": effect.low}
        row[f"high:{name}"] = effect.high
    return row


_MEASURED = (
    Show("tpm", "TPM", "count"),
    Show("suppressed_arrivals", "Suppressed arrivals", "count"),
    Show("backlog", "Backlog at end", "count"),
    Show("errors", "Errors", "count"), Show("retries", "Retries", "count"),
    Show("checkpoints_inside", "Checkpoints", "count"),
)  # fmt: skip
"""Columns of the table of windows that are shown as they were measured."""

_PERCENTILES = (
    Show("response_p50_s", "p50", "duration"), Show("response_p95_s", "p95", "duration"),
    Show("response_p99_s", "p99", "duration"),
    Show("pool_wait_p99_s", "Pool wait, p99", "duration"),
)  # fmt: skip

_RARE = ("pool_wait_p99_s", "backlog")
"""Columns of the windows in which 0 says nothing."""


def count_points(context: Context) -> PageTable:
    """Count the points of each candidate: planned, measured, valid; a search plans none."""
    evidence, plan = context.evidence, context.manifest.plan if context.manifest else None
    rows = [
        {
            "candidate": name, "planned": len(plan.points),
            "not_needed": sum(make_window_id(name, p, 0) in plan.skipped for p in plan.points),
            "measured": sum(any(w.measured for w in evidence.at(name, p)) for p in plan.points),
            "valid": sum(bool(evidence.valid_at(name, p)) for p in plan.points),
        }
        for name in evidence.candidates
        if plan and plan.points
    ]  # fmt: skip
    heads = ("Points planned", "Not needed", "Measured", "With a valid window")
    columns = zip(("planned", "not_needed", "measured", "valid"), heads, strict=True)
    shows = (Show("candidate", "Candidate"), *(Show(*column, "count") for column in columns))
    return make_table("points", "Points of the study", shows, rows)


def list_windows(context: Context) -> PageTable:
    """Every window with its main numbers and whether it is valid."""
    types: dict[str, Any] = {
        "window_id": pl.String, "candidate": pl.String, **context.factor_types, "block": pl.Int64,
        "attempt": pl.Int64, **{each.column: pl.Float64 for each in _PERCENTILES},
        "steady": pl.Boolean, "range_share": pl.Float64, "slope_share": pl.Float64,
        "late_s": pl.Int64, "late_share": pl.Float64, "steady_unknown_because": pl.String,
        "valid": pl.Boolean,
    }  # fmt: skip
    rows = [_make_window_row(context, window) for window in context.evidence.windows]
    metric = context.evidence.throughput
    column = metric.known.column
    measured = context.run.window.select(
        "window_id", *dict.fromkeys((column, *(show.column for show in _MEASURED)))
    )
    frame = pl.DataFrame(rows, schema=types).join(
        measured, on="window_id", how="left", maintain_order="left"
    )
    # What is counted by the second is not repeated by the minute.
    minute = () if column == "tpm" or metric.known.unit == "1/s" else (_MEASURED[0],)
    served = (
        Show(column, metric.label, "count"),
        *minute,
        *_PERCENTILES,
        *_MEASURED[1:],
        Show("steady", "Steady", "truth"),
    )
    shows = (
        Show("window_id", "Window", "id"),
        *(served if "transactions" in context.tables else ()),
        Show("valid", "Valid", "truth"),
    )
    # Without those that say nothing: never measured, or of `_RARE` nothing but 0.
    empty = {each.column for each in _MEASURED if not frame[each.column].count()}
    zero = {name for name in _RARE if not (frame[name].drop_nulls() != 0).any()}
    filled = tuple(show for show in shows if show.column not in empty | zero)
    return PageTable("windows", "All windows", filled, frame)


def _make_window_row(context: Context, window: Window) -> dict[str, Any]:
    """What was judged of a window; a dash where its steadiness cannot be determined."""
    found = window.steady or make_unknown("it has no numbers")
    return {
        "window_id": window.id, "candidate": window.candidate,
        **context.list_factor_values(window.point),
        "block": window.block, "attempt": window.attempt,
        **{each.column: window.printable(each.column) for each in _PERCENTILES},
        "steady": found.steady, "range_share": found.range_share,
        "slope_share": found.slope_share, "late_s": found.late_s, "late_share": found.late_share,
        "steady_unknown_because": found.unknown_because, "valid": window.valid,
    }  # fmt: skip


def list_driver_costs(context: Context) -> PageTable:
    """What the load driver cost and how late it was, for each window."""
    frame = context.run.window.select(
        "window_id", "lateness_p99_s", "service_p50_s", "driver_cpu_s", "driver_run_queue_s",
        "driver_nice", "connections_opened", "connections_lost", "first_success_s",
        pl.when(pl.col("transactions") > 0)
        .then(pl.col("driver_cpu_s") / pl.col("transactions"))
        .alias("cpu_per_transaction_s"),
    ).join(
        machine.make_headroom_frame(context), on="window_id", how="left", maintain_order="left"
    )  # fmt: skip
    lost = (
        Show("connections_lost", "Lost", "count"),
        Show("first_success_s", "First success after a loss", "duration"),
    )
    losses = lost if (frame["connections_lost"].drop_nulls() != 0).any() else ()
    return PageTable(
        "driver",
        "The load driver",
        (
            Show("window_id", "Window", "id"), Show("lateness_p99_s", "Lateness, p99", "duration"),
            Show("service_p50_s", "Service time, p50", "duration"),
            Show("driver_cpu_s", "CPU time", "duration"),
            Show("cpu_per_transaction_s", "CPU time per transaction", "duration"),
            Show("driver_run_queue_s", "Wait for a CPU", "duration"),
            Show("driver_nice", "Priority (nice)", "count"),
            Show("connections_opened", "Connections", "count"), *losses,
            *machine.list_headroom_shows(context),
        ),
        frame,
    )  # fmt: skip


PROOF = (
    Show("window_id", "Window", "id"),
    Show("proof_grown", "Counted by the database", "count"),
    Show("headline_acknowledged", "Acknowledged", "count"),
    Show("headline_in_doubt", "In doubt", "count"),
    Show("headline_in_doubt_found", "In doubt, found", "count"),
    Show("client_commits", "Commits, driver", "count"),
    Show("server_commits", "Commits, database", "count"),
)


def list_proof(context: Context) -> PageTable:
    """Acknowledged work against what the database says, for each window."""
    frame = context.run.window.select(
        "window_id",
        (pl.col("proof_after") - pl.col("proof_before")).alias("proof_grown"),
        *[show.column for show in PROOF[2:]],
    )
    caption = "Acknowledged work and commits, compared with the database"
    return PageTable("proof", caption, PROOF, frame)


def list_laws(context: Context) -> PageTable:
    """Identities that must hold, for each window."""
    rows = [asdict(identity) for window in context.evidence.windows for identity in window.laws]
    shows = (
        Show("window_id", "Window", "id"), Show("name", "Invariant"),
        Show("left", "Left side", "rate"),
        Show("right", "Right side", "rate"), Show("off_share", "Difference", "share"),
        Show("tolerance_share", "Allowed", "share"), Show("holds", "Holds", "truth"),
    )  # fmt: skip
    caption = "Invariants: both sides of each"
    return make_table("identities", caption, shows, rows, missing_because=pl.String)


MOMENTS = {"load": 0, "window": 1, "end": 2}
"""The moments at which consistency conditions are verified, in the order of a run."""


def count_conditions(context: Context) -> PageTable:
    """Consistency conditions by candidate and moment: how many were verified, how many held."""
    frame = context.run.conditions.group_by("moment", "candidate", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("verified"),
        pl.col("holds").sum().cast(pl.Int64).alias("held"),
        pl.col("violations").sum().alias("violations"),
        pl.col("duration_s").sum().alias("duration_s"),
    )
    return PageTable(
        "conditions",
        "Consistency conditions: verified and held",
        (
            Show("moment", "When"), Show("candidate", "Candidate"),
            Show("verified", "Verified", "count"), Show("held", "Held", "count"),
            Show("violations", "Rows that violate one", "count"),
            Show("duration_s", "Duration", "duration"),
        ),
        frame.sort(pl.col("moment").replace_strict(MOMENTS, default=9), "candidate"),
    )  # fmt: skip


def list_load_only(context: Context) -> list[int]:
    """Number the conditions that were verified after loading, and not at the end of the run."""
    rows = context.run.conditions
    load, end = (set(rows.filter(moment=name)["number"]) for name in ("load", "end"))
    return sorted(load - end) if end else []


def list_broken_conditions(context: Context) -> PageTable:
    """The conditions that did not hold, with an example row each."""
    frame = context.run.conditions.filter(~pl.col("holds"))
    return PageTable(
        "conditions-broken",
        "Conditions that did not hold",
        (
            Show("candidate", "Candidate"), Show("moment", "When"), Show("window_id", "Window"),
            Show("number", "Number", "count"), Show("text", "What must hold"),
            Show("violations", "Rows", "count"), Show("example", "Example"),
        ),
        frame,
    )  # fmt: skip


def list_restores(context: Context) -> PageTable:
    """What putting the database back took before each window, and whether it was identical."""
    warm = context.run.window.select("window_id", "warm_up_s")
    frame = context.run.restores.join(warm, on="window_id", how="left", maintain_order="left")
    return PageTable(
        "restores",
        "Restores before windows",
        (
            Show("window_id", "Before window", "id"), Show("size_bytes", "Size", "size"),
            Show("files", "Files", "count"), Show("copy_s", "Restore", "duration"),
            Show("verify_s", "Verify", "duration"), Show("sync_s", "Sync, evict", "duration"),
            Show("warm_up_s", "Warm-up", "duration"), Show("identical", "Identical", "truth"),
            Show("resident_bytes", "Still cached", "size"), Show("resident_note", "Note"),
        ),
        frame,
    )  # fmt: skip


def list_titles(drawn: Iterable[Drawn]) -> PageTable:
    """The titles of the figures with the ratios that they state; written beside the page only."""
    rows = [
        {"figure": each.name, "title": each.title, "ratio": each.ratio}
        for each in drawn
        if isinstance(each, Figure)
    ]
    shows = (Show("figure", "Figure"), Show("title", "Title"), Show("ratio", "Ratio", "ratio"))
    return make_table("titles", "Titles of the figures", shows, rows)


def list_missing(context: Context, drawn: Iterable[Drawn]) -> PageTable:
    """What this report could not show, and why: figures, settings, windows, damaged files."""
    rows = [
        {"what": f"figure: {each.would_show}", "because": each.because}
        for each in drawn
        if isinstance(each, Absent)
    ]
    evidence = context.evidence
    rows += [
        {
            "what": f"values of {name} {context.at(point)}",
            "because": evidence.explain_unpaired((name, point)),
        }
        for name, point in product(evidence.candidates, evidence.points)
        if any(window.failures for window in evidence.at(name, point))
        and not evidence.valid_at(name, point)
    ]
    gone = "its results are missing" if context.is_finished else "it was not run"
    rows += [{"what": f"window {each}", "because": gone} for each in context.not_run]
    root = context.run.directory.root
    rows += [
        {
            "what": str(
                problem.path.relative_to(root)
                if problem.path.is_relative_to(root)
                else problem.path
            ),
            "because": problem.text,
        }
        for problem in context.run.problems
    ]
    shows = (Show("what", "Missing"), Show("because", "Reason"))
    return make_table("missing", "What is missing, and why", shows, rows)
