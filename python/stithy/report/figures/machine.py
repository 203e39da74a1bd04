"""What the machine felt against levels: states of the CPUs, pressure, memory within its limit."""

from collections.abc import Iterator, Sequence

import altair as alt
import polars as pl

from stithy.analysis.surroundings import (
    GAUGES,
    LEAST,
    Baseline,
    Gauge,
    Trend,
    find_trends,
    find_usual,
)
from stithy.report import metrics
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import palette
from stithy.report.drawing.chart import (
    PERCENT,
    SIGNED_PERCENT,
    WIDTH,
    Axis,
    label_ticks,
    make_y_axis,
)
from stithy.report.drawing.compose import Drawing, Rows, Spec, merge_layers, place_beside
from stithy.report.drawing.plots import ByLevel, Series, Stacks
from stithy.report.drawing.points import average_levels, read_means
from stithy.report.drawing.titles import compare_title
from stithy.report.tables import PageTable, Show
from stithy.report.words import loads
from stithy.report.words.wording import begin_sentence, format_plural
from stithy.statements import Statement
from stithy.units import format_list, format_share, format_size

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
    programs = "all programs"
    if "load" in context.tables:  # a server by URL may be elsewhere
        server = "" if loads.is_by_url(context.manifest) else f", the {context.engine.server}"
        programs = f"the driver{server} and all other programs"
    yield Stacks(
        name="cpu-by-users",
        title=_write_cpu_title(context, rows),
        caption="Mean share of all CPUs of the host in each state, during the measurements of the "
        f"valid windows. It includes {programs}.",
        noun="CPU states",
        data="Share of CPU time by state",
        axis=Axis("Share of all CPUs", format=PERCENT),
        rows=rows,
        colours={words: palette.STATE_COLOURS[state][0] for state, words in STATES.items()},
        part="state",
        value=Show("value", "share of all CPUs", "share"),
        domain=(0.0, 1.0),
    )


def _list_states(context: Context) -> Rows:
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


def _write_cpu_title(context: Context, rows: Rows) -> str:
    level = max(row["level"] for row in rows)
    idle = [
        f"{format_share(row['value'])} idle with {row['candidate']}"
        for row in rows
        if row["level"] == level and row["part"] == STATES["idle"]
    ]
    highest = context.level(context.find_level(level))
    if not idle or len(idle) > NAMED_MOST:
        return f"CPU states by level, up to {highest}"
    return f"At {highest} the CPUs were {format_list(idle)}"


def _plot_pressure(context: Context) -> Iterator[ByLevel | Absent]:
    series = [
        Series(average_levels(context, points), points, words, (words,))
        for resource, words in metrics.RESOURCES.items()
        if (points := read_means(context, metrics.PRESSURE, metrics.PRESSURE_SOME, of=resource))
    ]
    if not series:
        because = "the collector `pressure` has no samples (the kernel may lack it)"
        yield Absent("pressure-by-users", "pressure on CPU, storage and memory", because)
        return
    yield ByLevel(
        name="pressure-by-users",
        title=_write_pressure_title(context, series),
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


def _write_pressure_title(context: Context, series: Sequence[Series]) -> str:
    chart = next((chart for chart in series if chart.title == "storage"), series[0])
    level = max((line["level"] for line in chart.lines), default=None)
    lines = [line for line in chart.lines if line["level"] == level]
    if level is None or len(lines) > NAMED_MOST:
        return f"Time waiting for {chart.title} against {context.axis.title.lower()}"
    shares = [
        f"{format_share(line['value'])} of the time with {line['candidate']}" for line in lines
    ]
    at = begin_sentence(context.at(context.find_level(level)))
    return f"{at}, tasks waited for {chart.title} {format_list(shares)}"


def _plot_memory(context: Context) -> Iterator[ByLevel | Absent]:
    server = context.engine.server
    series = [
        Series(average_levels(context, points), points, words, (words,))
        for metric, words in MEMORY.items()
        if (points := read_means(context, metrics.CGROUP, metric))
    ]
    if not series:
        because = "the collector `cgroup` has no samples (no memory limit was enforced)"
        because = context.sampled.why_none(metrics.CGROUP, because)
        yield Absent("memory-by-users", f"memory of the {server} and its page cache", because)
        return
    used = series[0]
    yield ByLevel(
        name="memory-by-users",
        title=compare_title(context, used.lines, used.points, "memory in use", format_size).text,
        caption=f"Mean memory of the {server}'s control group, page cache included.",
        noun=f"memory of the {server}",
        data=f"Memory of the {server}",
        axis=Axis("MiB"),
        rows=[series],
        value=Show("value", "memory", "size"),
        groups=("what",),
        scale=1 / 2**20,
        height=220,
    )


LEAST_DRAWN_SHARE = 0.05
"""Own: a vertical axis shows no less than that around the median, so that noise looks like it."""


def _plot_baselines(context: Context) -> list[Drawn]:
    baselines = context.evidence.baselines
    known = [baseline for baseline in baselines if baseline.shares]
    if len(known) < LEAST:
        because = Statement(
            "there {known:is|are} {known:+baseline check} with numbers, at least {checks_least} "
            "are needed", known=len(known), checks_least=LEAST,
        )  # fmt: skip
        return [Absent("baselines", "whether the machine stayed the same", because)]
    clear = {trend.gauge.column for trend in _list_clear_trends(baselines)}
    if not clear and not any(baseline.off for baseline in baselines):
        return []
    rows = _list_checks(baselines)
    drawing = Drawing()
    gauges = [gauge for gauge in GAUGES if any(row["gauge"] == gauge.what for row in rows)]
    width = (WIDTH + 20) // len(gauges) - 50
    shows = (
        Show("point", "point"), Show("block", "block", "count"),
        Show("minutes", "minutes", "rate"), Show("gauge", "part of the check"),
        Show("value", "from the median", "signed share"), Show("measured", "measured", "rate"),
        Show("off", "outside the band", "truth"),
    )  # fmt: skip
    return [
        drawing.figure(
            context, "baselines", _write_baseline_title(baselines),
            place_beside([_draw_gauge(drawing, baselines, rows, gauge, width) for gauge in gauges]),
            PageTable("baselines", "The machine before each block", shows, pl.DataFrame(rows)),
            caption="Results of the baseline check before each block, as differences from the "
            "median of all checks. For one CPU and for all CPUs the result is the work per second: "
            "more is faster. For reads it is the median time: more is slower. Large marks lie "
            "outside the band. The band is three times the median deviation, within bounds: the "
            "smallest difference that counts, and half the work or twice the time.",
            description="Three charts against the time since the first baseline check, "
            "each with a mark for each block and a band for what is usual.",
        )
    ]  # fmt: skip


def _list_clear_trends(baselines: Sequence[Baseline]) -> list[Trend]:
    return [trend for trend in find_trends([baseline.row for baseline in baselines]) if trend.clear]


def _write_baseline_title(baselines: Sequence[Baseline]) -> str:
    odd = sum(bool(baseline.off) for baseline in baselines)
    parts = []
    if odd:
        parts.append(
            f"{odd} of {format_plural(len(baselines), 'block')} ran on a machine that had changed"
        )
    if clear := _list_clear_trends(baselines):
        shown = [f"{each.gauge.what} by {format_share(abs(each.share))}" for each in clear]
        parts.append(f"over the run {format_list(shown)} drifted")
    return begin_sentence("; ".join(parts))


def _list_checks(baselines: Sequence[Baseline]) -> Rows:
    first_s = min(baseline.row["at_s"] for baseline in baselines)
    rows = []
    for baseline in baselines:
        off = {each.gauge.column for each in baseline.off}
        for gauge in GAUGES:
            if gauge.column in baseline.shares:
                rows.append({
                    "point": baseline.row["point"], "block": baseline.row["block"],
                    "minutes": (baseline.row["at_s"] - first_s) / 60, "gauge": gauge.what,
                    "value": baseline.shares[gauge.column], "measured": baseline.row[gauge.column],
                    "off": gauge.column in off,
                })  # fmt: skip
    return rows


def _draw_gauge(
    drawing: Drawing, baselines: Sequence[Baseline], rows: Rows, gauge: Gauge, width: int
) -> Spec:
    mine = [row for row in rows if row["gauge"] == gauge.what]
    usual = find_usual([baseline.row for baseline in baselines], gauge)
    allowed = usual.allowed_share if usual else gauge.floor_share
    most = max(LEAST_DRAWN_SHARE, allowed, *(abs(row["value"]) for row in mine)) * 1.15
    last = max(row["minutes"] for row in mine) or 1.0
    x = alt.X(
        "minutes:Q", title="Minutes", scale=alt.Scale(domain=[0, last], nice=False, padding=6),
        axis=alt.Axis(grid=False, tickCount=5),
    )  # fmt: skip
    title = "From the median" if gauge is GAUGES[0] else None
    y = make_y_axis("value", title, (-most, most), **label_ticks(SIGNED_PERCENT), tickCount=5)
    band, ends = [{"value": -allowed, "to": allowed}], {"y": y, "y2": alt.Y2("to:Q")}
    layers = [drawing.mark("rect", band, ends, color=palette.GRID[0])]
    tips = [
        alt.Tooltip("point:N"), alt.Tooltip("block:Q"),
        alt.Tooltip("value:Q", title="off", format="+.1%"),
        alt.Tooltip("measured:Q", title="measured", format=",.4~g"),
    ]  # fmt: skip
    for is_off, colour, size in ((False, palette.MUTED[0], 30), (True, palette.MARK[0], 110)):
        some = [row for row in mine if row["off"] is is_off]
        if some:
            look = {"filled": True, "size": size, "opacity": 1, "color": colour}
            at = {"x": x, "y": y, "tooltip": tips}
            layers.append(drawing.mark("point", some, at, **look))
    return merge_layers(layers, width=width, height=150, title=begin_sentence(gauge.what))


PLUGINS = (
    FigureKind("cpu-by-users", 30, "machine", _plot_cpu),
    FigureKind("pressure-by-users", 32, "machine", _plot_pressure),
    FigureKind("memory-by-users", 33, "machine", _plot_memory),
    FigureKind("baselines", 90, "validity", _plot_baselines),
)
