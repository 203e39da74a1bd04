"""What the machine felt against levels: states of the CPUs, pressure, memory within its limit."""

from collections.abc import Iterator, Sequence

import polars as pl

from stithy.report import metrics
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import PERCENT, Axis
from stithy.report.drawing.compose import Rows
from stithy.report.drawing.plots import ByLevel, Series, Stacks
from stithy.report.drawing.points import level_means, mean_points
from stithy.report.drawing.titles import compare_title
from stithy.report.figure import Absent, FigureKind
from stithy.report.tables import Show
from stithy.report.words import servers
from stithy.report.words.wording import capital, listing, percent
from stithy.units import format_size

STATES = {
    "user": "user", "system": "system", "other": "interrupts, steal", "iowait": "waiting for I/O",
    "idle": "idle",
}  # fmt: skip
MEMORY = {
    metrics.CGROUP_USED: "in use within the limit", metrics.CGROUP_CACHE: "page cache alone",
}  # fmt: skip
NAMED_MOST = 3
"""Own: a title names so many candidates with their values."""


def _plot_cpu(context: Context) -> Iterator[Stacks | Absent]:
    rows = _list_states(context)
    if not rows:
        yield Absent("cpu-by-users", "CPU states", "no valid window has samples of `cpu`")
        return
    yield Stacks(
        name="cpu-by-users",
        title=_title_cpu(context, rows),
        caption="Mean share of all CPUs of the host in each state, during the measurements of the "
        f"valid windows. It includes {_name_programs(context)}.",
        noun="CPU states",
        data="Share of CPU time by state",
        axis=Axis("Share of all CPUs", format=PERCENT),
        rows=rows,
        colours={words: palette.STATE_COLOURS[state][0] for state, words in STATES.items()},
        part="state",
        value=Show("value", "share of all CPUs", "share"),
        domain=(0.0, 1.0),
    )


def _name_programs(context: Context) -> str:
    """Name what ran on the host: a server by URL may be elsewhere."""
    if "load" not in context.tables:
        return "all programs"
    server = "" if servers.are_there(context.manifest) else ", the server"
    return f"the driver{server} and all other programs"


def _list_states(context: Context) -> Rows:
    """List the share of each state by candidate and level, over its windows that have samples."""
    means = context.valid_means.filter(collector=metrics.CPU, subject="")
    levels = means.group_by("candidate", "point", "metric").agg(pl.col("mean").mean())
    shares = {(row["candidate"], row["point"], row["metric"]): row["mean"]
              for row in levels.to_dicts()}  # fmt: skip
    rows = []
    for name in context.evidence.candidates:
        for point in context.evidence.levels:
            for order, (state, parts) in enumerate(metrics.CPU_STATES.items()):
                keys = [(name, str(point), part) for part in parts]
                if any(key in shares for key in keys):
                    rows.append({
                        **context.place(point), "candidate": name, "part": STATES[state],
                        "order": order, "value": sum(shares.get(key, 0.0) for key in keys),
                    })  # fmt: skip
    return rows


def _title_cpu(context: Context, rows: Rows) -> str:
    level = max(row["level"] for row in rows)
    idle = [
        f"{percent(row['value'])} idle with {row['candidate']}"
        for row in rows
        if row["level"] == level and row["part"] == STATES["idle"]
    ]
    highest = context.level(context.level_at(level))
    if not idle or len(idle) > NAMED_MOST:
        return f"CPU states by level, up to {highest}"
    return f"At {highest} the CPUs were {listing(idle)}"


def _plot_pressure(context: Context) -> Iterator[ByLevel | Absent]:
    series = [
        Series(level_means(context, points), points, words, (words,))
        for resource, words in metrics.RESOURCES.items()
        if (points := mean_points(context, metrics.PRESSURE, metrics.PRESSURE_SOME, of=resource))
    ]
    if not series:
        because = "the collector `pressure` has no samples (the kernel may lack it)"
        yield Absent("pressure-by-users", "pressure on CPU, storage and memory", because)
        return
    yield ByLevel(
        name="pressure-by-users",
        title=_title_pressure(context, series),
        caption="Share of time in which at least one task on the host waited for the resource, "
        "from the kernel's pressure stall information.",
        noun="time waiting for a resource",
        data="Share of time in which a task waited",
        axis=Axis("Share of time", format=PERCENT),
        rows=[series],
        value=Show("value", "Share of time", "share"),
        groups=("what",),
        height=220,
    )


def _title_pressure(context: Context, series: Sequence[Series]) -> str:
    chart = next((chart for chart in series if chart.title == "storage"), series[0])
    level = max((line["level"] for line in chart.lines), default=None)
    lines = [line for line in chart.lines if line["level"] == level]
    if level is None or len(lines) > NAMED_MOST:
        return f"Time waiting for {chart.title} against {context.axis.title.lower()}"
    shares = [f"{percent(line['value'])} of the time with {line['candidate']}" for line in lines]
    at = capital(context.at(context.level_at(level)))
    return f"{at}, tasks waited for {chart.title} {listing(shares)}"


def _plot_memory(context: Context) -> Iterator[ByLevel | Absent]:
    series = [
        Series(level_means(context, points), points, words, (words,))
        for metric, words in MEMORY.items()
        if (points := mean_points(context, metrics.CGROUP, metric))
    ]
    if not series:
        because = "the collector `cgroup` has no samples (no memory limit was enforced)"
        because = context.sampled.why_none(metrics.CGROUP, because)
        yield Absent("memory-by-users", "memory of the server and its page cache", because)
        return
    used = series[0]
    yield ByLevel(
        name="memory-by-users",
        title=compare_title(context, used.lines, used.points, "memory in use", format_size).text,
        caption="Mean memory of the server's control group, page cache included.",
        noun="memory of the server",
        data="Memory of the server",
        axis=Axis("MiB"),
        rows=[series],
        value=Show("value", "memory", "size"),
        groups=("what",),
        scale=1 / 2**20,
        height=220,
    )


PLUGINS = (
    FigureKind("cpu-by-users", 30, "machine", _plot_cpu),
    FigureKind("pressure-by-users", 32, "machine", _plot_pressure),
    FigureKind("memory-by-users", 33, "machine", _plot_memory),
)
