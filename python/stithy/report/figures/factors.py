"""What is asked about, hits and reads of the device against each factor of `vary`."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from stithy.names import name_text
from stithy.point import are_amounts
from stithy.report.context import Context
from stithy.report.drawing.chart import PERCENT, WIDTH, Axis, Panel, by_users
from stithy.report.drawing.compose import Drawing, Rows, Spec, bars_told, beside
from stithy.report.drawing.points import axis_of, quantity_rows, window_rows, without
from stithy.report.figure import Absent, Drawn, FigureKind
from stithy.report.sections import factors
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import capital, listing

HITS = Axis("Hits in the server's buffers", format=PERCENT)
READS = Axis("Device reads per second")
BESIDE = {
    HITS: ("hits", "the share of blocks found in the server's buffers"),
    READS: ("device reads", "reads per second of the busiest block device"),
}
"""What is drawn beside throughput where it was sampled: in a title, and in a caption."""


def _plot(context: Context) -> list[Drawn]:
    """One figure for each factor; nothing where only what the scenario lists varies."""
    draw_one = _draw_factor if "load" in context.tables else _draw_question
    evidence, names = context.evidence, factors.factors(context)
    return [draw_one(replace(context, evidence=replace(evidence, factor=name)), name)
            for name in names]  # fmt: skip


def _draw_question(context: Context, name: str) -> Drawn:
    """By the metric of the question, of a scenario without users."""
    metric, stem = context.evidence.primary.metric, f"by-{name_text(name)}"
    lines, points = quantity_rows(context, metric)
    if not points:
        return Absent(stem, f"{metric.noun} against {name}", "no window has numbers")
    drawing, axis = Drawing(), axis_of(context, metric)
    return drawing.figure(
        context, stem, f"{capital(metric.noun)} against {name}",
        _draw_chart(context, drawing, axis, lines, points, width=WIDTH),
        _make_table(context, {axis: (lines, points)}),
        caption=f"{axis.title} against {name}, {_describe_rest(context)}. Small marks are windows, "
        "large ones the values of all valid windows"
        f"{', joined by lines' if _is_joined(context) else ''}."
        f"{bars_told(points)}",
        description=f"Chart against {name}, for each candidate: "
        f"{', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _draw_factor(context: Context, name: str) -> Drawn:
    throughput = context.evidence.throughput
    lines, points = window_rows(context, throughput.known.column)
    stem = f"by-{name_text(name)}"
    if not lines:
        because = "no valid window has numbers" if points else "no window has numbers"
        return Absent(stem, f"throughput against {name}", because)
    drawing = Drawing()
    panels = {
        Axis(throughput.title): (lines, points),
        HITS: (_list_levels(context, factors.hit_shares(context)), []),
        READS: (_list_levels(context, factors.reads(context)), []),
    }
    known = {axis: rows for axis, rows in panels.items() if rows[0]}
    joined = "lines join the means of valid windows"
    means = joined if _is_joined(context) else "large ones are the means of valid windows"
    charts = [_draw_chart(context, drawing, axis, *rows) for axis, rows in known.items()]
    beside_it = [BESIDE[axis] for axis in known if axis in BESIDE]
    of = ["throughput", *(brief for brief, _ in beside_it)]
    shown = [throughput.title, *(words for _, words in beside_it)]
    last = f", and {shown.pop()}," if beside_it else ""
    return drawing.figure(
        context, stem, f"{capital(listing(of))} against {name}", beside(charts),
        _make_table(context, known),
        caption=f"{', '.join(shown)}{last} against {name}, {_describe_rest(context)}. Small marks "
        f"are windows; {means}.{bars_told(points)}",
        description=f"Charts against {name}, for each candidate: "
        f"{', '.join(context.evidence.candidates)}.",
    )  # fmt: skip


def _is_joined(context: Context) -> bool:
    """A line from word to word would say that there is something between them."""
    return are_amounts(point.values[context.axis.name] for point in context.evidence.levels)


def _describe_rest(context: Context) -> str:
    """Where all other factors were."""
    return context.at(without(context.evidence.levels[0], context.axis.name))


def _list_levels(context: Context, cells: Mapping[tuple[str, str], float]) -> Rows:
    return [
        {**context.place(point), "candidate": name, "value": cells[name, str(point)]}
        for name in context.evidence.candidates
        for point in context.evidence.levels
        if (name, str(point)) in cells
    ]


def _draw_chart(
    context: Context,
    drawing: Drawing,
    axis: Axis,
    lines: Rows,
    points: Rows,
    width: int = (WIDTH + 20) // 3 - 30,
) -> Spec:
    drawn = points or [
        {**row, "block": 0, "valid": True, "note": "all valid windows"} for row in lines
    ]
    panel = Panel(
        lines, drawn, (0.0, 1.0) if axis is HITS else None, axis.title, width, 230, first=False,
        joined=_is_joined(context),
    )  # fmt: skip
    return by_users(context, drawing, axis, panel)


def _make_table(context: Context, panels: Mapping[Axis, tuple[Rows, Rows]]) -> PageTable:
    rows = [{"what": axis.title, **row} for axis, (lines, _) in panels.items() for row in lines]
    shows = (
        Show("what", "what"), context.axis_show, Show("candidate", "candidate"),
        Show("value", "mean", "rate"),
    )  # fmt: skip
    name = f"by-{name_text(context.axis.name)}"
    return PageTable(
        name, f"Means against {context.axis.name}", shows, pl.DataFrame(rows).drop("level")
    )


PLUGINS = (FigureKind("by-factor", 5, "factors", _plot),)
