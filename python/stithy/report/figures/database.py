"""Devices and database against levels: rates, latencies, queue, log, blocks read, waits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from stithy.metrics import count_values_needed
from stithy.report import metrics
from stithy.report.blocks import Absent, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.annotations import explain_caps, make_cap_lines
from stithy.report.drawing.chart import Axis
from stithy.report.drawing.compose import Rows, add_spans
from stithy.report.drawing.plots import ByLevel, Series, Stacks
from stithy.report.drawing.points import average_levels, read_means, scale_rows
from stithy.report.drawing.titles import compare_title
from stithy.report.tables import SHOW, Show
from stithy.report.words.wording import begin_sentence, format_number
from stithy.units import format_list, format_size
from stithy.validity import INVALID


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
        metrics.BLOCKS_READ, "blocks read into the database's cache",
        "Blocks read per second", "/s", "Blocks{of_bytes} per second that were missing from the "
        "database's own cache. The page cache may have held them.",
    ),
}  # fmt: skip


def _plot_rate(name: str, context: Context) -> Iterator[ByLevel | Absent]:
    shown = RATES[name]
    points = scale_rows(read_means(context, metrics.DATABASE, shown.metric), shown.scale)
    if not points:
        because = f"the collector `database` has no samples of `{shown.metric}`"
        yield Absent(name, shown.noun, context.sampled.why_none(metrics.DATABASE, because))
        return
    lines = average_levels(context, points)
    size = f" of {format_size(context.engine.block_bytes)}" if context.engine.block_bytes else ""
    note = f" {context.engine.log_note}" if context.engine.log_note else ""
    yield ByLevel(
        name=name,
        title=compare_title(
            context, lines, points, shown.noun, lambda value: f"{format_number(value)}{shown.unit}"
        ),
        caption=shown.caption.format(log_note=note, of_bytes=size),
        noun=shown.noun,
        data=shown.axis,
        axis=Axis(shown.axis),
        rows=[[Series(lines, points)]],
        value=Show("value", shown.axis, "rate"),
        height=240,
    )


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


OPERATIONS = {"read": "reads", "write": "writes", "flush": "flushes"}


@dataclass(frozen=True)
class _DeviceQuantity:
    """What is drawn of devices, a chart for each kind of operation; `scale` to the drawing.

    `of_one`: the noun where it is of one kind, with its name. `limits`: by chart, what a drive
    profile calls its limit; `also`: limits that the caption says and no chart has.
    `absent`: why there is none where no chart has rows.
    """

    noun: str
    of_one: str
    axis: Axis
    kind: str
    caption: str
    scale: float = 1.0
    limits: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    absent: str = "no block device under the volumes was sampled (memory-backed volumes have none)"


SLOWEST = "device-latency-p99"
QUANTITIES = {
    "device-rate": _DeviceQuantity(
        "operations per second of the device", "{} per second on the device",
        Axis("Operations per second"), "rate",
        "Completed operations per second of each block device under the volumes, means of the "
        "windows.",
        limits={"reads": "read_iops", "writes": "write_iops", "both": "total_iops"},
        also=("read_bytes_per_s", "write_bytes_per_s", "total_bytes_per_s"),
    ),
    "device-latency": _DeviceQuantity(
        "mean latency of the device", "mean latency of {} on the device",
        Axis("Mean latency (ms)", log=True), "duration",
        "Mean time of an operation on the device, with the queue in the kernel, on a logarithmic "
        "axis. Each second is weighted by its operations.", 1000.0,
    ),
    SLOWEST: _DeviceQuantity(
        "99th percentile of latency of the drive",
        "99th percentile of latency of {} in the emulated drive",
        Axis("99th percentile of latency (ms)", log=True), "duration",
        "99th percentile of the time of an operation in the emulated drive, on a logarithmic axis. "
        "It comes from the drive's own log of all requests, without transport latency. Lines join "
        "the median windows.", 1000.0, absent="the kernel reports only mean times of a device",
    ),
    "device-queue": _DeviceQuantity(
        "queue length of the device", "queue length of the device",
        Axis("Requests waiting or in progress"), "rate",
        "Mean number of requests that waited for the device or were in progress.",
    ),
}  # fmt: skip


def _plot_device(name: str, context: Context) -> Iterator[ByLevel | Absent]:
    shown = QUANTITIES[name]
    least = 0.0 if shown.axis.log else float("-inf")
    panels = {
        title: rows
        for title, rows in _read_panels(name, context).items()
        if any(row["value"] > least for row in rows)
    }
    if not panels:
        yield Absent(name, shown.noun, shown.absent)
        return
    every = [row for rows in panels.values() for row in rows]
    lines = {title: _find_levels(context, rows, name) for title, rows in panels.items()}
    largest = max(panels, key=lambda title: max(row["value"] for row in panels[title]))
    reached = max(row["value"] for row in add_spans(scale_rows(every, shown.scale), shown.axis.log))
    yield ByLevel(
        name=name,
        title=compare_title(
            context, lines[largest], panels[largest], shown.of_one.format(largest),
            shown=SHOW[shown.kind],
        ),
        caption=shown.caption
        + explain_caps(context, [*shown.limits.values(), *shown.also])
        + _name_missing(context, name, every),
        noun=shown.noun,
        data=begin_sentence(shown.noun),
        axis=shown.axis,
        rows=[[
            Series(lines[title], rows, title if len(panels) > 1 else "", (title,),
                   make_cap_lines(context, shown.limits.get(title), reached))
            for title, rows in panels.items()
        ]],
        value=Show("value", shown.noun, shown.kind),
        groups=("operation",),
        columns=(Show("device", "device"),),
        scale=shown.scale,
        height=250,
    )  # fmt: skip


def _read_panels(name: str, context: Context) -> dict[str, Rows]:
    if name == "device-queue":
        return {"queue": _read_means(context, metrics.QUEUE)}
    of_operation = {word: metrics.OPERATIONS[key] for key, word in OPERATIONS.items()}
    if name == "device-rate":
        return {word: _read_means(context, of[0]) for word, of in of_operation.items()}
    if name == "device-latency":
        return {
            word: _place(context, context.latencies(metrics.BLOCK, of[1]))
            for word, of in of_operation.items()
        }
    return {word: _read_slowest(context, key) for key, word in OPERATIONS.items()}


def _read_means(context: Context, metric: str | None) -> Rows:
    return _place(context, context.sampled.means.filter(collector=metrics.BLOCK, metric=metric))


def _read_slowest(context: Context, operation: str) -> Rows:
    """Read p99 of each emulated drive and window, as the table `drives` has it."""
    drives = context.run.drives.filter(
        (pl.col("operation") == operation)
        & pl.col("latency_p99_s").is_not_null()
        & (pl.col("logged") >= count_values_needed(99))
    )
    windows = context.run.window.select("window_id", "candidate", "point", "block")
    frame = drives.join(windows, on="window_id", how="inner", maintain_order="left")
    return _place(context, frame.rename({"role": "subject", "latency_p99_s": "mean"}))


def _place(context: Context, frame: pl.DataFrame) -> Rows:
    valid = {window.id: window.valid for window in context.drawn}
    return [
        {
            "level": row["level"], context.axis.name: row[context.axis.name],
            "candidate": row["candidate"], "device": row["subject"], "block": row["block"],
            "value": row["mean"], "valid": (is_valid := valid[row["window_id"]]),
            "note": f"{row['subject']}{'' if is_valid else f', {INVALID}'}",
        }
        for row in context.placed(frame).to_dicts()
    ]  # fmt: skip


def _name_missing(context: Context, name: str, rows: Rows) -> str:
    with_device = {row["candidate"] for row in rows}
    missing = [
        candidate for candidate in context.evidence.candidates if candidate not in with_device
    ]
    if not missing:
        return ""
    if name == SLOWEST:
        return f" There is no emulated drive under {format_list(missing)}."
    return f" No block device was sampled under {format_list(missing)}."


def _find_levels(context: Context, rows: Rows, name: str) -> Rows:
    """Average the valid windows by candidate, level and device; of several devices the busiest.

    Stacked devices (a loop device over a disk) see the same operations, so a sum would count twice.
    Percentiles are never averaged: of these it is the median window.
    """
    valid = [row for row in rows if row["valid"]]
    if not valid:
        return []
    keys, value = ("level", context.axis.name, "candidate"), pl.col("value")
    devices = pl.DataFrame(valid).group_by(*keys, "device", maintain_order=True)
    of_device = devices.agg(value.median() if name == SLOWEST else value.mean())
    return of_device.group_by(*keys, maintain_order=True).agg(value.max()).to_dicts()


PLUGINS = (
    *(
        FigureKind(name, order, "database", partial(_plot_rate, name), ("load",))
        for order, name in enumerate(RATES, start=50)
    ),
    FigureKind("waits-by-users", 53, "database", _plot_waits, ("load",)),
    *tuple(
        FigureKind(name, order, "storage", partial(_plot_device, name))
        for order, name in enumerate(QUANTITIES, start=40)
    ),
)
