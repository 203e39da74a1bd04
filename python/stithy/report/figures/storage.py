"""Block devices under the volumes against levels: rates, latencies and queue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import polars as pl

from stithy.metrics import count_values_needed
from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.annotations import explain_caps, make_cap_lines
from stithy.report.drawing.chart import Axis
from stithy.report.drawing.compose import Rows, with_spans
from stithy.report.drawing.plots import ByLevel, Series
from stithy.report.drawing.points import scaled
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, FigureKind
from stithy.report.tables import SHOW, Show
from stithy.report.words.wording import capital, listing

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


def _plot(name: str, context: Context) -> Iterator[ByLevel | Absent]:
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
    reached = max(row["value"] for row in with_spans(scaled(every, shown.scale), shown.axis.log))
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
        data=capital(shown.noun),
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
    """Read the windows' values by the title of their chart."""
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
    return _place(context, context.means.filter(collector=metrics.BLOCK, metric=metric))


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
            "note": f"{row['subject']}{'' if is_valid else ', invalid'}",
        }
        for row in context.placed(frame).to_dicts()
    ]  # fmt: skip


def _name_missing(context: Context, name: str, rows: Rows) -> str:
    """Name the candidates that have no device to sample."""
    with_device = {row["candidate"] for row in rows}
    missing = [
        candidate for candidate in context.evidence.candidates if candidate not in with_device
    ]
    if not missing:
        return ""
    if name == SLOWEST:
        return f" There is no emulated drive under {listing(missing)}."
    return f" No block device was sampled under {listing(missing)}."


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


PLUGINS = tuple(
    FigureKind(name, order, "storage", partial(_plot, name))
    for order, name in enumerate(QUANTITIES, start=40)
)
