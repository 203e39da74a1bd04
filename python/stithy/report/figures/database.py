"""Inside the database against users: write-ahead log, blocks read, what sessions wait for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import polars as pl

from stithy.engines.declaration import Declaration
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import Axis
from stithy.report.drawing.plots import ByLevel, Series, Stacks
from stithy.report.drawing.points import average_levels, read_means, scaled
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, FigureKind
from stithy.report.tables import Show
from stithy.report.words.wording import rate
from stithy.units import format_size


@dataclass(frozen=True)
class _ServerRate:
    """A rate of the server; `scale` from the metric to the axis, whose unit follows a number."""

    metric: str
    noun: str
    axis: str
    unit: str
    caption: str
    scale: float = 1.0


RATES = {
    "log-by-users": _ServerRate(
        metrics.LOG_BYTES, "write-ahead log volume", "Write-ahead log (MB per second)", " MB/s",
        "Write-ahead log inserted by the server, in megabytes (10⁶ bytes) per second.{log_note}",
        1e-6,
    ),
    "log-syncs-by-users": _ServerRate(
        metrics.LOG_SYNCS, "syncs of the write-ahead log", "Log syncs per second", "/s",
        "Syncs of the write-ahead log per second. One sync may serve several commits.",
    ),
    "blocks-read-by-users": _ServerRate(
        metrics.BLOCKS_READ, "blocks read into the server's cache", "Blocks read per second", "/s",
        "Blocks{of_bytes} per second that were missing from the server's own cache. The page cache "
        "may have held them.",
    ),
}  # fmt: skip


def _plot_rate(name: str, context: Context) -> Iterator[ByLevel | Absent]:
    shown = RATES[name]
    points = scaled(read_means(context, metrics.DATABASE, shown.metric), shown.scale)
    if not points:
        because = f"the collector `database` has no samples of `{shown.metric}`"
        yield Absent(name, shown.noun, context.sampled.why_none(metrics.DATABASE, because))
        return
    lines = average_levels(context, points)
    yield ByLevel(
        name=name,
        title=compare_title(
            context, lines, points, shown.noun, lambda value: f"{rate(value)}{shown.unit}"
        ),
        caption=_explain(shown, context.engine),
        noun=shown.noun,
        data=shown.axis,
        axis=Axis(shown.axis),
        rows=[[Series(lines, points)]],
        value=Show("value", shown.axis, "rate"),
        height=240,
    )


def _explain(shown: _ServerRate, engine: Declaration) -> str:
    """Say what is drawn, with what is the engine's own."""
    size = f" of {format_size(engine.block_bytes)}" if engine.block_bytes else ""
    note = f" {engine.log_note}" if engine.log_note else ""
    return shown.caption.format(log_note=note, of_bytes=size)


def _plot_waits(context: Context) -> Iterator[Stacks | Absent]:
    means = context.valid_means.filter(collector=metrics.DATABASE, metric=metrics.WAITING)
    # A window without a wait counts as 0, or one that had it would stand for all.
    frame = (
        context.placed(means)
        .group_by(
            "level", context.axis.name, "candidate", pl.col("subject").alias("part"),
            maintain_order=True,
        )
        .agg(pl.col("mean").mean().alias("value"))
        .filter(pl.col("value") > 0)
        .sort("level", "candidate", "part")
    )  # fmt: skip
    if frame.is_empty():
        because = context.sampled.why_none(metrics.DATABASE, "no active session was sampled")
        yield Absent("waits-by-users", "what sessions wait for", because)
        return
    types, waited = context.engine.wait_types, set(frame["part"])
    parts = [*(part for part in types if part in waited), *sorted(waited - {*types})]
    colours = dict(zip(types, palette.WAIT_COLOURS, strict=False))
    yield Stacks(
        name="waits-by-users",
        title=_write_waits_title(frame, types),
        caption="Mean number of active sessions by the server's type of wait event, in valid "
        "windows, sampled once per second. CPU means that a session does not wait. A wait ends "
        "when its session runs on a CPU again. If the server's CPUs are busy, waits therefore "
        "include time in the queue for a CPU.",
        noun="active sessions by type of wait event",
        data="Mean number of active sessions by what they wait for",
        axis=Axis("Active sessions"),
        rows=[{**row, "order": parts.index(row["part"])} for row in frame.to_dicts()],
        colours={part: colours.get(part, palette.OTHER_WAIT)[0] for part in parts},
        part="waits for",
        value=Show("value", "sessions", "rate"),
    )


def _write_waits_title(frame: pl.DataFrame, types: Mapping[str, str]) -> str:
    waits = frame.filter(pl.col("part") != "CPU").group_by("part").agg(pl.col("value").sum())
    if waits.is_empty():
        return "No sampled session waited"
    first = waits.sort(["value", "part"], descending=[True, False])["part"][0]
    return f"Sessions waited most for {types.get(first) or first}"


PLUGINS = (
    *(
        FigureKind(name, order, "database", partial(_plot_rate, name), ("load",))
        for order, name in enumerate(RATES, start=50)
    ),
    FigureKind("waits-by-users", 53, "database", _plot_waits, ("load",)),
)  # fmt: skip
