"""What else the machine felt: pressure on CPU, storage and memory, and memory within its limit."""

import polars as pl

from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing.chart import PERCENT, WIDTH, Axis, Panel, by_users, domain_of
from stithy.report.drawing.compose import Drawing, Rows, bars_told, grid, with_spans
from stithy.report.drawing.points import level_means, mean_points
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, Drawn, Figure
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import listing, percent
from stithy.units import format_size

NAME = "machine"
ORDER = 32
SECTION = "machine"

BYTES_PER_MIB = 2**20


def draw(context: Context) -> list[Drawn]:
    """Pressure and memory; each, or why it is not there."""
    return [_pressure(context), _memory(context)]


def _pressure(context: Context) -> Drawn:
    panels = {
        words: mean_points(context, metrics.PRESSURE, metrics.PRESSURE_SOME, of=resource)
        for resource, words in metrics.RESOURCES.items()
    }
    panels = {words: points for words, points in panels.items() if points}
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
    return (
        f"At {context.level(context.level_at(level))}, tasks waited for {resource} {listing(parts)}"
    )


def _memory(context: Context) -> Drawn:
    panels = {
        "in use within the limit": mean_points(context, metrics.CGROUP, metrics.CGROUP_USED),
        "page cache alone": mean_points(context, metrics.CGROUP, metrics.CGROUP_CACHE),
    }
    panels = {words: points for words, points in panels.items() if points}
    if not panels:
        return Absent(
            "memory-by-users", "memory of the server and its page cache",
            "the collector `cgroup` has no samples (no memory limit was enforced)",
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
    drawn = {words: _scaled(points, scale) for words, points in panels.items()}
    domain = domain_of(
        [row for rows in drawn.values() for row in with_spans(rows, log=False)], log=False
    )
    charts = [
        by_users(
            context, drawing, axis,
            Panel(
                level_means(context, rows), rows, domain, title=words, height=220, first=index == 0,
                width=(WIDTH + 20) // max(2, len(drawn)) - 30,
            ),
        )
        for index, (words, rows) in enumerate(drawn.items())
    ]  # fmt: skip
    rows = [{"what": words, **row} for words, points in panels.items() for row in points]
    return Figure(
        name=name,
        title=title,
        caption=caption + bars_told(rows),
        description=f"{title}. Line charts against {context.axis.title.lower()} "
        f"({', '.join(panels)}), one line for each candidate.",
        footer=context.footer,
        spec=drawing.spec(grid(charts, len(charts))),
        table=PageTable(
            name,
            title,
            (
                Show("what", "what"), context.axis_show,
                Show("candidate", "candidate"), Show("block", "block", "count"),
                Show("value", axis.title if kind == "share" else "memory", kind),
            ),
            pl.DataFrame(rows).drop("level"),
        ),
    )  # fmt: skip


def _scaled(points: Rows, scale: float) -> Rows:
    return [{**point, "value": point["value"] * scale} for point in points]
