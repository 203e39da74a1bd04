"""Inside the database against users: write-ahead log, blocks read, what sessions wait for."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from stithy.engines.declaration import Declaration
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import Axis, Panel, Stack, bars_by_users, by_users, domain_of
from stithy.report.drawing.compose import Drawing, Rows, bars_told
from stithy.report.drawing.points import level_means, mean_points, points_table
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import rate
from stithy.units import format_size

NAME = "database"
ORDER = 50
SECTION = "database"
NEEDS = ("load",)


@dataclass(frozen=True)
class _Curve:
    """One rate of the server against users; `divisor` from the metric's unit to the axis.

    `unit`: of the axis, after a number.
    """

    name: str
    metric: str
    divisor: float
    noun: str
    axis: str
    unit: str
    caption: str


CURVES = (
    _Curve(
        "log-by-users", metrics.LOG_BYTES, 1e6, "write-ahead log volume",
        "Write-ahead log (MB per second)", " MB/s",
        "Write-ahead log inserted by the server, in megabytes (10⁶ bytes) per second.{log_note}",
    ),
    _Curve(
        "log-syncs-by-users", metrics.LOG_SYNCS, 1.0, "syncs of the write-ahead log",
        "Log syncs per second", "/s",
        "Syncs of the write-ahead log per second. One sync may serve several commits.",
    ),
    _Curve(
        "blocks-read-by-users", metrics.BLOCKS_READ, 1.0, "blocks read into the server's cache",
        "Blocks read per second", "/s",
        "Blocks{of_bytes} per second that were missing from the server's own cache. The page cache "
        "may have held them.",
    ),
)  # fmt: skip


def draw(context: Context) -> list[Drawn]:
    """Log rate, syncs, reads, waits; each, or why it is not there."""
    return [*(_curve(context, curve) for curve in CURVES), _waits(context)]


def _curve(context: Context, curve: _Curve) -> Drawn:
    points = mean_points(context, metrics.DATABASE, curve.metric, divisor=curve.divisor)
    if not points:
        because = f"the collector `database` has no samples of `{curve.metric}`"
        because = context.sampled.why_none(metrics.DATABASE, because)
        return Absent(curve.name, curve.noun, because)
    lines = level_means(context, points)
    title = compare_title(
        context, lines, points, curve.noun, lambda value: f"{rate(value)}{curve.unit}"
    )
    drawing, panel = Drawing(), Panel(lines, points, height=240)
    value = Show("value", curve.axis, "rate")
    return drawing.figure(
        context, curve.name, title, by_users(context, drawing, Axis(curve.axis), panel),
        points_table(context, curve.name, curve.axis, points, value),
        caption=_caption(curve, context.engine) + bars_told(points),
        description=f"Line chart of {curve.noun} against {context.axis.title.lower()}, one line "
        "for each candidate.",
    )  # fmt: skip


def _caption(curve: _Curve, engine: Declaration) -> str:
    """What is drawn, with what is the engine's own."""
    size = f" of {format_size(engine.block_bytes)}" if engine.block_bytes else ""
    note = f" {engine.log_note}" if engine.log_note else ""
    return curve.caption.format(log_note=note, of_bytes=size)


def _waits(context: Context) -> Drawn:
    chosen = context.valid_means.filter(collector=metrics.DATABASE, metric=metrics.WAITING)
    keys = ["level", context.axis.name, "candidate"]
    # A window without a wait counts as 0, or one that had it would stand for all.
    frame = (
        context.placed(chosen)
        .group_by(*keys, pl.col("subject").alias("part"), maintain_order=True)
        .agg(pl.col("mean").mean().alias("value"))
        .filter(pl.col("value") > 0)
        .sort("level", "candidate", "part")
    )
    if frame.is_empty():
        because = context.sampled.why_none(metrics.DATABASE, "no active session was sampled")
        return Absent("waits-by-users", "what sessions wait for", because)
    known = context.engine.wait_types
    parts = [part for part in known if part in set(frame["part"])]
    parts += sorted(set(frame["part"]) - set(parts))
    rows: Rows = [{**row, "order": parts.index(row["part"])} for row in frame.to_dicts()]
    drawing = Drawing()
    tops = frame.group_by(*keys).agg(pl.col("value").sum()).to_dicts()
    pairs = dict(zip(known, palette.WAIT_COLOURS, strict=False))
    colours = {part: pairs.get(part, palette.OTHER_WAIT)[0] for part in parts}
    stack = Stack(Axis("Active sessions"), domain_of(tops, log=False), colours)
    return drawing.figure(
        context, "waits-by-users", _wait_title(frame, known),
        bars_by_users(context, drawing, rows, stack),
        PageTable(
            "waits-by-users", "Mean number of active sessions by what they wait for",
            (
                context.axis_show, Show("candidate", "candidate"),
                Show("part", "waits for"), Show("value", "sessions", "rate"),
            ),
            frame.drop("level"),
        ),
        caption="Mean number of active sessions by the server's type of wait event, in valid "
        "windows, sampled once per second. CPU means that a session does not wait. A wait ends "
        "when its session runs on a CPU again. If the server's CPUs are busy, waits therefore "
        "include time in the queue for a CPU.",
        description="Stacked bars of active sessions by type of wait event, one bar for "
        f"each number of {context.axis.plural}, one chart for each candidate.",
    )  # fmt: skip


def _wait_title(frame: pl.DataFrame, known: Mapping[str, str]) -> str:
    waits = frame.filter(pl.col("part") != "CPU").group_by("part").agg(pl.col("value").sum())
    if waits.is_empty():
        return "No sampled session waited"
    first = waits.sort(["value", "part"], descending=[True, False])["part"][0]
    return f"Sessions waited most for {known.get(first) or first}"
