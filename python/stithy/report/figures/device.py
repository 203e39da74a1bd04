"""Block devices under the volumes against users: rates, latencies and queue."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from stithy.metrics import values_needed
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import annotations
from stithy.report.drawing.chart import WIDTH, Axis, Line, side_by_side
from stithy.report.drawing.compose import Drawing, Rows, Spec, bars_told, with_spans
from stithy.report.drawing.points import scaled
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn, Title
from stithy.report.tables import SHOW, PageTable, Show
from stithy.report.words.wording import listing

NAME = "device"
ORDER = 40
SECTION = "storage"

OPERATIONS = {"read": "reads", "write": "writes", "flush": "flushes"}


@dataclass(frozen=True)
class _Family:
    """One figure of several panels with a common vertical axis; `scale` from data to drawing.

    `of_one`: the noun where it is of one kind of operation, with its name. `limits`: by panel, what
    a drive profile calls its limit; `also`: limits that the caption says and no panel has.
    `absent`: why there is none where no panel has rows.
    """

    name: str
    noun: str
    of_one: str
    axis: Axis
    kind: str
    caption: str
    scale: float = 1.0
    limits: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    absent: str = "no block device under the volumes was sampled (memory-backed volumes have none)"


RATE = _Family(
    "device-rate", "operations per second of the device", "{} per second on the device",
    Axis("Operations per second"), "rate",
    "Completed operations per second of each block device under the volumes, means of the windows.",
    limits={"reads": "read_iops", "writes": "write_iops", "both": "total_iops"},
    also=("read_bytes_per_s", "write_bytes_per_s", "total_bytes_per_s"),
)  # fmt: skip
LATENCY = _Family(
    "device-latency", "mean latency of the device", "mean latency of {} on the device",
    Axis("Mean latency (ms)", log=True), "duration",
    "Mean time of an operation on the device, with the queue in the kernel, on a logarithmic axis. "
    "Each second is weighted by its operations.", 1000.0,
)  # fmt: skip
SLOWEST = _Family(
    "device-latency-p99", "99th percentile of latency of the drive",
    "99th percentile of latency of {} in the emulated drive",
    Axis("99th percentile of latency (ms)", log=True), "duration",
    "99th percentile of the time of an operation in the emulated drive, on a logarithmic axis. "
    "It comes from the drive's own log of all requests, without transport latency. Lines join the "
    "median windows.", 1000.0,
    absent="the kernel reports only mean times of a device",
)  # fmt: skip
QUEUE = _Family(
    "device-queue", "queue length of the device", "queue length of the device",
    Axis("Requests waiting or in progress"), "rate",
    "Mean number of requests that waited for the device or were in progress.",
)  # fmt: skip

Panels = dict[str, Rows]


def draw(context: Context) -> list[Drawn]:
    """Rates, latencies and queue; each, or why it is not there."""
    names = metrics.OPERATIONS
    latencies = {
        word: _rows(context, context.latencies(metrics.BLOCK, names[operation][1]))
        for operation, word in OPERATIONS.items()
    }
    return [
        _figure(context, RATE, {w: _mean(context, names[op][0]) for op, w in OPERATIONS.items()}),
        _figure(context, LATENCY, latencies),
        _figure(context, SLOWEST, {w: _slowest(context, op) for op, w in OPERATIONS.items()}),
        _figure(context, QUEUE, {"queue": _mean(context, metrics.QUEUE)}),
    ]


def _mean(context: Context, metric: str | None) -> Rows:
    return _rows(context, context.means.filter(collector=metrics.BLOCK, metric=metric))


def _slowest(context: Context, operation: str) -> Rows:
    """Of each emulated drive and window, as the table `drives` has it."""
    reported = context.run.drives.filter(
        (pl.col("operation") == operation)
        & pl.col("latency_p99_s").is_not_null()
        & (pl.col("logged") >= values_needed(99))
    )
    windows = context.run.window.select("window_id", "candidate", "point", "block")
    frame = reported.join(windows, on="window_id", how="inner", maintain_order="left")
    return _rows(context, frame.rename({"role": "subject", "latency_p99_s": "mean"}))


def _rows(context: Context, frame: pl.DataFrame) -> Rows:
    valid = {window.id: window.valid for window in context.drawn}
    return [
        {
            "level": row["level"], context.axis.name: row[context.axis.name],
            "candidate": row["candidate"], "device": row["subject"], "block": row["block"],
            "value": row["mean"], "valid": (is_valid := valid[row["window_id"]]),
            "note": f"{row['subject']}{'' if is_valid else ', invalid'}",
        }
        for row in context.placed(frame).to_dicts()
    ]  # fmt: skip


def _figure(context: Context, family: _Family, panels: Panels) -> Drawn:
    filled = {title: rows for title, rows in panels.items() if _scaled(rows, family)}
    if not filled:
        return Absent(family.name, family.noun, family.absent)
    rows = [{"operation": title, **row} for title, part in filled.items() for row in part]
    drawing = Drawing()
    return drawing.figure(
        context, family.name, _title(context, family, filled),
        _charts(context, drawing, family, filled), _table(context, family, rows),
        caption=family.caption
        + bars_told(rows)
        + annotations.device_limits_said(context, [*family.limits.values(), *family.also])
        + _without(context, family, rows),
        description=f"{_charted(context, filled)}, one line for each candidate.",
    )  # fmt: skip


def _charted(context: Context, panels: Panels) -> str:
    """What is drawn, in words."""
    against = f"against {context.axis.title.lower()}"
    if len(panels) == 1:
        return f"Line chart {against}"
    return f"Line charts {against}, one for each kind of operation ({', '.join(panels)})"


def _charts(context: Context, drawing: Drawing, family: _Family, panels: Panels) -> Spec:
    drawn = {title: _scaled(rows, family) for title, rows in panels.items()}
    everything = [row for rows in drawn.values() for row in with_spans(rows, family.axis.log)]
    limits = {title: _limits(context, family, title, everything) for title in drawn}
    width = WIDTH if len(drawn) == 1 else (WIDTH + 20) // len(drawn) - 30
    titles = {title: title if len(drawn) > 1 else "" for title in drawn}
    return side_by_side(
        context, drawing, family.axis,
        {titles[name]: (_lines(context, family, rows), rows) for name, rows in drawn.items()},
        {titles[name]: each for name, each in limits.items()}, width=width, height=250,
    )  # fmt: skip


def _limits(context: Context, family: _Family, panel: str, everything: Rows) -> tuple[Line, ...]:
    if panel not in family.limits:
        return ()
    reached = max(row["value"] for row in everything)
    return annotations.device_lines(context, family.limits[panel], reached)


def _title(context: Context, family: _Family, panels: Panels) -> Title:
    operation, rows = max(panels.items(), key=lambda item: max(r["value"] for r in item[1]))
    noun = family.of_one.format(operation)
    return compare_title(
        context, _lines(context, family, rows), rows, noun, shown=SHOW[family.kind]
    )


def _without(context: Context, family: _Family, rows: Rows) -> str:
    """Which candidates have no device to sample."""
    with_device = {row["candidate"] for row in rows}
    missing = [name for name in context.evidence.candidates if name not in with_device]
    if not missing:
        return ""
    if family is SLOWEST:
        return f" There is no emulated drive under {listing(missing)}."
    return f" No block device was sampled under {listing(missing)}."


def _lines(context: Context, family: _Family, rows: Rows) -> Rows:
    """The mean of the valid windows by candidate, level and device; of several devices the busiest.

    Stacked devices (a loop device over a disk) see the same operations, so a sum would count twice.
    Percentiles are never averaged: of these it is the median window.
    """
    valid = [row for row in rows if row["valid"]]
    if not valid:
        return []
    keys = ("level", context.axis.name, "candidate")
    devices = pl.DataFrame(valid).group_by(*keys, "device", maintain_order=True)
    value = pl.col("value")
    busiest = devices.agg(value.median() if family is SLOWEST else value.mean()).group_by(
        *keys, maintain_order=True
    )
    return busiest.agg(pl.col("value").max()).to_dicts()


def _scaled(rows: Rows, family: _Family) -> Rows:
    positive = [row for row in rows if row["value"] > 0 or not family.axis.log]
    return scaled(positive, family.scale)


def _table(context: Context, family: _Family, rows: Rows) -> PageTable:
    return PageTable(
        family.name,
        f"{family.noun[0].upper()}{family.noun[1:]}",
        (
            Show("operation", "operation"), context.axis_show,
            Show("candidate", "candidate"), Show("device", "device"),
            Show("block", "block", "count"), Show("value", family.noun, family.kind),
        ),
        pl.DataFrame(rows).drop("note", "level"),
    )  # fmt: skip
