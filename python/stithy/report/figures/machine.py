"""What else the machine felt: pressure on CPU, storage and memory, and memory within its limit."""

import polars as pl

from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.chart import PERCENT, WIDTH, Axis, side_by_side
from stithy.report.drawing.compose import Drawing, Rows, bars_told
from stithy.report.drawing.points import level_means, mean_points, scaled
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import capital, listing, percent
from stithy.units import format_size

NAME = "machine"
ORDER = 32
SECTION = "machine"

BYTES_PER_MIB = 2**20
MEMORY = {
    metrics.CGROUP_USED: "in use within the limit", metrics.CGROUP_CACHE: "page cache alone",
}  # fmt: skip


def draw(context: Context) -> list[Drawn]:
    """Pressure and memory; each, or why it is not there."""
    return [_pressure(context), _memory(context)]


def _pressure(context: Context) -> Drawn:
    panels = {
        words: points
        for resource, words in metrics.RESOURCES.items()
        if (points := mean_points(context, metrics.PRESSURE, metrics.PRESSURE_SOME, of=resource))
    }
    if not panels:
        return Absent(
            "pressure-by-users", "pressure on CPU, storage and memory",
            "the collector `pressure` has no samples (the kernel may lack it)",
        )  # fmt: skip
    return _figure(
        context, "pressure-by-users", _pressure_title(context, panels), panels,
        Axis("Share of time", format=PERCENT), "share", 1.0,
        "Share of time in which at least one task on the host waited for the resource, from the "
        "kernel's pressure stall information.",
    )  # fmt: skip


def _pressure_title(context: Context, panels: dict[str, Rows]) -> str:
    resource = "storage" if "storage" in panels else next(iter(panels))
    lines = level_means(context, panels[resource])
    level = max((line["level"] for line in lines), default=None)
    here = [line for line in lines if line["level"] == level]
    if level is None or len(here) > 3:
        return f"Time waiting for {resource} against {context.axis.title.lower()}"
    parts = [f"{percent(line['value'])} of the time with {line['candidate']}" for line in here]
    at = capital(context.at(context.level_at(level)))
    return f"{at}, tasks waited for {resource} {listing(parts)}"


def _memory(context: Context) -> Drawn:
    panels = {
        words: points
        for metric, words in MEMORY.items()
        if (points := mean_points(context, metrics.CGROUP, metric))
    }
    if not panels:
        because = "the collector `cgroup` has no samples (no memory limit was enforced)"
        return Absent(
            "memory-by-users", "memory of the server and its page cache",
            context.sampled.why_none(metrics.CGROUP, because),
        )  # fmt: skip
    used = next(iter(panels.values()))
    lines = level_means(context, used)
    title = compare_title(context, lines, used, "memory in use", shown=format_size)
    return _figure(
        context, "memory-by-users", title.text, panels, Axis("MiB"), "size", 1 / BYTES_PER_MIB,
        "Mean memory of the server's control group, page cache included.",
    )  # fmt: skip


def _figure(
    context: Context,
    name: str,
    title: str,
    panels: dict[str, Rows],
    axis: Axis,
    kind: str,
    scale: float,
    caption: str,
) -> Figure:
    drawing = Drawing()
    drawn = {words: scaled(points, scale) for words, points in panels.items()}
    series = {words: (level_means(context, points), points) for words, points in drawn.items()}
    width = (WIDTH + 20) // max(2, len(drawn)) - 30
    rows = [{"what": words, **row} for words, points in panels.items() for row in points]
    return drawing.figure(
        context, name, title,
        side_by_side(context, drawing, axis, series, height=220, width=width),
        PageTable(
            name, title,
            (
                Show("what", "what"), context.axis_show,
                Show("candidate", "candidate"), Show("block", "block", "count"),
                Show("value", axis.title if kind == "share" else "memory", kind),
            ),
            pl.DataFrame(rows).drop("level"),
        ),
        caption=caption + bars_told(rows),
        description=f"Line charts against {context.axis.title.lower()} "
        f"({', '.join(panels)}), one line for each candidate.",
    )  # fmt: skip
