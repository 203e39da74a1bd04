"""How response times were spread, second by second: a heat map of the question's level.

One window of each candidate, all of the median block. Every transaction is counted in one cell, so
that the cells of a panel hold as many as the window's log.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

from stithy.analysis.evidence import Window
from stithy.analysis.gathering import MedianBlock, find_median_block
from stithy.analysis.latencies import read_seconds
from stithy.analysis.measures import Cells, count_cells, log_edges
from stithy.metrics import count_values_needed
from stithy.report.blocks import Absent, Drawn, FigureKind
from stithy.report.context import Context
from stithy.report.drawing import annotations, palette
from stithy.report.drawing.annotations import MS_PER_S
from stithy.report.drawing.chart import WIDTH, Axis, list_ticks, make_value_axis, make_x_axis
from stithy.report.drawing.compose import (
    Drawing,
    Rows,
    Spec,
    make_unit,
    merge_layers,
    place_in_grid,
)
from stithy.report.drawing.titles import name_by
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words.wording import begin_sentence, describe_block, format_plural
from stithy.results.hlog import LoggedHistogram, merge
from stithy.units import format_list, format_measured_duration

NAME = "heat"

COLUMNS_MOST, ROWS_MOST = 200, 40
COLUMN_PX_LEAST, ROW_PX = 3, 6
"""Own: narrower columns cannot be distinguished; a column takes as many seconds as that needs."""

AXIS = Axis("Response time (ms)", log=True)
STEPS = (1, 2, 5)


@dataclass(frozen=True)
class _HeatPanel:
    """The cells of a candidate's window, of so many seconds.

    `slowest_s`: p95 of its slowest measured second, of those with enough values beyond it.
    `has_few`: whether a measured second has too few.
    """

    window: Window
    cells: Cells
    seconds: int
    slowest_s: float | None
    has_few: bool

    @property
    def columns(self) -> int:
        return math.ceil(self.seconds / self.cells.column_s)


def _plot(context: Context) -> list[Drawn]:
    shows = "response times second by second"
    point = context.answer_level
    block = find_median_block(context.evidence, point) if point is not None else None
    if block is None:
        return [Absent(NAME, shows, "no window is valid")]
    panels = _read_panels(context, block)
    if not panels:
        because = f"no window of {describe_block(block)} has a complete latency log"
        return [Absent(NAME, shows, because)]
    marked, drawing = _list_marks(context, panels), Drawing()
    return [
        drawing.figure(
            context, NAME, _write_title(context, block, panels),
            _draw_charts(drawing, panels, marked),
            _make_table(panels),
            caption=_write_caption(context, block, panels, marked),
            description="Heat maps of time against response time, one for each "
            f"candidate: {format_list(list(panels))}. The colour of a cell is the number of "
            "transactions per second with that response time.",
        )
    ]  # fmt: skip


def _read_panels(context: Context, block: MedianBlock) -> dict[str, _HeatPanel]:
    """By candidate; those of which there is no log are left out."""
    logs = {
        name: found
        for name, window in block.windows.items()
        if (found := read_seconds(context.run.directory, window))
    }
    whole = [each for found in logs.values() for _, each in found if each.count]
    if not whole:
        return {}
    low_s = max(1e-6, min(each.min_s or 1e-6 for each in whole))
    rows_most = ROWS_MOST if len(logs) <= 2 else ROWS_MOST // 2
    edges = log_edges(low_s, max(each.max_s or low_s for each in whole), rows_most)
    longest = max(second for found in logs.values() for second, _ in found) + 1
    column_s = math.ceil(longest / min(COLUMNS_MOST, _fit_width(len(logs)) // COLUMN_PX_LEAST))
    return {
        name: _HeatPanel(
            block.windows[name],
            count_cells(found, column_s, edges),
            longest,
            *_find_slowest_s(block.windows[name], found),
        )
        for name, found in logs.items()
    }


def _fit_width(panels: int) -> int:
    return (WIDTH + 20) // min(panels, 3) - 45


def _find_slowest_s(
    window: Window, found: list[tuple[int, LoggedHistogram]]
) -> tuple[float | None, bool]:
    """The largest 95th percentile of a second of the measurement, over all types.

    None where no second has enough values beyond it; and whether any has too few of them.
    """
    by_second: dict[int, list[LoggedHistogram]] = {}
    for second, histogram in found:
        if second >= round(window.measure_after_s):
            by_second.setdefault(second, []).append(histogram)
    merged = [merge(each) for each in by_second.values()]
    enough = [each for each in merged if each is not None and each.count >= count_values_needed(95)]
    slowest_s = max((each.percentile_s(95) or 0.0 for each in enough), default=None)
    return slowest_s, len(enough) < len(merged)


def _write_title(context: Context, block: MedianBlock, panels: Mapping[str, _HeatPanel]) -> str:
    """How slow the slowest second was; a description of one block, and no comparison."""
    known = {name: panel.slowest_s for name, panel in panels.items()}
    slowest = {name: value for name, value in known.items() if value is not None}
    if len(slowest) < len(known):
        return f"Response times of each second {context.at(block.point)}"
    at, each = begin_sentence(context.at(block.point)), name_by(slowest, format_measured_duration)
    few = any(panel.has_few for panel in panels.values())
    of = f" with at least {count_values_needed(95)} transactions" if few else ""
    return f"{at}, the 95th percentile of the slowest second{of} was {each}"


def _write_caption(
    context: Context,
    block: MedianBlock,
    panels: Mapping[str, _HeatPanel],
    marked: Mapping[str, Rows],
) -> str:
    first = next(iter(panels.values()))
    column_s = first.cells.column_s
    missing = [name for name in context.evidence.candidates if name not in panels]
    parts = [
        "Number of transactions per second of all types, by response time. A column is "
        f"{format_plural(column_s, 'second')}, and a row is a range of response times on a "
        f"logarithmic axis. The figure shows {describe_block(block)}. The ramp-up is left of the "
        "full vertical line. A cell without colour has no transactions.",
        annotations.explain_marks([row for each in marked.values() for row in each]),
        f"The latency log of {format_list(missing)} is missing." if missing else "",
    ]
    return " ".join(part for part in parts if part)


def _list_marks(context: Context, panels: Mapping[str, _HeatPanel]) -> dict[str, Rows]:
    found = annotations.find_marks(context, [panel.window.id for panel in panels.values()])
    return {
        name: [
            row
            for row in annotations.select_marks(found, [panel.window.id])
            if row["second"] <= panel.seconds
        ]
        for name, panel in panels.items()
    }


def _draw_charts(
    drawing: Drawing, panels: Mapping[str, _HeatPanel], marked: Mapping[str, Rows]
) -> Spec:
    rates = [rate for panel in panels.values() for rate in _count_rates(panel).values()]
    inside = [bound for bound in list_ticks((min(rates), max(rates)), STEPS) if bound > min(rates)]
    classes = inside[-(len(palette.HEAT_COLOURS) - 1) :]  # at most one fewer than colours
    columns, width = min(len(panels), 3), _fit_width(len(panels))
    charts = [
        merge_layers(
            _draw_layers(drawing, panel, classes, marked[name], first=index % columns == 0),
            # Columns are whole pixels wide: no seams show between these.
            width=max(1, width // panel.columns) * panel.columns,
            height=(len(panel.cells.edges_s) - 1) * ROW_PX,
            title=name,
        )
        for index, (name, panel) in enumerate(panels.items())
    ]  # fmt: skip
    return place_in_grid(charts, columns)


def _draw_layers(
    drawing: Drawing, panel: _HeatPanel, classes: list[float], marked: Rows, *, first: bool
) -> list[Spec]:
    low_ms, high_ms = panel.cells.edges_s[0] * MS_PER_S, panel.cells.edges_s[-1] * MS_PER_S
    until = panel.columns * panel.cells.column_s
    x = make_x_axis("second", "Second", (0, until), grid=False, tickCount=6, format="d")
    y = make_value_axis(AXIS, (low_ms, high_ms), titled=first)
    after = [{"second": panel.window.measure_after_s}]
    begun = drawing.mark("rule", after, {"x": x}, color=palette.MUTED[0])
    return [
        _draw_cells(drawing, panel, classes, x, y),
        begun,
        *annotations.draw_marks(drawing, marked, x),
    ]


def _draw_cells(
    drawing: Drawing, panel: _HeatPanel, classes: list[float], x: alt.X, y: alt.Y
) -> Spec:
    labels, edges = _label_classes(classes), panel.cells.edges_s
    legend = alt.Legend(
        title="Transactions per second", orient="top", direction="horizontal", symbolType="square",
        symbolStrokeWidth=0,
    )  # fmt: skip
    tips = [
        alt.Tooltip("second:Q", title="from second"),
        alt.Tooltip("value:Q", title="from (ms)", format=",.3~g"),
        alt.Tooltip("to:Q", title="to (ms)", format=",.3~g"),
        alt.Tooltip("count:Q", title="transactions per second", format=",.3~g"),
    ]
    ratio = (edges[-1] / edges[0]) ** (1 / (len(edges) - 1))
    lowest = f"{edges[0] * MS_PER_S:.9g} * pow({ratio:.12g}, datum.row"
    squares = (
        alt.Chart(drawing.add(_pack_cells(panel, classes)))
        .transform_flatten(["second", "row", "count"])
        .transform_calculate(
            until=f"datum.second + {panel.cells.column_s}", value=f"{lowest})", to=f"{lowest} + 1)"
        )
        .mark_rect()
    )
    # The last colours of the scale stand out most.
    shown = [light for light, _ in palette.HEAT_COLOURS[-len(labels) :]]
    colours = alt.Scale(domain=labels, range=shown)
    colour = alt.Color("rate:N", scale=colours, legend=legend)
    x2, y2 = alt.X2("until:Q"), alt.Y2("to:Q")
    return make_unit(squares.encode(x=x, x2=x2, y=y, y2=y2, color=colour, tooltip=tips))


def _count_rates(panel: _HeatPanel) -> dict[tuple[int, int], float]:
    """Transactions a second of each cell; the last column may be cut short."""
    column_s = panel.cells.column_s
    return {
        (column, row): number / min(column_s, panel.seconds - column * column_s)
        for (column, row), number in panel.cells.counts.items()
    }


def _label_classes(classes: list[float]) -> list[str]:
    """`under 2`, `2 to 5`, `5 or more`; without bounds there is one class."""
    if not classes:
        return ["any"]
    shown = [f"{bound:,g}" for bound in classes]
    between = [f"{low} to {high}" for low, high in zip(shown, shown[1:], strict=False)]
    return [f"under {shown[0]}", *between, f"{shown[-1]} or more"]


def _pack_cells(panel: _HeatPanel, classes: list[float]) -> Rows:
    """The cells by class, as lists: a row a cell would be several times as long."""
    labels = _label_classes(classes)
    found: dict[str, list[tuple[int, int, float]]] = {label: [] for label in labels}
    for (column, row), rate in sorted(_count_rates(panel).items()):
        label = labels[sum(bound <= rate for bound in classes)]
        found[label].append((column * panel.cells.column_s, row, float(f"{rate:.4g}")))
    return [
        {
            "rate": label, "second": [second for second, _, _ in each],
            "row": [row for _, row, _ in each], "count": [rate for _, _, rate in each],
        }
        for label, each in found.items()
        if each
    ]  # fmt: skip


def _make_table(panels: Mapping[str, _HeatPanel]) -> PageTable:
    rows = [
        {
            "candidate": name, "block": panel.window.block, "second": column * panel.cells.column_s,
            "from_s": panel.cells.edges_s[row], "to_s": panel.cells.edges_s[row + 1],
            "transactions": number,
        }
        for name, panel in panels.items()
        for (column, row), number in sorted(panel.cells.counts.items())
    ]  # fmt: skip
    shows = (
        Show("candidate", "candidate"), Show("block", "block", "count"),
        Show("second", "from second", "count"), Show("from_s", "from", "duration"),
        Show("to_s", "to", "duration"), Show("transactions", "transactions", "count"),
    )  # fmt: skip
    return make_table(NAME, "Transactions by second and response time", shows, rows)


PLUGINS = (FigureKind(NAME, 55, "seconds", _plot, ("load",)),)
