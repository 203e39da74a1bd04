"""Block devices under the volumes against users: rates, latencies and use."""

from dataclasses import dataclass

import altair as alt
import polars as pl

from stithy.analysis.series import weighted_means
from stithy.report import metrics
from stithy.report.chart import Axis, Rows, by_users, spec_of
from stithy.report.context import Context
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.titles import compare_title

NAME = "device"
ORDER = 40
SECTION = "storage"

BYTES_PER_MB = 1e6


@dataclass(frozen=True)
class _Panel:
    """One small chart: its title and its rows, each with a `value`."""

    title: str
    rows: Rows


@dataclass(frozen=True)
class _Family:
    """One figure of several panels with a common vertical axis."""

    name: str
    noun: str
    axis: Axis
    kind: str
    caption: str
    scale: float = 1.0


RATE = _Family(
    "device-rate", "device operations a second", Axis("Operations a second"), "rate",
    "Completed operations a second of each block device under the volumes, mean over the window.",
)  # fmt: skip
LATENCY = _Family(
    "device-latency", "mean device latency", Axis("Mean latency (ms)", log=True), "duration",
    "Mean time of an operation on the device, queueing in the kernel included, every second "
    "weighted by its operations. Logarithmic axis.", 1000.0,
)  # fmt: skip
BYTES = _Family(
    "device-bytes", "megabytes a second", Axis("MB a second"), "rate",
    "Megabytes (10⁶ bytes) a second, mean over the window.",
)  # fmt: skip
USE = _Family(
    "device-use", "share of time busy", Axis("Share of time busy", format=".0%"), "share",
    "Share of time with at least one operation under way. A device that serves many operations at "
    "once may have head-room left at 100 %.",
)  # fmt: skip


def draw(context: Context) -> list[Drawn]:
    """Rates, latencies, bytes and use; each, or why it is not there."""
    return [
        _figure(context, RATE, [_mean_panel(context, f"{op}s", names[0]) for op, names in _OPS]),
        _figure(context, LATENCY, [_latency_panel(context, op, names) for op, names in _OPS]),
        _figure(
            context, BYTES,
            [_mean_panel(context, op, names[2], BYTES_PER_MB) for op, names in _OPS if names[2]],
        ),
        _figure(context, USE, [_mean_panel(context, "busy", metrics.UTILISATION)]),
    ]  # fmt: skip


_OPS = list(metrics.OPERATIONS.items())


def _figure(context: Context, family: _Family, panels: list[_Panel]) -> Drawn:
    filled = [panel for panel in panels if panel.rows]
    if not filled:
        return Absent(
            family.name, family.noun,
            "no block device under the volumes was sampled (memory-backed volumes have none)",
        )  # fmt: skip
    rows = [{"operation": panel.title, **row} for panel in filled for row in panel.rows]
    width = 620 // max(2, len(filled)) - 30
    charts = [
        by_users(
            context, family.axis, _scaled(_lines(panel.rows), family), _scaled(panel.rows, family),
            width=width, height=240,
        ).properties(title=panel.title)
        for panel in filled
    ]  # fmt: skip
    title = _title(context, family, filled)
    return Figure(
        name=family.name,
        title=title,
        caption=family.caption + _without(context, rows),
        description=f"{title}. Line charts against virtual users, one for each kind of operation "
        f"({', '.join(panel.title for panel in filled)}), one line for each device.",
        footer=context.footer,
        spec=spec_of(alt.hconcat(*charts)),
        table=_table(family, rows),
    )


def _title(context: Context, family: _Family, panels: list[_Panel]) -> str:
    lines = _lines(panels[-1].rows if family is LATENCY else panels[0].rows)
    if len({row["candidate"] for row in lines}) > 1:
        return compare_title(context, lines, f"{family.noun} ({panels[0].title})")
    return f"{family.noun[0].upper()}{family.noun[1:]} against virtual users"


def _without(context: Context, rows: Rows) -> str:
    """Which candidates have no device to sample."""
    with_device = {row["candidate"] for row in rows}
    missing = [name for name in context.evidence.candidates if name not in with_device]
    return f" No device was sampled for {', '.join(missing)}." if missing else ""


def _mean_panel(context: Context, title: str, metric: str, divisor: float = 1.0) -> _Panel:
    chosen = context.means.filter(
        (pl.col("collector") == metrics.BLOCK) & (pl.col("metric") == metric)
    )
    return _Panel(title, _rows(context, chosen, divisor))


def _latency_panel(context: Context, operation: str, names: tuple[str, str, str | None]) -> _Panel:
    rate, latency, _ = names
    return _Panel(
        operation, _rows(context, weighted_means(context.samples, metrics.BLOCK, latency, rate))
    )


def _rows(context: Context, frame: pl.DataFrame, divisor: float = 1.0) -> Rows:
    valid = {window.id: window.valid for window in context.evidence.windows}
    return [
        {
            "users": row["users"], "candidate": row["candidate"], "device": row["subject"],
            "block": row["block"], "value": row["mean"] / divisor,
            "valid": valid[row["window_id"]],
            "note": row["subject"] if valid[row["window_id"]] else f"{row['subject']}, invalid",
        }
        for row in frame.to_dicts()
    ]  # fmt: skip


def _lines(rows: Rows) -> Rows:
    """The mean of the valid windows by candidate, level and device; of several devices the busiest.

    Stacked devices (a loop device over a disk) see the same operations, so a sum would count twice.
    """
    frame = pl.DataFrame(rows).filter(pl.col("valid"))
    if frame.is_empty():
        return []
    return (
        frame.group_by("users", "candidate", "device", maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by("users", "candidate", maintain_order=True)
        .agg(pl.col("value").max())
        .to_dicts()
    )


def _scaled(rows: Rows, family: _Family) -> Rows:
    positive = [row for row in rows if row["value"] > 0 or not family.axis.log]
    return [{**row, "value": row["value"] * family.scale} for row in positive]


def _table(family: _Family, rows: Rows) -> PageTable:
    return PageTable(
        family.name,
        family.caption,
        (
            Show("operation", "operation"), Show("users", "users", "count"),
            Show("candidate", "candidate"), Show("device", "device"),
            Show("block", "block", "count"), Show("value", family.noun, family.kind),
        ),
        pl.DataFrame(rows).drop("note"),
    )  # fmt: skip
